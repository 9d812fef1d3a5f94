"""Signals: decoding, DSP, mixing, the bank of decoded clips, rendering, fingerprints."""
