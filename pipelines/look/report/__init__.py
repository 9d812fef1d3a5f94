"""The report of a build: one HTML file that shows a corpus, or a plan, and lets it be heard."""

SHOWN = 10
"""Samples that are shown where no number is asked for."""
