"""Tools on free text."""
