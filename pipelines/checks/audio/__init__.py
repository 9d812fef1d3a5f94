"""Audit of the audio: what can be heard in samples, and whether it is what was planned."""
