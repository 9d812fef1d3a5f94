"""Denying tags in captions, in plain and in mended grammar."""
