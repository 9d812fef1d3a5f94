"""Units: parts of a clip that hold one short sound, with silence around it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from synth.base.units import Decibels, Frames
from synth.recipes.base import Setting
from synth.recipes.clips import Clip
from synth.scene.scene import Excerpt
from synth.truth.envelope import Envelope

_FOREGROUND_DB: Decibels = 15.0
"""A unit further below the loudest block of its clip may be another sound than the label's."""


def find_units(clip: Clip, longest: Frames, setting: Setting) -> list[Excerpt]:
    """The parts of a clip that begin once, and are over, in order of time.

    Each holds one attack. At either end of it the clip ends or is not clearly heard, as the ear has
    it, so that nothing of another sound is cut off.

    Args:
        clip: The clip.
        longest: Frames that a part may last.
        setting: The ear, and the gain.
    """
    envelope = clip.read_envelope()
    gain = setting.levels.gain(clip.loudness_lufs)
    found = []
    for first, last in _runs(envelope, setting.ear.clear_db):
        start = round(first * envelope.block)
        frames = min(round(last * envelope.block), clip.frames) - start
        if setting.audible <= frames <= longest:
            found.append(Excerpt(clip.id, start, frames, gain))
    return found


def _runs(envelope: Envelope, clear_db: Decibels) -> Iterator[tuple[int, int]]:
    """Runs of blocks, as [start, end), around single attacks."""
    levels = np.asarray(envelope.levels_db)
    attacks = np.zeros(len(levels), int)
    if envelope.attacks is not None:
        attacks = np.asarray(envelope.attacks)
    loudest = levels.max(initial=-np.inf)
    for at in np.flatnonzero(attacks):
        heard = levels > levels[at] - clear_db
        first, last = int(at), int(at) + 1
        while first and heard[first - 1]:
            first -= 1
        while last < len(levels) and heard[last]:
            last += 1
        nearby = attacks[max(first - 1, 0) : last + 1].sum()
        if nearby == 1 and levels[first:last].max() >= loudest - _FOREGROUND_DB:
            yield first, last
