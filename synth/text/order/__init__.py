"""Clauses and order words: swaps and probe sets."""
