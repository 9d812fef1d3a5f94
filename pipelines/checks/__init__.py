"""Checks of corpora and machines: audit, blind test, leakage, preflight, doctor."""
