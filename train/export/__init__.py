"""Finished runs as models that transformers opens."""
