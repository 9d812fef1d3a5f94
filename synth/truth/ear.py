"""The ear: where each sound of a scene is audible, from the levels that the catalogue measured.

Levels are those of 50 ms blocks. A block is compared with the loudest one of its own sound, and
with all that is heard at its time. No audio is read: what a renderer would do to a clip (excerpts,
gains, crossfades) is done to its levels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from synth.base.errors import SceneError
from synth.base.units import Decibels, Frames, Seconds, to_gain
from synth.scene.activity import Activity, Stretch, Stretches, hull
from synth.scene.scene import Event, Excerpt, Scene
from synth.scene.timeline import Placement, Timeline, timeline

BLOCK_S: Final[Seconds] = 0.05
_SILENCE: Final = 1e-12
_KEPT: Final = 1 << 16
_BRUSHED: Final = 0.01
"""Share of a block that does not count, as rounding moves blocks by less."""

Levels = Float[np.ndarray, " blocks"]
Powers = Float[np.ndarray, " blocks"]


@dataclass(frozen=True, slots=True)
class Ear:
    """What counts as audible: levels below the loudest block of a sound.

    Args:
        clear_db: A stretch that everybody hears begins within this,
        leave_db: and goes on within this.
        faint_db: Within this, somebody may hear it.
        pause_s: Shorter pauses do not interrupt a stretch.
        blip_s: Shorter stretches may be missed.
        masked_db: What lies further below all that is heard at its time may be missed.
    """

    clear_db: Decibels = 25.0
    leave_db: Decibels = 30.0
    faint_db: Decibels = 35.0
    pause_s: Seconds = 0.1
    blip_s: Seconds = 0.1
    masked_db: Decibels = 15.0

    def find_clear(
        self, powers: Powers, loudest: float, audible: Bool[np.ndarray, " blocks"] | None = None
    ) -> list[tuple[int, int]]:
        """The runs of blocks, as [start, end), that everybody hears.

        Args:
            powers: Mean square of each block.
            loudest: That of the loudest one, with which they are compared.
            audible: Which blocks can be heard beside the rest, all by default.
        """
        stays = powers >= max(loudest * to_gain(-self.leave_db) ** 2, _SILENCE)
        if audible is not None:
            stays &= audible
        begins = powers >= loudest * to_gain(-self.clear_db) ** 2
        runs = [(start, end) for start, end in _runs(stays) if begins[start:end].any()]
        bridged = self._bridge(runs)
        return [(start, end) for start, end in bridged if (end - start) * BLOCK_S >= self.blip_s]

    def find_faint(self, powers: Powers, loudest: float) -> list[tuple[int, int]]:
        """The runs of blocks, as [start, end), that somebody may hear."""
        return self._bridge(_runs(powers >= max(loudest * to_gain(-self.faint_db) ** 2, _SILENCE)))

    def _bridge(self, runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The runs without pauses that interrupt nothing."""
        bridged: list[tuple[int, int]] = []
        for start, end in runs:
            if bridged and (start - bridged[-1][1]) * BLOCK_S < self.pause_s:
                bridged[-1] = bridged[-1][0], end
            else:
                bridged.append((start, end))
        return bridged


def _runs(marked: Bool[np.ndarray, " blocks"]) -> list[tuple[int, int]]:
    padded = np.zeros(len(marked) + 2, dtype=np.bool_)
    padded[1:-1] = marked
    edges = np.flatnonzero(padded[1:] != padded[:-1]).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


@dataclass(frozen=True)
class Envelope:
    """How loud a clip is over time.

    Args:
        levels_db: RMS level of each block of its active span.
        weighted_db: The same, A-weighted.
        block: Frames of a block at the corpus rate; the last one may be shorter.
        frames: Length of the active span at the corpus rate.
    """

    levels_db: tuple[float, ...]
    weighted_db: tuple[float, ...]
    block: float
    frames: Frames

    @cached_property
    def loudest(self) -> float:
        """Mean square of the loudest block."""
        return 10 ** (max(self.levels_db) / 10)

    @cached_property
    def _edges(self) -> Float[np.ndarray, " edges"]:
        edges = np.arange(len(self.levels_db) + 1) * float(self.block)
        edges[-1] = self.frames
        return edges

    @cached_property
    def _energy(self) -> Float[np.ndarray, " edges"]:
        return self._accumulate(self.levels_db)

    @cached_property
    def _weighted_energy(self) -> Float[np.ndarray, " edges"]:
        return self._accumulate(self.weighted_db)

    def _accumulate(self, levels: tuple[float, ...]) -> Float[np.ndarray, " edges"]:
        powers = 10 ** (np.asarray(levels) / 10)
        return np.concatenate([[0.0], np.cumsum(powers * np.diff(self._edges))])

    def energy(
        self, moments: Float[np.ndarray, " moments"], weighted: bool = False
    ) -> Float[np.ndarray, " moments"]:
        """The energy from the clip's start to each moment, in frames of full scale squared."""
        energy = self._weighted_energy if weighted else self._energy
        return np.asarray(np.interp(moments, self._edges, energy))

    def bounds(
        self, moments: Float[np.ndarray, " edges"]
    ) -> tuple[Float[np.ndarray, " blocks"], Float[np.ndarray, " blocks"]]:
        """The least and the greatest mean square that a stretch of the clip may have.

        Where in its own block of 50 ms a sound falls is not known. So what lies over two of them
        may be as quiet as the quieter one, and as loud as the louder one.

        Args:
            moments: From each of these to the next, in frames from the clip's start; no two of
                them more than a block apart.
        """
        powers, slack = self._powers, _BRUSHED * self.block
        last = len(powers) - 1
        first = np.clip((moments[:-1] + slack) // self.block, 0, last).astype(np.int64)
        final = np.clip(-(-(moments[1:] - slack) // self.block) - 1, first, last).astype(np.int64)
        one, other = powers[first], powers[final]
        return np.minimum(one, other), np.maximum(one, other)

    @cached_property
    def _powers(self) -> Powers:
        return np.asarray(10 ** (np.asarray(self.levels_db) / 10))


class _Bounds(NamedTuple):
    """Least and greatest mean square of each event in each block of the scene's time."""

    low: Float[np.ndarray, "events blocks"]
    high: Float[np.ndarray, "events blocks"]


class _Alone(NamedTuple):
    """A sound by itself: from where to where it is heard, and how loud it gets, A-weighted."""

    extent: Stretch
    loudest_weighted: Decibels


@dataclass(frozen=True)
class Listener:
    """Hears scenes.

    Args:
        ear: What counts as audible.
        rate: Corpus rate in Hz.
        envelopes: Of every clip, by its id.
    """

    ear: Ear
    rate: int
    envelopes: Mapping[str, Envelope]

    def hear(self, scene: Scene) -> Timeline:
        """The timeline of a scene, with the activity of each event.

        Raises:
            SceneError: If an event has no excerpt, or a clip has no envelope.
        """
        placed = timeline(scene)
        low, high = self._bounds(placed)
        rest = np.sqrt(np.maximum(high.sum(axis=0) - high, 0))
        heard = []
        for number, place in enumerate(placed.placements):
            blocks = slice(*self._blocks(place))
            quiet, loud = low[number, blocks], high[number, blocks]
            loudest = float(loud.max())
            gain = to_gain(place.excerpt.gain_db) ** 2
            whole = max(loudest, self._envelope(place.excerpt.clip).loudest * gain)
            amplitude = np.sqrt(quiet)
            loudest_mix = amplitude + rest[number, blocks]  # where they are in step
            audible = amplitude >= loudest_mix * to_gain(-self.ear.masked_db)
            clear = self.ear.find_clear(quiet, whole, audible)
            faint = self.ear.find_faint(loud, loudest)
            activity = Activity(*(self._to_frames(runs, place) for runs in (clear, faint)))
            heard.append(
                Placement(
                    place.label, place.onset, place.offset, place.excerpt, place.event, activity
                )
            )
        return Timeline(tuple(heard), placed.frames, placed.joins)

    def extent(self, scene: Scene) -> Stretch:
        """From where to where anything of a scene is heard clearly, each sound by itself."""
        found = []
        for place in timeline(scene).placements:
            alone = self._hear_alone(place.excerpt).extent
            found.append(Stretch(alone.onset + place.onset, alone.offset + place.onset))
        return Stretch(min(each.onset for each in found), max(each.offset for each in found))

    def loudest_weighted(self, scene: Scene) -> Decibels:
        """A-weighted level in dB of the scene's loudest block."""
        if isinstance(scene, Event):
            return self._hear_alone(scene.heard).loudest_weighted + scene.heard.gain_db
        powers = self._powers(timeline(scene), weighted=True).sum(axis=0)
        return 10 * float(np.log10(max(powers.max(), _SILENCE)))

    def _hear_alone(self, excerpt: Excerpt) -> _Alone:
        key = excerpt.clip, excerpt.start, excerpt.frames
        found = self._alone.get(key)
        if found is None:
            scene = Event("sound", Excerpt(*key))
            powers = self._powers(timeline(scene), weighted=True)
            (place,) = self.hear(scene).placements
            extent = hull(place.heard.clear) or Stretch(0, excerpt.frames)
            found = _Alone(extent, 10 * float(np.log10(max(powers.max(), _SILENCE))))
            if len(self._alone) < _KEPT:
                self._alone[key] = found
        return found

    @cached_property
    def _alone(self) -> dict[tuple[str, Frames, Frames], _Alone]:
        return {}

    def _powers(
        self, placed: Timeline, weighted: bool = False
    ) -> Float[np.ndarray, "events blocks"]:
        """Mean square of each event in each block of the scene's time."""
        block = BLOCK_S * self.rate
        powers = np.zeros((len(placed.placements), int(-(-placed.frames // block))))
        for place, row in zip(placed.placements, powers, strict=True):
            first, last = self._blocks(place)
            moments = np.arange(first, last + 1) * block - place.onset
            moments[0], moments[-1] = 0, place.frames
            energy = self._envelope(place.excerpt.clip).energy(
                moments + place.excerpt.start, weighted
            )
            row[first:last] = np.diff(energy) * (to_gain(place.excerpt.gain_db) ** 2 / block)
        centres = (np.arange(powers.shape[1]) + 0.5) * block
        self._fade(placed, powers, centres, centres)
        return powers

    def _bounds(self, placed: Timeline) -> _Bounds:
        """How loud each event may be in each block of the scene's time.

        A block that is an event's in part only may be its silence: it is not known to be loud.
        """
        block = BLOCK_S * self.rate
        count = int(-(-placed.frames // block))
        edges = np.minimum(np.arange(count + 1) * block, placed.frames)
        found = _Bounds(*np.zeros((2, len(placed.placements), count)))
        for number, place in enumerate(placed.placements):
            first, last = self._blocks(place)
            moments = np.clip(edges[first : last + 1], place.onset, place.offset) - place.onset
            gain = to_gain(place.excerpt.gain_db) ** 2
            low, high = self._envelope(place.excerpt.clip).bounds(moments + place.excerpt.start)
            lengths = np.diff(edges[first : last + 1])
            is_whole = np.diff(moments) >= (1 - _BRUSHED) * lengths
            found.low[number, first:last] = low * gain * is_whole
            found.high[number, first:last] = high * gain
        self._fade(placed, found.low, rising=edges[:-1], falling=edges[1:])
        self._fade(placed, found.high, rising=edges[1:], falling=edges[:-1])
        return found

    @staticmethod
    def _fade(
        placed: Timeline,
        powers: Float[np.ndarray, "events blocks"],
        rising: Float[np.ndarray, " blocks"],
        falling: Float[np.ndarray, " blocks"],
    ) -> None:
        """Apply the crossfades of a scene to its powers.

        Args:
            placed: The scene.
            powers: They are changed.
            rising: The moment of each block whose gain a rising sound has in it.
            falling: The same of a falling one.
        """
        for join in placed.joins:
            if join.crossfade:
                gone, come = (
                    np.clip((moments - join.seam) / join.crossfade, 0, 1)
                    for moments in (falling, rising)
                )
                powers[join.start : join.middle] *= (1 - gone) ** 2
                powers[join.middle : join.stop] *= come**2

    def _blocks(self, place: Placement) -> tuple[int, int]:
        """The blocks that a placement lies in, as [start, end)."""
        block = BLOCK_S * self.rate
        return int(place.onset // block), int(-(-place.offset // block))

    def _envelope(self, clip: str) -> Envelope:
        found = self.envelopes.get(clip)
        if found is None:
            raise SceneError(f"no levels are known of clip {clip!r}", fix="build again")
        return found

    def _to_frames(self, runs: list[tuple[int, int]], place: Placement) -> Stretches:
        """Runs of blocks of a placement as stretches of the scene's time."""
        block = BLOCK_S * self.rate
        first, _ = self._blocks(place)
        return tuple(
            Stretch(
                max(round((first + start) * block), place.onset),
                min(round((first + end) * block), place.offset),
            )
            for start, end in runs
        )
