"""The listener: where each sound of a scene is audible, from levels in the catalogue.

No audio is read: what a renderer would do to a clip (excerpts, gains, crossfades) is done to the
levels of its blocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Float

from synth.base.errors import SceneError
from synth.base.memo import remember
from synth.base.units import Decibels, Frames, to_gain
from synth.scene.activity import Activity, Stretch, Stretches, cut, hull, intersect, unite
from synth.scene.scene import Event, Excerpt, Scene
from synth.scene.timeline import CUT_S, Fade, Placement, Timeline, timeline
from synth.truth.blocks import ExcerptBlocks
from synth.truth.ear import (
    BLOCK_S,
    BRUSHED,
    SILENCE,
    STEP_S,
    Ear,
    Envelope,
    LevelBlocks,
    Powers,
    Run,
    StoredEnvelope,
    find_acoustics,
)

_READ: Final = 8192
"""Envelopes that are kept once they are read, and where most listeners hear what is of them."""
_HELD: Final = 1024
"""Parts that are kept."""
_MIDDLE: Final = np.full((2, 1, 1), 0.5)
_WORST: Final = np.array(((0.0, 1.0, 1.0), (1.0, 0.0, 0.0)))[:, :, np.newaxis]
"""Where in a block a crossfade leaves least of a sound, for the lower bound, and most."""
_RECENT: Final = 64
"""Scenes whose timelines are kept: a recipe that tries several hears most of them again soon."""


WeightedPowers = Float[np.ndarray, "weightings events blocks"]


@dataclass(frozen=True)
class Listener:
    """Hears scenes.

    Args:
        treated: The recording and the treatment of each treated clip, by its id; None not to tell
            how sounds sound.
    """

    ear: Ear
    rate: int
    envelopes: Mapping[str, Envelope | StoredEnvelope]
    fade: Fade = Fade.LINEAR
    treated: Mapping[str, tuple[str, str]] | None = None

    def hear(self, scene: Scene) -> Timeline:
        """The timeline of a scene, with the activity of each event."""
        recent = self._recent
        placed = recent.get(scene)
        if placed is None:
            placed = remember(recent, scene, self._listen(timeline(scene)), _RECENT)
        return placed

    def _listen(self, placed: Timeline) -> Timeline:
        parts = [self._find_part(place) for place in placed.placements]
        length = placed.frames / self._block
        clear, faint = self._find_runs(placed, parts, length)
        heard = tuple(
            Placement(
                place.label,
                place.onset,
                place.offset,
                place.excerpt,
                place.event,
                Activity(
                    self._to_frames(
                        self.ear.join_clear(clear[number :: len(parts)], length), place, self._block
                    ),
                    self._to_frames(
                        self.ear.join_faint(faint[number :: len(parts)]), place, self._block
                    ),
                    part.attacks,
                    None
                    if self.treated is None
                    else find_acoustics(placed, number, part.envelope, self.fade, self.treated),
                ),
            )
            for number, (place, part) in enumerate(zip(placed.placements, parts, strict=True))
        )
        return Timeline(heard, placed.frames, placed.joins)

    def locate(self, heard: Timeline) -> Timeline:
        """The same timeline, with where most listeners hear each sound."""
        step = STEP_S * self.rate
        placements = []
        for number, place in enumerate(heard.placements):
            first = int(place.onset // step)
            shift, excerpt, its = first * step, place.excerpt, place.heard
            joins = tuple(
                (join.seam - shift, join.crossfade, number >= join.middle)
                for join in heard.joins
                if join.crossfade > 0 and join.start <= number < join.stop
            )
            key = excerpt.clip, excerpt.start, excerpt.frames, place.onset - shift, joins
            runs = self._likely.get(key)
            if runs is None:
                runs = remember(self._likely, key, self._find_likely(*key), _READ)
            moved = [(start + first, end + first) for start, end in runs]
            stretches = unite((*self._to_frames(moved, place, step), *its.clear))
            likely = intersect(stretches, its.faint)
            activity = Activity(its.clear, its.faint, its.onsets, its.acoustics, likely)
            placements.append(
                Placement(place.label, place.onset, place.offset, excerpt, place.event, activity)
            )
        return Timeline(tuple(placements), heard.frames, heard.joins)

    def _find_likely(
        self,
        clip: str,
        start: Frames,
        frames: Frames,
        phase: float,
        joins: tuple[tuple[float, Frames, bool], ...],
    ) -> list[Run]:
        """The runs of moments in which most listeners hear an excerpt.

        Args:
            phase: Frames from the begin of the first moment to its own.
            joins: The seam, on the same clock, of each crossfade that it is in; how long that is;
                and whether it rises there.
        """
        step, end = STEP_S * self.rate, phase + frames
        moments = (np.arange(math.ceil(end / step)) + 0.5) * step
        inside = slice(*np.searchsorted(moments, (phase, end)))
        powers = np.zeros((2, len(moments)))
        powers[:, inside] = self.read_envelope(clip).interpolate(moments[inside] + (start - phase))
        for seam, crossfade, rises in joins:
            come = np.minimum(np.maximum((moments - seam) / crossfade, 0), 1)
            powers *= self.fade.rise(come if rises else 1 - come) ** 2
        return self.ear.find_likely(powers)

    def _find_runs(
        self, placed: Timeline, parts: Sequence[ExcerptBlocks], length: float
    ) -> tuple[list[list[Run]], list[list[Run]]]:
        """The runs of blocks of each event that everybody hears, and those that somebody may.

        Those of all events as recorded come first, then those A-weighted.

        Args:
            length: Of the scene, in blocks.
        """
        low, high, sure = self._bound(placed, parts)
        gains = [to_gain(place.excerpt.gain_db) ** 2 for place in placed.placements]
        loudest = (np.array([part.envelope.loudest for part in parts]).T * gains).ravel()
        audible = self._find_audible(placed, low, high)
        low, high = (bound.reshape(len(loudest), -1) for bound in (low, high))
        clear = self.ear.find_clear(low, loudest, length, audible)
        return clear, self.ear.find_faint(high, sure.max(axis=2).ravel())

    def _find_audible(
        self, placed: Timeline, low: WeightedPowers, high: WeightedPowers
    ) -> Bool[np.ndarray, "sounds blocks"] | None:
        """Which blocks of a sound can be heard beside the others, None for all."""
        spans = sorted(map(self._blocks, placed.placements))
        first, last, end = low.shape[2], 0, spans[0][1]
        for start, stop in spans[1:]:
            if start < end:
                first, last = min(first, start), max(last, min(stop, end))
            end = max(end, stop)
        if first >= last:
            return None
        audible = np.ones(low.shape, dtype=np.bool_)
        loud = high[:, :, first:last]
        rest = np.sqrt(np.maximum(loud.sum(axis=1, keepdims=True) - loud, 0))
        amplitude = np.sqrt(low[:, :, first:last])
        loudest_mix = amplitude + rest  # where they are in step
        audible[:, :, first:last] = amplitude >= loudest_mix * to_gain(-self.ear.masked_db)
        return audible.reshape(-1, low.shape[2])

    def extent(self, scene: Scene) -> Stretch:
        """From where to where anything of a scene is heard clearly, each sound by itself.

        Of an excerpt, what is heard of the whole clip.
        """
        if isinstance(scene, Event):
            return self._find_extent(scene.heard)
        edges = []
        for place in timeline(scene).placements:
            alone = self._find_extent(place.excerpt)
            edges.append(Stretch(alone.onset + place.onset, alone.offset + place.onset))
        return Stretch(min(edge.onset for edge in edges), max(edge.offset for edge in edges))

    def loudest_weighted(self, scene: Scene) -> Decibels:
        """A-weighted level in dB of the scene's loudest block."""
        powers = self._event_powers(timeline(scene), weighted=True).sum(axis=0)
        return 10 * float(np.log10(max(powers.max(), SILENCE)))

    def powers(self, scene: Scene) -> LevelBlocks:
        """Mean square of each block of a scene, as recorded."""
        mixed = self._event_powers(timeline(scene), weighted=False).sum(axis=0)
        return np.asarray(np.maximum(mixed, SILENCE))

    def _find_extent(self, excerpt: Excerpt) -> Stretch:
        clear = self._clear.get(excerpt.clip)
        if clear is None:
            whole = Excerpt(excerpt.clip, 0, self.read_envelope(excerpt.clip).frames)
            (place,) = self._listen(timeline(Event("sound", whole))).placements
            clear = remember(self._clear, excerpt.clip, place.heard.clear, _READ)
        extent = hull(cut(clear, excerpt.start, excerpt.start + excerpt.frames))
        if extent is None:
            return Stretch(0, excerpt.frames)
        return Stretch(extent.onset - excerpt.start, extent.offset - excerpt.start)

    @cached_property
    def _recent(self) -> dict[Scene, Timeline]:
        return {}

    @cached_property
    def _read(self) -> dict[str, Envelope]:
        return {}

    @cached_property
    def _parts(self) -> dict[tuple[str, Frames, Frames, float], ExcerptBlocks]:
        return {}

    @cached_property
    def _likely(self) -> dict[tuple[Any, ...], list[Run]]:
        return {}

    @cached_property
    def _clear(self) -> dict[str, Stretches]:
        return {}

    def _event_powers(self, placed: Timeline, *, weighted: bool) -> Powers:
        """Mean square of each event in each block of the scene's time."""
        powers = np.zeros((len(placed.placements), int(-(-placed.frames // self._block))))
        for place, row in zip(placed.placements, powers, strict=True):
            powers_of_part = self._find_part(place).find_powers(weighted=weighted)
            power = to_gain(place.excerpt.gain_db) ** 2
            np.multiply(powers_of_part, power, out=row[slice(*self._blocks(place))])
        self._fade(placed, powers[np.newaxis, np.newaxis], _MIDDLE)
        return powers

    def _bound(
        self, placed: Timeline, parts: Sequence[ExcerptBlocks]
    ) -> Float[np.ndarray, "3 weightings events blocks"]:
        """How soft and how loud each event may be in each block of the scene's time.

        A block that is an event's in part only may be its silence: it is not known to be loud.
        See `ExcerptBlocks.bounds`.
        """
        block, frames = self._block, placed.frames
        count = int(-(-frames // block))
        bounds = np.zeros((3, 2, len(parts), count))
        for number, (place, part) in enumerate(zip(placed.placements, parts, strict=True)):
            first, last = self._blocks(place)
            power = to_gain(place.excerpt.gain_db) ** 2
            np.multiply(part.bounds, power, out=bounds[:, :, number, first:last])
            for at in {first, last - 1}:
                begin, end = at * block, min((at + 1) * block, frames)
                inside = min(place.offset, end) - max(place.onset, begin)
                if inside < (1 - BRUSHED) * (end - begin):
                    bounds[0, :, number, at] = 0
        self._fade(placed, bounds, _WORST)
        return bounds

    def _fade(
        self,
        placed: Timeline,
        powers: Float[np.ndarray, "bounds weightings events blocks"],
        moments: Float[np.ndarray, "2 bounds 1"],
    ) -> None:
        """Apply the crossfades of a scene to its powers.

        Args:
            powers: They are changed.
            moments: Of each bound, where in a block a rising sound has the gain that it has in all
                of it, and where a falling one does: 0 at its begin, 1 at its end.
        """
        for join in placed.joins:
            if join.crossfade > 0:
                stop = join.seam + join.crossfade
                first, last = int(join.seam // self._block), int(-(-stop // self._block))
                times = (np.arange(first, last) + moments) * self._block
                come = np.minimum(np.maximum((times - join.seam) / join.crossfade, 0), 1)
                come[1] = 1 - come[1]
                rises, falls = self.fade.rise(come)[:, :, np.newaxis, np.newaxis] ** 2
                powers[:, :, join.start : join.middle, first:last] *= falls
                powers[:, :, join.middle : join.stop, first:last] *= rises

    @property
    def _block(self) -> float:
        """Frames of a block of a scene's time."""
        return BLOCK_S * self.rate

    def _find_part(self, place: Placement) -> ExcerptBlocks:
        """What is placed, which is kept: most sounds are heard in several scenes."""
        excerpt, phase = place.excerpt, place.onset % self._block
        key = excerpt.clip, excerpt.start, excerpt.frames, phase
        part = self._parts.get(key)
        if part is None:
            envelope = self.read_envelope(excerpt.clip)
            ramp = CUT_S * self.rate
            part = ExcerptBlocks(envelope, excerpt.start, excerpt.frames, phase, self._block, ramp)
            remember(self._parts, key, part, _HELD)
        return part

    def _blocks(self, place: Placement) -> tuple[int, int]:
        """The blocks that a placement lies in, as [start, end)."""
        return int(place.onset // self._block), int(-(-place.offset // self._block))

    def read_envelope(self, clip: str) -> Envelope:
        """How loud a clip is over time, wherever that lies; it is kept."""
        envelope = self._read.get(clip) or self.envelopes.get(clip)
        if envelope is None:
            raise SceneError(f"no levels are known for clip {clip!r}", fix="build again")
        if isinstance(envelope, StoredEnvelope):
            envelope = remember(self._read, clip, envelope.read(), _READ)
        return envelope

    def _to_frames(self, runs: list[Run], place: Placement, block: float) -> Stretches:
        """Runs of blocks of so many frames as stretches of a placement."""
        return tuple(
            Stretch(max(round(start * block), place.onset), min(round(end * block), place.offset))
            for start, end in runs
        )
