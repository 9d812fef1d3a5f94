"""Tokens, parts of speech and inflection."""
