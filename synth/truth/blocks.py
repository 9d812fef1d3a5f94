"""Parts of clips: how soft and how loud each block of an excerpt may be, wherever it is placed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from jaxtyping import Float

from synth.base.units import Frames
from synth.truth.ear import BRUSHED, Envelope, LevelBlocks

RAMPED: Final = 10**-0.6
"""So much the ramp of a cut leaves of a block's power at least: of 99.9 % of ESC-50's blocks."""


@dataclass(frozen=True)
class ExcerptBlocks:
    """An excerpt of a clip, as it was recorded, in the blocks of a scene's time.

    Args:
        start: Its first frame in the clip.
        phase: Frames from the beginning of its first block of the scene's time to its own.
        block: Of the scene's time, in frames.
        ramp: Within so many frames it begins, or ends, where it is cut.
    """

    envelope: Envelope
    start: Frames
    frames: Frames
    phase: float
    block: float
    ramp: float

    def _find_blocks(self) -> tuple[int | None, int]:
        """The block of the clip in which it begins, if blocks of both coincide; how many it has."""
        clip, count = self.envelope, math.ceil((self.phase + self.frames) / self.block)
        at = (self.start - self.phase) / clip.block
        first = round(at)
        if (
            self.block == clip.block
            and abs(at - first) <= BRUSHED
            and self.phase < (1 - BRUSHED) * self.block
            and first + count <= len(clip.levels_db)
        ):
            return first, count
        return None, count

    def _find_edges(self, count: int) -> Float[np.ndarray, " edges"]:
        """The edges of so many blocks in the clip, within the excerpt."""
        edges = np.arange(count + 1) * self.block + (self.start - self.phase)
        edges[0], edges[-1] = self.start, self.start + self.frames
        return edges

    def find_powers(self, *, weighted: bool) -> LevelBlocks:
        """Mean square of each block, of which a part only may be the excerpt's."""
        clip, (first, count) = self.envelope, self._find_blocks()
        if first is None:
            edges = self._find_edges(count)
            return np.asarray(np.diff(clip.energy(edges, weighted=weighted)) / self.block)
        powers: LevelBlocks = clip.powers[int(weighted), first : first + count].copy()
        share = (self.phase + self.frames) / self.block - (count - 1)
        if share != 1:
            powers[-1] *= share
        if self.phase or count == 1:
            powers[0] *= 1 - self.phase / self.block if count > 1 else self.frames / self.block
        return powers

    @cached_property
    def bounds(self) -> Float[np.ndarray, "bounds weightings blocks"]:
        """How soft and how loud each block may be.

        Where in its own block of 50 ms a sound falls is not known. So what lies over two of them
        counts as no louder than the quieter one, and as no quieter than the louder one. All of a
        block's sound may lie in the part that an excerpt cuts off: what is left may be silent. Much
        of it may lie in the 5 ms in which a cut begins or ends.

        A stretch may be louder than both by 3 dB, or silent between them for less than two blocks.
        The bounds of an ear lie further apart, and a pause so short does not interrupt.

        Third comes the louder one that the excerpt does not cut: what is cut may be silent, and
        hides nothing. The rest of a block at a clip's end counts for as much of one as it is.
        """
        clip, (begin, count) = self.envelope, self._find_blocks()
        if begin is not None:
            return self._weaken(begin, begin + count)
        edges = self._find_edges(count) / clip.block
        first = np.floor(edges[:-1] + BRUSHED)
        final = np.maximum(np.ceil(edges[1:] - BRUSHED) - 1, first)
        numbers = np.minimum(np.array((first, final)), len(clip.shares) - 1).astype(np.intp)
        begin = int(numbers[0, 0])
        one, other = self._weaken(begin, int(numbers[1, -1]) + 1)[..., numbers - begin].transpose(
            2, 0, 1, 3
        )
        bounds: Float[np.ndarray, "bounds weightings blocks"] = np.maximum(one, other)
        np.minimum(one[0], other[0], out=bounds[0])
        return bounds

    def _weaken(self, first: int, last: int) -> Float[np.ndarray, "bounds weightings blocks"]:
        """The bounds of blocks of the clip, of which it may cut some off."""
        bounds = self.envelope.bounds[:, :, first:last].copy()
        bounds[::2] *= self._keep(first, last)
        return bounds

    def _keep(self, first: int, last: int) -> LevelBlocks:
        """By how much it weakens blocks of the clip at most, 0 where it cuts some of one off."""
        clip, stop = self.envelope, self.start + self.frames
        kept = np.ones(last - first)
        if len(clip.shares) == 1:  # all of a clip that was never heard, and steady
            return kept
        begin, end, ramp = (frames / clip.block for frames in (self.start, stop, self.ramp))
        if self.start > 0:
            kept[: max(math.ceil(begin + ramp - BRUSHED) - first, 0)] *= RAMPED
            kept[: max(math.ceil(begin - BRUSHED) - first, 0)] = 0
        if stop < clip.frames:
            kept[max(math.floor(end - ramp + BRUSHED) - first, 0) :] *= RAMPED
            if stop + BRUSHED * clip.block < clip.frames:
                kept[max(math.floor(end + BRUSHED) - first, 0) :] = 0
        return kept

    @cached_property
    def attacks(self) -> int | None:
        """How often it may be said to begin; None where nobody knows."""
        return self.envelope.count_attacks(self.start, self.frames)
