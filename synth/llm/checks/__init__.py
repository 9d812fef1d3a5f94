"""Checks of a language model's answers."""
