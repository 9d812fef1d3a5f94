"""Decoding, mixing and rendering of audio, and the bank of decoded clips."""
