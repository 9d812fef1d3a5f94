"""Segue's speed beside that of its peers, and beside the encoder that bounds it."""
