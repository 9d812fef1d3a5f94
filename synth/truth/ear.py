"""The ear: where each sound of a scene is audible, from the levels that the catalogue measured.

Levels are those of 50 ms blocks. A block is compared with the loudest one of its own sound, and
with all that is heard at its time. No audio is read: what a renderer would do to a clip (excerpts,
gains, crossfades) is done to its levels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final, assert_never

import numpy as np
from jaxtyping import Bool, Float

from synth.base.errors import SceneError
from synth.base.units import Decibels, Frames, Seconds, to_gain
from synth.scene.activity import Activity, Stretch, Stretches, hull
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene
from synth.scene.timeline import Timeline, duration, timeline

BLOCK_S: Final[Seconds] = 0.05
_SILENCE: Final = 1e-12
_EXTENTS: Final = 1 << 14

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
        bridged: list[tuple[int, int]] = []
        for start, end in runs:
            if bridged and (start - bridged[-1][1]) * BLOCK_S < self.pause_s:
                bridged[-1] = bridged[-1][0], end
            else:
                bridged.append((start, end))
        return [(start, end) for start, end in bridged if (end - start) * BLOCK_S >= self.blip_s]

    def find_faint(self, powers: Powers, loudest: float) -> list[tuple[int, int]]:
        """The runs of blocks, as [start, end), that somebody may hear."""
        return _runs(powers >= max(loudest * to_gain(-self.faint_db) ** 2, _SILENCE))


def _runs(marked: Bool[np.ndarray, " blocks"]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(marked, prepend=False, append=False)).tolist()
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
        edges = np.arange(len(self.levels_db) + 1) * self.block
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
        powers = self.powers(scene)
        total = powers.sum(axis=0)
        masked = total * to_gain(-self.ear.masked_db) ** 2
        places = timeline(scene).placements
        activities = []
        for place, own in zip(places, powers, strict=True):
            loudest = float(own.max(initial=0.0))
            gain = to_gain(place.excerpt.gain_db) ** 2
            whole = max(loudest, self._envelope(place.excerpt.clip).loudest * gain)
            clear = self.ear.find_clear(own, whole, own >= masked)
            faint = self.ear.find_faint(own, loudest)
            bounds = place.onset, place.offset
            activities.append(
                Activity(self._to_frames(clear, *bounds), self._to_frames(faint, *bounds))
            )
        return timeline(scene, activities)

    def extent(self, scene: Scene) -> Stretch:
        """From where to where anything of a scene is heard clearly, each sound by itself."""
        found = []
        for place in timeline(scene).placements:
            alone = self._extent_alone(replace(place.excerpt, gain_db=0.0))
            found.append(Stretch(alone.onset + place.onset, alone.offset + place.onset))
        return Stretch(min(each.onset for each in found), max(each.offset for each in found))

    @cached_property
    def _extent_alone(self) -> Callable[[Excerpt], Stretch]:
        @lru_cache(maxsize=_EXTENTS)
        def find(excerpt: Excerpt) -> Stretch:
            (place,) = self.hear(Event("sound", excerpt)).placements
            return hull(place.heard.clear) or Stretch(0, excerpt.frames)

        return find

    def loudest_weighted(self, scene: Scene) -> Decibels:
        """A-weighted level in dB of the scene's loudest block."""
        powers = self.powers(scene, weighted=True).sum(axis=0)
        return 10 * float(np.log10(max(powers.max(initial=0.0), _SILENCE)))

    def powers(self, scene: Scene, weighted: bool = False) -> Float[np.ndarray, "events blocks"]:
        """Mean square of each event in each block of the scene's time.

        Raises:
            SceneError: If an event has no excerpt, or a clip has no envelope.
        """
        block = BLOCK_S * self.rate
        edges = np.arange(-(-duration(scene) // block) + 1) * block
        rows: list[Powers] = []
        self._play(scene, 0, edges, weighted, rows)
        return np.stack(rows) / block

    def _play(
        self,
        scene: Scene,
        onset: Frames,
        edges: Float[np.ndarray, " edges"],
        weighted: bool,
        rows: list[Powers],
    ) -> Frames:
        """Append the energy of each event in each block. Returns the scene's length."""
        match scene:
            case Event():
                heard = scene.heard
                moments = np.clip(edges - onset, 0, heard.frames) + heard.start
                energy = self._envelope(heard.clip).energy(moments, weighted)
                rows.append(np.diff(energy) * to_gain(heard.gain_db) ** 2)
                return heard.frames
            case Concat(first, second, crossfade):
                start = len(rows)
                left = self._play(first, onset, edges, weighted, rows)
                middle = len(rows)
                seam = onset + left - crossfade
                right = self._play(second, seam, edges, weighted, rows)
                if crossfade:
                    rising = np.clip(((edges[:-1] + edges[1:]) / 2 - seam) / crossfade, 0, 1)
                    for number in range(start, len(rows)):
                        gains = 1 - rising if number < middle else rising
                        rows[number] = rows[number] * gains**2
                return left + right - crossfade
            case Overlay(first, second, offset):
                one = self._play(first, onset + max(0, -offset), edges, weighted, rows)
                other = self._play(second, onset + max(0, offset), edges, weighted, rows)
                return max(one, offset + other) - min(0, offset)
            case _:
                assert_never(scene)

    def _envelope(self, clip: str) -> Envelope:
        found = self.envelopes.get(clip)
        if found is None:
            raise SceneError(f"no levels are known of clip {clip!r}", fix="build again")
        return found

    def _to_frames(self, runs: list[tuple[int, int]], onset: Frames, offset: Frames) -> Stretches:
        block = BLOCK_S * self.rate
        return tuple(
            Stretch(max(round(start * block), onset), min(round(end * block), offset))
            for start, end in runs
            if max(round(start * block), onset) < min(round(end * block), offset)
        )
