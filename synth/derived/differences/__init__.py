"""Captions of the difference between two samples."""
