"""Augment, Drop & Swap's experiment."""
