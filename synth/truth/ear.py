"""The ear: which blocks of 50 ms of a sound are audible, by their levels.

A block is compared with the loudest one of its own sound, and with all that is heard at its time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from synth.base.units import Decibels, Seconds, to_gain
from synth.scene.activity import Acoustics
from synth.scene.timeline import Fade, Timeline
from synth.truth.envelope import Envelope, Moments

BLOCK_S: Final[Seconds] = 0.05
BRUSHED: Final = 0.01
"""Share of a block that does not count, as rounding moves blocks by less."""

SILENCE: Final = 1e-12
"""No mean square is below."""

Powers = Float[np.ndarray, "events blocks"]
Marks = Bool[np.ndarray, "events blocks"]
Loudest = Float[np.ndarray, " events"]
Run: TypeAlias = tuple[int, int]
"""Blocks, as [start, end)."""


@dataclass(frozen=True, slots=True)
class Ear:
    """What counts as audible: levels below the loudest block of a sound.

    Args:
        clear_db: A stretch that everybody hears begins within this,
        leave_db: and goes on within this.
        faint_db: Within this, somebody may hear it.
        pause_s: Shorter pauses do not interrupt a stretch.
        blip_s: Shorter stretches may be missed.
        masked_db: What lies further below the mix of all sounds at its time may be missed; in that
            their amplitudes are added, so of two equal sounds each lies 6 dB below it.
    """

    clear_db: Decibels = 25.0
    leave_db: Decibels = 30.0
    faint_db: Decibels = 35.0
    pause_s: Seconds = 0.1
    blip_s: Seconds = 0.1
    masked_db: Decibels = 15.0

    def find_clear(
        self, powers: Powers, loudest: Loudest, length: float, audible: Marks | None = None
    ) -> list[list[Run]]:
        """The runs of blocks that everybody hears of each sound.

        Args:
            powers: Mean square of each block.
            loudest: That of the loudest one of each sound, with which they are compared.
            length: Of all blocks together; the last one may lack a part of a block.
            audible: Which blocks can be heard beside the rest, all by default.
        """
        leaves = np.maximum(loudest * to_gain(-self.leave_db) ** 2, SILENCE)
        stays = powers >= leaves[:, np.newaxis]
        if audible is not None:
            stays &= audible
        begins = powers >= (loudest * to_gain(-self.clear_db) ** 2)[:, np.newaxis]
        return [
            [(start, end) for start, end in runs if self.is_lasting(min(end, length) - start)]
            for runs in map(self._bridge, _runs(stays, begins))
        ]

    def find_faint(self, powers: Powers, loudest: Loudest) -> list[list[Run]]:
        """The runs of blocks that somebody may hear of each sound; as for `find_clear`."""
        leaves = np.maximum(loudest * to_gain(-self.faint_db) ** 2, SILENCE)
        marked = powers >= leaves[:, np.newaxis]
        return [self._bridge(runs) for runs in _runs(marked, marked)]

    def is_lasting(self, length: float) -> bool:
        """Whether nobody misses a stretch of so many blocks."""
        return (length + BRUSHED) * BLOCK_S >= self.blip_s

    def _bridge(self, runs: list[Run]) -> list[Run]:
        """The runs without pauses that interrupt nothing."""
        bridged: list[Run] = []
        for start, end in runs:
            if bridged and (start - bridged[-1][1]) * BLOCK_S < self.pause_s:
                bridged[-1] = bridged[-1][0], end
            else:
                bridged.append((start, end))
        return bridged


def _runs(marked: Marks, wanted: Marks) -> list[list[Run]]:
    """The runs of marked blocks, of each sound, that hold a wanted block."""
    events, blocks = marked.shape
    width = blocks + 1  # no run goes on from one sound to the next
    padded = np.zeros((2, events * width + 1), dtype=np.bool_)
    padded[:, 1:].reshape(2, events, width)[:, :, :-1] = marked, wanted
    edges = np.flatnonzero(padded[0, 1:] != padded[0, :-1])
    found: list[list[Run]] = [[] for _ in range(events)]
    if len(edges):
        is_wanted = np.logical_or.reduceat(padded[1, 1:], edges)[::2].tolist()
        starts, ends = edges[::2].tolist(), edges[1::2].tolist()
        for start, end, is_kept in zip(starts, ends, is_wanted, strict=True):
            if is_kept:
                event, first = divmod(start, width)
                found[event].append((first, end - event * width))
    return found


# Sounding: how each sound of a timeline sounds, by the levels of its clip.


def find_acoustics(
    placed: Timeline,
    number: int,
    envelope: Envelope,
    fade: Fade,
    treated: Mapping[str, tuple[str, str]],
) -> Acoustics | None:
    """How a sound sounds after gains and crossfades; None where its levels were not measured.

    Args:
        placed: The timeline.
        number: Position of the sound among its placements.
        envelope: Of its clip.
        fade: Law of the crossfades.
        treated: The recording and the treatment of each treated clip, by its id.
    """
    place = placed.placements[number]
    excerpt = place.excerpt
    joins = [
        join for join in placed.joins if join.crossfade > 0 and join.start <= number < join.stop
    ]

    def weaken(moments: Moments) -> Moments:
        powers = np.ones_like(moments)
        for join in joins:
            over = np.clip((place.onset + moments - join.seam) / join.crossfade, 0, 1)
            powers *= fade.rise(over if number >= join.middle else 1 - over) ** 2
        return powers

    weights = envelope.weigh(excerpt.start, excerpt.frames, weaken if joins else None)
    if weights is None:
        return None
    recording, treatment = treated.get(excerpt.clip, (excerpt.clip, ""))
    # A part may sound otherwise than the whole: a car comes nearer, a hall's tail is cut off.
    is_whole = excerpt.start == 0 and excerpt.frames == envelope.frames
    levels = weights.raise_by(excerpt.gain_db)
    return Acoustics(*levels, recording if is_whole else "", treatment)
