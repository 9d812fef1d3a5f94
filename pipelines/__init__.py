"""Specs, build functions, Prefect flows and the command line."""
