"""The listener: where each sound of a scene is audible, from levels in the catalogue.

No audio is read: what a renderer would do to a clip (excerpts, gains, crossfades) is done to the
levels of its blocks.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from synth.base.errors import SceneError
from synth.base.memo import remember
from synth.base.units import Decibels, Frames, to_gain
from synth.scene.activity import Activity, Stretch, Stretches, cut, hull, intersect, unite
from synth.scene.scene import Event, Excerpt, Scene
from synth.scene.timeline import CUT_S, Fade, Join, Placement, Timeline, timeline
from synth.truth.ear import (
    BLOCK_S,
    BRUSHED,
    SILENCE,
    STEP_S,
    Ear,
    Envelope,
    ExcerptBlocks,
    LevelBlocks,
    Run,
    StoredEnvelope,
    find_acoustics,
)

_READ: Final = 8192
"""Envelopes that are kept once they are read, and where most listeners hear what is of them."""
_HELD: Final = 1024
"""Parts that are kept."""
_MIDDLE: Final = np.full((2, 1), 0.5)
_WORST: Final = np.array(((0.0, 1.0, 1.0), (1.0, 0.0, 0.0)))[:, :, np.newaxis, np.newaxis]
"""Where in a block a crossfade leaves least of a sound, for the lower bound, and most."""
_RAMPS: Final = 1024
"""Crossfades that are kept."""
_RECENT: Final = 64
"""Scenes whose timelines and levels are kept: a recipe that tries several asks again soon."""


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
        placements = tuple(
            Placement(
                place.label,
                place.onset,
                place.offset,
                place.excerpt,
                place.event,
                Activity(
                    _to_frames(
                        self.ear.join_clear(clear[number :: len(parts)], length), place, self._block
                    ),
                    _to_frames(
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
        return Timeline(placements, placed.frames, placed.joins)

    def locate(self, placed: Timeline) -> Timeline:
        """The same timeline, with where most listeners hear each sound."""
        step = STEP_S * self.rate
        placements = []
        for number, place in enumerate(placed.placements):
            first = int(place.onset // step)
            shift, excerpt, its = first * step, place.excerpt, place.heard
            joins = tuple(
                (join.seam - shift, join.crossfade, number >= join.middle)
                for join in placed.joins
                if join.crossfade > 0 and join.start <= number < join.stop
            )
            key = excerpt.clip, excerpt.start, excerpt.frames, place.onset - shift, joins
            runs = self._likely.get(key)
            if runs is None:
                runs = remember(self._likely, key, self._find_likely(*key), _READ)
            moved = [(start + first, end + first) for start, end in runs]
            stretches = unite((*_to_frames(moved, place, step), *its.clear))
            likely = intersect(stretches, its.faint)
            activity = Activity(its.clear, its.faint, its.onsets, its.acoustics, likely)
            placements.append(
                Placement(place.label, place.onset, place.offset, excerpt, place.event, activity)
            )
        return Timeline(tuple(placements), placed.frames, placed.joins)

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
        spans = list(map(self._blocks, placed.placements))
        gains = [to_gain(place.excerpt.gain_db) ** 2 for place in placed.placements]
        low, high, sure = self._bound(placed, parts, spans, gains)
        loudest = (np.array([part.envelope.loudest for part in parts]).T * gains).ravel()
        self._mask(low, high, spans)
        low, high = (bound.reshape(len(loudest), -1) for bound in (low, high))
        clear = self.ear.find_clear(low, loudest, length)
        return clear, self.ear.find_faint(high, sure.max(axis=2).ravel())

    def _mask(self, low: WeightedPowers, high: WeightedPowers, spans: Sequence[Run]) -> None:
        """Silence what cannot be heard beside other sounds."""
        spans = sorted(spans)
        first, last, end = low.shape[2], 0, spans[0][1]
        for start, stop in spans[1:]:
            if start < end:
                first, last = min(first, start), max(last, min(stop, end))
            end = max(end, stop)
        if first >= last:
            return
        low, loud = low[:, :, first:last], high[:, :, first:last]
        rest = np.sqrt(np.maximum(loud.sum(axis=1, keepdims=True) - loud, 0))
        amplitude = np.sqrt(low)
        loudest_mix = amplitude + rest  # where they are in step
        low *= amplitude >= loudest_mix * to_gain(-self.ear.masked_db)

    def extent(self, scene: Scene) -> Stretch:
        """From where to where anything of a scene is heard clearly, each sound by itself.

        Of an excerpt, what is heard of the whole clip.
        """
        if isinstance(scene, Event):
            return self._find_extent(scene.played)
        edges = []
        for place in timeline(scene).placements:
            alone = self._find_extent(place.excerpt)
            edges.append(Stretch(alone.onset + place.onset, alone.offset + place.onset))
        return Stretch(min(edge.onset for edge in edges), max(edge.offset for edge in edges))

    def loudest_weighted(self, scene: Scene) -> Decibels:
        """A-weighted level in dB of the scene's loudest block."""
        return 10 * float(np.log10(max(self._mix(scene, weighted=True).max(), SILENCE)))

    def powers(self, scene: Scene) -> LevelBlocks:
        """Mean square of each block of a scene, as recorded."""
        powers = self._levels.get(scene)
        if powers is None:
            powers = np.maximum(self._mix(scene, weighted=False), SILENCE)
            powers.setflags(write=False)
            remember(self._levels, scene, powers, _RECENT)
        return powers

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
    def _recent(self) -> OrderedDict[Scene, Timeline]:
        return OrderedDict()

    @cached_property
    def _levels(self) -> OrderedDict[Scene, LevelBlocks]:
        return OrderedDict()

    @cached_property
    def _read(self) -> OrderedDict[str, Envelope]:
        return OrderedDict()

    @cached_property
    def _parts(self) -> OrderedDict[tuple[str, Frames, Frames, float], ExcerptBlocks]:
        return OrderedDict()

    @cached_property
    def _likely(self) -> OrderedDict[tuple[Any, ...], list[Run]]:
        return OrderedDict()

    @cached_property
    def _clear(self) -> OrderedDict[str, Stretches]:
        return OrderedDict()

    def _mix(self, scene: Scene, *, weighted: bool) -> LevelBlocks:
        """Mean square of each block of a scene's time, of the events one after the other."""
        placed = timeline(scene)
        mixed = np.zeros(int(-(-placed.frames // self._block)))
        ramps = list(self._find_ramps(placed.joins, worst=False))
        for number, place in enumerate(placed.placements):
            first, last = self._blocks(place)
            powers = self._find_part(place).find_powers(weighted=weighted)
            powers *= to_gain(place.excerpt.gain_db) ** 2
            for join, since, until, ramp in ramps:
                begin, end = max(since, first), min(until, last)
                if begin < end and join.start <= number < join.stop:
                    gains = ramp[int(number < join.middle)][begin - since : end - since]
                    powers[begin - first : end - first] *= gains
            mixed[first:last] += powers
        return mixed

    def _bound(
        self,
        placed: Timeline,
        parts: Sequence[ExcerptBlocks],
        spans: Sequence[Run],
        gains: Sequence[float],
    ) -> Float[np.ndarray, "3 weightings events blocks"]:
        """How soft and how loud each event may be in each block of the scene's time.

        A block that is an event's in part only may be its silence: it is not known to be loud.
        See `ExcerptBlocks.bounds`.

        Args:
            spans: The blocks that each event lies in.
            gains: By how much the power of each is multiplied.
        """
        block, frames = self._block, placed.frames
        count = int(-(-frames // block))
        bounds = np.zeros((3, 2, len(parts), count))
        for number, (place, (first, last)) in enumerate(zip(placed.placements, spans, strict=True)):
            np.multiply(parts[number].bounds, gains[number], out=bounds[:, :, number, first:last])
            for at in (first, last - 1):
                begin, end = at * block, min((at + 1) * block, frames)
                inside = min(place.offset, end) - max(place.onset, begin)
                if inside < (1 - BRUSHED) * (end - begin):
                    bounds[0, :, number, at] = 0
        for join, since, until, (rises, falls) in self._find_ramps(placed.joins, worst=True):
            bounds[:, :, join.start : join.middle, since:until] *= falls
            bounds[:, :, join.middle : join.stop, since:until] *= rises
        return bounds

    def _find_ramps(
        self, joins: Sequence[Join], *, worst: bool
    ) -> Iterator[tuple[Join, int, int, Float[np.ndarray, "2 *bounds blocks"]]]:
        """The crossfades of a scene, the blocks that each lies in, and what it does there."""
        for join in joins:
            if join.crossfade > 0:
                stop, block = join.seam + join.crossfade, self._block
                first, last = int(join.seam // block), int(-(-stop // block))
                moments = first, last, join.seam, join.crossfade
                yield join, first, last, _find_ramp(*moments, block, self.fade, worst)

    @cached_property
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


def _to_frames(runs: list[Run], place: Placement, block: float) -> Stretches:
    """Runs of blocks of so many frames as stretches of a placement."""
    onset, offset = place.onset, place.offset
    return tuple(
        [
            Stretch(max(round(start * block), onset), min(round(end * block), offset))
            for start, end in runs
        ]
    )


@lru_cache(maxsize=_RAMPS)
def _find_ramp(
    first: int, last: int, seam: Frames, crossfade: Frames, block: float, fade: Fade, worst: bool
) -> Float[np.ndarray, "2 *bounds blocks"]:
    """By how much the power of what comes is multiplied in blocks of a crossfade, and what goes.

    Args:
        worst: As in `_WORST`, and not as in the middle of each block.
    """
    come = (np.arange(first, last) + (_WORST if worst else _MIDDLE)) * block
    come = np.minimum(np.maximum((come - seam) / crossfade, 0), 1)
    come[1] = 1 - come[1]
    ramp = np.asarray(fade.rise(come)[:, :, np.newaxis] ** 2 if worst else fade.rise(come) ** 2)
    ramp.setflags(write=False)
    return ramp
