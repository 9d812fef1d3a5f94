"""The ear: which blocks of 50 ms of a sound are audible, by their levels.

A block is compared with the loudest one of its own sound, and with all that is heard at its time.
`ExcerptBlocks` keeps what is known of an excerpt, so that it is worked out once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain
from typing import Final, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Int8

from synth.base.units import Decibels, Frames, Seconds, to_gain
from synth.scene.activity import Acoustics
from synth.scene.timeline import Fade, Timeline

# Envelopes: how loud clips are over time, as the catalogue measured it.


LevelBlocks: TypeAlias = Float[np.ndarray, " blocks"]
Moments: TypeAlias = Float[np.ndarray, " moments"]

SILENCE: Final = 1e-12
"""No mean square is below."""
BRUSHED: Final = 0.01
"""Share of a block that does not count, as rounding moves blocks by less."""


@dataclass(frozen=True)
class Envelope:
    """How loud a clip is over time; one block tells that it is steady.

    Args:
        levels_db: RMS level of each block of its active span.
        weighted_db: The same, A-weighted.
        block: Frames of a block at the corpus rate; the last one may be shorter.
        frames: Length of the active span at the corpus rate.
        attacks: How often it may be said to begin in each block (`dsp.attacks`), None where that
            was not measured.
        loudness_lufs: Of the active span; None for that of its levels, without K-weighting.
    """

    levels_db: Sequence[float] | LevelBlocks
    weighted_db: Sequence[float] | LevelBlocks
    block: float
    frames: Frames
    attacks: Sequence[int] | Int8[np.ndarray, " blocks"] | None = None
    loudness_lufs: Decibels | None = None

    def count_attacks(self, start: Frames, frames: Frames) -> int | None:
        """How often an excerpt may be said to begin; None where nobody knows.

        A block at either side counts: what peaks there may begin in the excerpt.
        """
        if self.attacks is None:
            return None
        first, last = int(start // self.block), int(-(-(start + frames) // self.block))
        totals = self._attack_totals
        begin, end = (min(max(at, 0), len(totals) - 1) for at in (first - 1, last + 1))
        return totals[end] - totals[begin]

    def weigh(
        self,
        start: Frames,
        frames: Frames,
        fade: Callable[[Moments], Moments] | None = None,
        gain_db: Decibels = 0.0,
    ) -> Acoustics | None:
        """How loud an excerpt is, of no recording; None where its levels were not measured.

        Args:
            fade: By how much its power is multiplied so many frames from its start; it is not
                faded by default.
        """
        if len(self.levels_db) == 1:
            return None
        plain, powers = self.powers
        if fade is not None:
            weights = fade((self._edges[:-1] + self._edges[1:]) / 2 - start)
            plain, powers = plain * weights, powers * weights
        moments = start + frames * np.arange(4) / 3
        energy = np.interp(moments, self._edges, self._accumulate(powers))
        thirds = np.diff(energy) * 3 / frames
        first, last = int(-(-start // self.block)), int((start + frames) // self.block)
        blocks = 10 * np.log10(np.maximum(powers[first : max(last, first + 1)], SILENCE))
        mean, *levels = (
            round(10 * float(np.log10(max(p, SILENCE))), 1) for p in (thirds.mean(), *thirds)
        )
        peak = round(float(blocks.max(initial=mean)), 1)
        touched = slice(int(start // self.block), int(-(-(start + frames) // self.block)))
        lufs = _gate(plain[touched]) + self._k_weight
        mean, peak, lufs, *levels = (
            round(level + gain_db, 1) for level in (mean, max(peak, mean), lufs, *levels)
        )
        return Acoustics(mean, peak, (levels[0], levels[1], levels[2]), lufs)

    @cached_property
    def _attack_totals(self) -> list[int]:
        return [0, *accumulate(map(int, () if self.attacks is None else self.attacks))]

    @cached_property
    def _k_weight(self) -> Decibels:
        """How far its loudness lies above that of its levels as recorded: nearly so all through."""
        whole = _gate(self.powers[0])
        return 0.0 if self.loudness_lufs is None else self.loudness_lufs - whole

    @cached_property
    def _edges(self) -> Float[np.ndarray, " edges"]:
        edges = np.arange(len(self.levels_db) + 1) * float(self.block)
        edges[-1] = self.frames
        return edges

    @cached_property
    def _energies(self) -> tuple[Float[np.ndarray, " edges"], ...]:
        return tuple(map(self._accumulate, self.powers))

    def _accumulate(self, powers: LevelBlocks) -> Float[np.ndarray, " edges"]:
        return np.concatenate([[0.0], np.cumsum(powers * np.diff(self._edges))])

    def energy(self, moments: Moments, *, weighted: bool) -> Moments:
        """The energy from the clip's start on, in frames of full scale squared."""
        return np.asarray(np.interp(moments, self._edges, self._energies[weighted]))

    def interpolate(self, moments: Moments) -> Float[np.ndarray, "2 moments"]:
        """Mean square at moments, as recorded and A-weighted.

        The level in dB changes evenly from the middle of each block to that of the next.
        """
        middles = (self._edges[:-1] + self._edges[1:]) / 2
        levels = (
            np.interp(moments, middles, level) for level in (self.levels_db, self.weighted_db)
        )
        return np.asarray(10 ** (np.stack([*levels]) / 10))

    @cached_property
    def shares(self) -> LevelBlocks:
        """How much of a whole block each is."""
        return np.asarray(np.diff(self._edges) / self.block)

    @cached_property
    def powers(self) -> Float[np.ndarray, "2 blocks"]:
        """Mean square of each block, as recorded and A-weighted."""
        return np.asarray(10 ** (np.array((self.levels_db, self.weighted_db)) / 10))

    @cached_property
    def bounds(self) -> Float[np.ndarray, "3 weightings blocks"]:
        """What a block is at least, at most, and at most for as much of a block as it is."""
        return np.array((self.powers, self.powers, self.powers * self.shares))

    @cached_property
    def loudest(self) -> Float[np.ndarray, " 2"]:
        """That of the loudest block, as recorded and A-weighted."""
        return np.asarray(self.powers.max(axis=1))


_WINDOW: Final = 8
_WINDOW_STEP: Final = 2
_GATES: Final[tuple[Decibels, Decibels]] = (-70.0, -10.0)


def _gate(powers: LevelBlocks) -> Decibels:
    """Level of what passes the gates of ITU-R BS.1770-4, in windows of 0.4 s."""
    windows = np.lib.stride_tricks.sliding_window_view(powers, min(_WINDOW, len(powers)))
    means = np.maximum(windows[::_WINDOW_STEP].mean(axis=1), SILENCE)
    loud = means[means >= 10 ** (_GATES[0] / 10)]
    loud = loud[loud >= loud.mean() * 10 ** (_GATES[1] / 10)] if len(loud) else means
    return 10 * float(np.log10(loud.mean()))


@dataclass(frozen=True)
class LevelTable:
    """Levels of the blocks of many clips, one clip after the other.

    Args:
        edges: Where the blocks of each clip begin, and where those of the last end.
        attacks: How often each clip may be said to begin in its blocks, None where that was not
            measured.
    """

    levels_db: Float32[np.ndarray, " blocks"]
    weighted_db: Float32[np.ndarray, " blocks"]
    edges: Int[np.ndarray, " edges"]
    attacks: Int8[np.ndarray, " blocks"] | None = None

    def of_clip(self, row: int) -> tuple[LevelBlocks, LevelBlocks]:
        """The levels of a clip and the weighted ones, in double precision."""
        start, end = self.edges[row : row + 2]
        levels, weighted = self.levels_db[start:end], self.weighted_db[start:end]
        return levels.astype(np.float64), weighted.astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class StoredEnvelope:
    """An envelope that lies in a table: of a million clips few are heard at a time.

    Args:
        row: Of the clip; one that was never heard has no blocks there, and is steady.
        loudness_lufs: Of the clip.
    """

    table: LevelTable
    row: int
    loudness_lufs: Decibels
    block: float
    frames: Frames

    def read(self) -> Envelope:
        """The envelope itself."""
        levels, weighted = self.table.of_clip(self.row)
        if not len(levels):
            level = (self.loudness_lufs,)
            return Envelope(level, level, float(self.frames), self.frames)
        start, end = self.table.edges[self.row : self.row + 2]
        attacks = None if self.table.attacks is None else self.table.attacks[start:end]
        more = attacks, self.loudness_lufs
        return Envelope(levels, weighted, self.block, self.frames, *more)


BLOCK_S: Final[Seconds] = 0.05
ROUNDED_DB: Final[Decibels] = 0.11
"""The catalogue rounds levels to 0.1 dB, and a distance is between two of them."""
STEP_S: Final[Seconds] = 0.01
GOES_ON: Final[tuple[Decibels, Seconds]] = (6.0, 0.2)
"""A sound goes on that falls by no more than the first below its level of the last seconds."""


Powers = Float[np.ndarray, "events blocks"]
Marks = Bool[np.ndarray, "events blocks"]
Loudest = Float[np.ndarray, " events"]
Run: TypeAlias = tuple[int, int]
"""Blocks, as [start, end)."""


@dataclass(frozen=True, slots=True)
class Ear:
    """What counts as audible: levels below the loudest block of a sound.

    People hear levels as recorded, or A-weighted, or something between: everybody hears what is
    clear by both, somebody what is faint by either.

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
    leave_db: Decibels = 25.0
    faint_db: Decibels = 35.0
    pause_s: Seconds = 0.1
    blip_s: Seconds = 0.1
    masked_db: Decibels = 15.0

    def find_clear(self, powers: Powers, loudest: Loudest, length: float) -> list[list[Run]]:
        """The runs of blocks that everybody hears of each sound.

        Args:
            powers: Mean square of each block.
            loudest: That of the loudest one of each sound, with which they are compared.
            length: Of all blocks together; the last one may lack a part of a block.
        """
        leaves = np.maximum(loudest * to_gain(ROUNDED_DB - self.leave_db) ** 2, SILENCE)
        stays = powers >= leaves[:, np.newaxis]
        begins = None
        if self.clear_db < self.leave_db:
            begins = powers >= (loudest * to_gain(ROUNDED_DB - self.clear_db) ** 2)[:, np.newaxis]
        return [
            [(start, end) for start, end in runs if self.is_lasting(min(end, length) - start)]
            for runs in map(self._bridge, _list_runs(stays, begins))
        ]

    def find_faint(self, powers: Powers, loudest: Loudest) -> list[list[Run]]:
        """The runs of blocks that somebody may hear of each sound; as for `find_clear`."""
        leaves = np.maximum(loudest * to_gain(-ROUNDED_DB - self.faint_db) ** 2, SILENCE)
        marked = powers >= leaves[:, np.newaxis]
        return [self._bridge(runs) for runs in _list_runs(marked)]

    def find_likely(self, powers: Float[np.ndarray, "weightings moments"]) -> list[Run]:
        """The runs of moments in which most listeners hear a sound by itself.

        They hear it down to the middle of `leave_db` and `faint_db` below its loudest, by every
        weighting. It goes on where it falls no further by each: hum alone is not heard.

        Args:
            powers: Mean square at moments that are `STEP_S` apart, of a sound that is not silent.
        """
        loudest = powers.max(axis=1, keepdims=True)
        least = loudest * to_gain(-(self.leave_db + self.faint_db) / 2) ** 2
        marked = (powers >= least).all(axis=0, keepdims=True)
        fall, memory = to_gain(-GOES_ON[0]) ** 2, round(GOES_ON[1] / STEP_S)
        joined: list[Run] = []
        for start, end in _list_runs(marked)[0]:
            if joined:
                since, until = joined[-1]
                before = powers[:, max(since, until - memory) : until].mean(axis=1)
                goes_on = powers[:, until:start].mean(axis=1) >= before * fall
                if goes_on.all() or (start - until) * STEP_S < self.pause_s:
                    start = joined.pop()[0]
            joined.append((start, end))
        return joined

    def join_clear(self, runs: Sequence[list[Run]], length: float) -> list[Run]:
        """What is clear by every weighting, of the runs by each; it lasts long enough.

        Args:
            length: Of all blocks together, as for `find_clear`.
        """
        first, *others = runs
        for other in others:
            first = [
                (max(a, start), min(b, end))
                for a, b in first
                for start, end in other
                if a < end and start < b
            ]
        return [run for run in first if self.is_lasting(min(run[1], length) - run[0])]

    def join_faint(self, runs: Sequence[list[Run]]) -> list[Run]:
        """What is faint by any weighting, of the runs by each."""
        joined: list[Run] = []
        for start, end in sorted(chain.from_iterable(runs)):
            if joined and start <= joined[-1][1]:
                joined[-1] = joined[-1][0], max(joined[-1][1], end)
            else:
                joined.append((start, end))
        return self._bridge(joined)

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


def _list_runs(marked: Marks, wanted: Marks | None = None) -> list[list[Run]]:
    """The runs of marked blocks, of each sound, that hold a wanted block; any by default."""
    runs = [_find_bit_runs(mask) for mask in _to_bits(marked)]
    if wanted is None:
        return runs
    return [
        [(start, end) for start, end in of_sound if wish >> start & ~(-1 << (end - start))]
        for of_sound, wish in zip(runs, _to_bits(wanted), strict=True)
    ]


def _to_bits(marks: Marks) -> list[int]:
    """The blocks of each sound as the bits of a number, the first one lowest."""
    packed = np.packbits(marks, axis=1, bitorder="little")
    width, whole = packed.shape[1], packed.tobytes()
    return [int.from_bytes(whole[at : at + width], "little") for at in range(0, len(whole), width)]


def _find_bit_runs(mask: int) -> list[Run]:
    """The runs of bits that are set."""
    edges = mask ^ (mask << 1)
    runs = []
    while edges:
        first = edges & -edges
        edges ^= first
        last = edges & -edges
        edges ^= last
        runs.append((first.bit_length() - 1, last.bit_length() - 1))
    return runs


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
        number: Position of the sound among its placements.
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

    loudness = envelope.weigh(
        excerpt.start, excerpt.frames, weaken if joins else None, excerpt.gain_db
    )
    if loudness is None:
        return None
    recording, treatment = treated.get(excerpt.clip, (excerpt.clip, ""))
    # A part may sound otherwise than the whole: a car comes nearer, a hall's tail is cut off.
    is_whole = excerpt.start == 0 and excerpt.frames == envelope.frames
    return replace(loudness, recording=recording if is_whole else "", treatment=treatment)


# Parts of clips: how soft and how loud each block of an excerpt may be, wherever it is placed.


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
        early, late = self._weaken(begin, int(numbers[1, -1]) + 1)[..., numbers - begin].transpose(
            2, 0, 1, 3
        )
        bounds: Float[np.ndarray, "bounds weightings blocks"] = np.maximum(early, late)
        np.minimum(early[0], late[0], out=bounds[0])
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
