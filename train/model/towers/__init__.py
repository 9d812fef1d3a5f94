"""Towers: from waveform, or from token ids, to tokens."""
