"""Envelopes of clips that tests make up."""

from __future__ import annotations

from synth.audio.dsp import LEVEL_HOP_S
from synth.truth.ear import Envelope

LEVEL_DB = -30.0


def envelope(frames: int, levels_db: tuple[float, ...] = (), rate: int = 16_000) -> Envelope:
    """That of a clip of so many frames; a steady sound where no levels are given."""
    block = round(LEVEL_HOP_S * rate)
    levels = levels_db or (LEVEL_DB,) * -(-frames // block)
    return Envelope(levels, levels, block, frames)
