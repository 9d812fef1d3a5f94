"""Denying tags in captions: in place, or in sentences of their own."""
