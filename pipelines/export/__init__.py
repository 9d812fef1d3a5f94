"""Corpora and texts written for other tools."""
