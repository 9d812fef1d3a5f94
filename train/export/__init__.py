"""Finished runs as folders that need neither the run nor its base models."""
