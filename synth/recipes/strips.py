"""Strips: parts of two sounds, together or in a row, drawn many at once, block by block.

No part is heard here: what is heard of whole sounds tells which parts are worth hearing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Final, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from synth.base.units import Decibels, Frames, to_gain
from synth.scene.scene import Event, Excerpt
from synth.truth.blocks import RAMPED
from synth.truth.ear import BLOCK_S, ROUNDED_DB, SILENCE
from synth.truth.listener import Listener
from synth.truth.relations import LEAST_COMPANY, LEAST_REMAINDER, MOST_FADED, Tolerance

_FILLED: Final = 0.85
"""Share of its length that a part is heard for, from its begin, at least."""
_KEPT: Final = 4096
_TOGETHER: Final = 16
_IN_A_ROW: Final = 48
_LEAST_KEPT: Final = 0.5
"""Share of the shorter of two sounds that is heard of it, at least."""
_LARGER: Final = 0.7
"""Share of the longer of two parts in a row, at most."""
_UNEVEN: Final = 0.1
_LOUDER_DB: Final[Decibels] = 4.0
SHARES: Final = (1, 2, 4, 1 << 40)
"""Crossfades that are tried: all, half, a quarter, none."""

Numbers: TypeAlias = Int[np.ndarray, " rows"]
Rows: TypeAlias = Float[np.ndarray, "rows blocks"]


@dataclass(frozen=True)
class Strip:
    """A sound by itself, block by block.

    Args:
        powers: Mean squares, as recorded and A-weighted.
        least: Of the softest block that everybody hears.
    """

    sound: Event
    listener: Listener
    powers: Float[np.ndarray, "2 blocks"]
    least: Float[np.ndarray, "2 1"]

    @classmethod
    def of(cls, sound: Event, listener: Listener) -> Strip:
        """That of a sound which begins with a block of its clip."""
        excerpt, block = sound.heard, BLOCK_S * listener.rate
        envelope = listener.read_envelope(excerpt.clip)
        count = int(-(-excerpt.frames // block))
        moments = excerpt.start + np.minimum(np.arange(count + 1) * block, excerpt.frames)
        energies = [envelope.energy(moments, weighted=weighted) for weighted in (False, True)]
        power = to_gain(excerpt.gain_db) ** 2
        least = envelope.loudest * power * to_gain(ROUNDED_DB - listener.ear.leave_db) ** 2
        return cls(sound, listener, np.diff(energies) * power / block, least[:, np.newaxis])

    @staticmethod
    def maker(listener: Listener) -> Callable[[Event], Strip]:
        """What makes the strips of sounds, and keeps them: whole clips are asked for often."""
        return lru_cache(_KEPT)(partial(Strip.of, listener=listener))

    @cached_property
    def clear(self) -> Bool[np.ndarray, " blocks"]:
        """Where everybody hears it."""
        return _find_clear(self.powers >= self.least)

    @cached_property
    def starts(self) -> Int[np.ndarray, " starts"]:
        """The blocks that everybody hears."""
        return np.flatnonzero(self.clear)

    @property
    def extent(self) -> int:
        """From the first of them to the last."""
        return int(self.starts[-1] - self.starts[0] + 1) if len(self.starts) else 0

    @cached_property
    def onsets(self) -> Int[np.ndarray, " starts"]:
        """Those in which everybody hears it begin, also where it is cut there."""
        loud = self.clear & (self.powers * RAMPED >= self.least).all(axis=0)
        loud[0] = self.clear[0]
        return np.flatnonzero(np.diff(loud, prepend=False) & loud)

    @cached_property
    def _ends(self) -> Int[np.ndarray, " edges"]:
        """Where that ends that everybody hears before each block, and before the end."""
        ends = np.arange(1, len(self.clear) + 1) * self.clear
        return np.maximum.accumulate(np.append(0, ends))

    def draw(
        self, lengths: Numbers, starts: Int[np.ndarray, " starts"], rng: np.random.Generator
    ) -> Cuts:
        """Parts of about these lengths, each from one of the starts; of 0 where none fits."""
        wanted = lengths[:, np.newaxis]
        if not len(starts):
            return Cuts(self, 0 * lengths, 0 * lengths)
        ends = np.minimum(starts + wanted, len(self.clear))
        fits = self._ends[ends] - starts >= _FILLED * wanted
        rows, drawn = np.arange(len(lengths)), (rng.random(fits.shape) * fits).argmax(axis=1)
        return Cuts(self, starts[drawn], (ends[rows, drawn] - starts[drawn]) * fits[rows, drawn])


@dataclass(frozen=True, slots=True)
class Cuts:
    """Parts of a sound: where each begins, and how many blocks it lasts."""

    strip: Strip
    starts: Numbers
    lengths: Numbers

    def lay(
        self, powers: Float[np.ndarray, "*weightings blocks"], width: int, onsets: Numbers
    ) -> Float[np.ndarray, "*weightings rows width"]:
        """The sound's powers in rows in which the parts begin there, 0 elsewhere."""
        laid = np.zeros((*powers.shape[:-1], len(onsets), width))
        parts = zip(self.starts.tolist(), self.lengths.tolist(), onsets.tolist(), strict=True)
        for row, (start, length, onset) in enumerate(parts):
            laid[..., row, onset : onset + length] = powers[..., start : start + length]
        return laid

    def count_clear(self) -> Numbers:
        """How many blocks of each everybody hears."""
        count = np.append(0, np.cumsum(self.strip.clear))
        return np.asarray(count[self.starts + self.lengths] - count[self.starts])

    def pick(self, rows: Int[np.ndarray, " picked"]) -> Cuts:
        """Some of them."""
        return Cuts(self.strip, self.starts[rows], self.lengths[rows])

    def take(self, row: int) -> Event:
        """One of them."""
        return self.take_all([row])[0]

    def take_all(self, rows: Sequence[int]) -> list[Event]:
        """Some of them as sounds."""
        sound, block = self.strip.sound, BLOCK_S * self.strip.listener.rate
        whole, parts = sound.heard, []
        for start, length in zip(
            self.starts[rows].tolist(), self.lengths[rows].tolist(), strict=True
        ):
            first = round(start * block)
            frames = min(round(length * block), whole.frames - first)
            part = Excerpt(whole.clip, whole.start + first, frames, whole.gain_db)
            parts.append(Event(sound.label, part))
        return parts


@dataclass(frozen=True, slots=True)
class CutPairs:
    """Parts of two sounds, and both composed.

    Args:
        gains_db: By how much the second is raised.
        shifts: The crossfade in frames, or by how many of them the second sound begins later.
        powers: Of each block of the two, 0 behind their end.
        lengths: Of both, in blocks.
    """

    first: Cuts
    second: Cuts
    shifts: Numbers
    gains_db: Float[np.ndarray, " rows"]
    powers: Rows
    lengths: Numbers


def draw_together(
    strips: Sequence[Strip], most: int, tolerance: Tolerance, rng: np.random.Generator
) -> CutPairs:
    """Parts at once, one just within the other, so that neither may be said to come first.

    Args:
        most: Blocks that they last.
    """
    listener = strips[0].listener
    lengths = np.rint(most * rng.uniform(_LEAST_KEPT, 1, _TOGETHER)).astype(int)
    is_inner = rng.integers(2, size=_TOGETHER)
    cuts = [
        strip.draw(lengths - 2 * shorter, strip.onsets, rng)
        for strip, shorter in zip(strips, (is_inner, 1 - is_inner), strict=True)
    ]
    drawn = np.flatnonzero(cuts[0].lengths * cuts[1].lengths)
    first, second = cuts = [cut.pick(drawn) for cut in cuts]
    onsets = is_inner[drawn], 1 - is_inner[drawn]
    ends = [onset + cut.lengths for onset, cut in zip(onsets, cuts, strict=True)]
    lengths = np.maximum(*ends)
    most = int(lengths.max(initial=1))
    laid = (cut.lay(cut.strip.powers, most, onset) for cut, onset in zip(cuts, onsets, strict=True))
    powers = np.stack([*laid], axis=1)
    low = powers.copy()
    for sound, cut in enumerate(cuts):
        begun = np.flatnonzero(cut.starts)
        low[:, sound, begun, onsets[sound][begun]] *= RAMPED
        ended = np.flatnonzero(cut.starts + cut.lengths < len(cut.strip.clear))
        low[:, sound, ended, ends[sound][ended] - 1] *= RAMPED
    masked = to_gain(-listener.ear.masked_db)
    marked = low >= powers[:, ::-1] * (masked / (1 - masked)) ** 2
    marked &= low >= np.stack([strip.least for strip in strips], axis=1)[:, :, np.newaxis]
    clear = _find_clear(marked)
    audible = powers.max(axis=3, keepdims=True) * to_gain(-ROUNDED_DB - listener.ear.faint_db) ** 2
    faint = np.logical_or(*(powers >= np.maximum(audible, SILENCE)))
    (clear_start, clear_end), (start, end) = (
        (marks.argmax(axis=2), most - marks[:, :, ::-1].argmax(axis=2)) for marks in (clear, faint)
    )
    rest = (faint & (np.arange(most) >= clear_end[::-1, :, np.newaxis])).sum(axis=2)
    block = BLOCK_S * listener.rate
    remainder = np.minimum(LEAST_REMAINDER * clear.sum(axis=2), tolerance.remainder / block)
    fits = np.flatnonzero(
        ((clear_start <= start[::-1]) & (end[::-1] <= clear_end)).any(axis=0)
        & ((clear_start - start[::-1]) * block < tolerance.audible).all(axis=0)
        & (rest < remainder).all(axis=0)
        & ((clear[0] & clear[1]).sum(axis=1) >= LEAST_COMPANY * faint.sum(axis=2).min(axis=0))
    )
    offsets = np.rint((onsets[1] - onsets[0]) * block).astype(int)
    composed = offsets, 0.0 * lengths, powers[0].sum(axis=0), lengths
    return CutPairs(first.pick(fits), second.pick(fits), *(values[fits] for values in composed))


def draw_in_a_row(
    strips: Sequence[Strip],
    lengths: Numbers,
    crossfade: Frames,
    most: Frames | None,
    rng: np.random.Generator,
) -> CutPairs:
    """Parts that last about so long in a row, and no longer than the most.

    Args:
        lengths: In blocks.
        crossfade: The longest.
    """
    listener = strips[0].listener
    block = BLOCK_S * listener.rate
    shorter = [round(crossfade / share // block * block) for share in SHARES[1:]]
    crossfades = np.array([crossfade, *shorter])
    share = rng.uniform(1 - _LARGER, _LARGER, _IN_A_ROW)
    whole = np.resize(lengths, _IN_A_ROW) * np.exp(rng.normal(0, _UNEVEN, _IN_A_ROW))
    asked = np.rint(whole * (share, 1 - share) + crossfade / block / 2).astype(int)
    first, second = cuts = [
        strip.draw(length, strip.starts, rng) for strip, length in zip(strips, asked, strict=True)
    ]
    longest = MOST_FADED * np.minimum(*(cut.count_clear() for cut in cuts)) * block
    joins = crossfades[(crossfades <= longest[:, np.newaxis]).argmax(axis=1)]
    seams = first.lengths - np.rint(joins / block).astype(int)
    lengths = seams + second.lengths
    gains_db = np.round(rng.uniform(-_LOUDER_DB, _LOUDER_DB, _IN_A_ROW), 2)
    width = int(lengths.max())
    is_short = lengths * block <= (most or np.inf)
    fits = np.flatnonzero((first.lengths > 0) & (second.lengths > 0) & is_short)
    first, second = first.pick(fits), second.pick(fits)
    seams, joins, gains_db = seams[fits], joins[fits], gains_db[fits]
    past = (np.arange(width) + 0.5 - seams[:, np.newaxis]) * block
    past = np.clip(past / np.maximum(joins, 1)[:, np.newaxis], 0, 1)
    powers = first.lay(first.strip.powers[0], width, 0 * seams) * listener.fade.rise(1 - past) ** 2
    gains = 10 ** (gains_db[:, np.newaxis] / 10) * listener.fade.rise(past) ** 2
    powers += second.lay(second.strip.powers[0], width, seams) * gains
    return CutPairs(first, second, joins, gains_db, powers, lengths[fits])


def _find_clear(
    marked: Bool[np.ndarray, "weightings *sounds blocks"],
) -> Bool[np.ndarray, "*sounds blocks"]:
    """What everybody hears of what is loud enough: no blip, and without pauses of one block."""
    joined = marked.copy()
    joined[..., 1:-1] |= marked[..., :-2] & marked[..., 2:]
    clear = joined[0] & joined[1]
    beside = np.zeros_like(clear)
    beside[..., 1:] = clear[..., :-1]
    beside[..., :-1] |= clear[..., 1:]
    return np.asarray(clear & beside)
