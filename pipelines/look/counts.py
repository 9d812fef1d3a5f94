"""Counts in words, for pages and the command line."""

from __future__ import annotations


def format_count(count: int, noun: str) -> str:
    """`1 sample`, `1,200 samples`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
