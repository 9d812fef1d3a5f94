"""The listener: where each sound of a scene is audible, from levels in the catalogue.

No audio is read: what a renderer would do to a clip (excerpts, gains, crossfades) is done to the
levels of its blocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from synth.base.errors import SceneError
from synth.base.units import Decibels, Frames, to_gain
from synth.scene.activity import Activity, Stretch, Stretches, hull, intersect, unite
from synth.scene.scene import Event, Excerpt, Scene
from synth.scene.timeline import CUT_S, Fade, Placement, Timeline, timeline
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

_KEPT: Final = 1 << 16
_READ: Final = 8192
"""Envelopes that are kept once they are read."""
_RECENT: Final = 64
"""Scenes whose timelines are kept: a recipe that tries several hears most of them again soon."""


WeightedPowers = Float[np.ndarray, "weightings events blocks"]


class _Bounds(NamedTuple):
    """Least and greatest mean square of each event in each block of time, by each weighting.

    Args:
        low: No block of a sound is quieter,
        high: or louder.
        sure: Of the clip's own blocks there, the loudest that the excerpt does not cut: what is
            cut may be silent, and hides nothing.
        loudest: The greatest of each event's whole clip, or of `high`, by weighting and event.
    """

    low: WeightedPowers
    high: WeightedPowers
    sure: WeightedPowers
    loudest: Float[np.ndarray, " sounds"]


class _Alone(NamedTuple):
    """A sound by itself: from where to where it is heard, and how loud it gets, A-weighted."""

    extent: Stretch
    loudest_weighted: Decibels


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
            placed = self._listen(timeline(scene))
            if len(recent) >= _RECENT:
                recent.pop(next(iter(recent)), None)
            recent[scene] = placed
        return placed

    def _listen(self, placed: Timeline) -> Timeline:
        block = BLOCK_S * self.rate
        length = placed.frames / block
        clips = [self._envelope(place.excerpt.clip) for place in placed.placements]
        clear, faint = self._find_runs(placed, clips, length)
        heard = tuple(
            Placement(
                place.label,
                place.onset,
                place.offset,
                place.excerpt,
                place.event,
                Activity(
                    self._to_frames(
                        self.ear.join_clear(clear[number :: len(clips)], length), place, block
                    ),
                    self._to_frames(self.ear.join_faint(faint[number :: len(clips)]), place, block),
                    clip.count_attacks(place.excerpt.start, place.excerpt.frames),
                    None
                    if self.treated is None
                    else find_acoustics(placed, number, clip, self.fade, self.treated),
                ),
            )
            for number, (place, clip) in enumerate(zip(placed.placements, clips, strict=True))
        )
        return Timeline(heard, placed.frames, placed.joins)

    def locate(self, heard: Timeline) -> Timeline:
        """The same timeline, with where most listeners hear each sound."""
        step = STEP_S * self.rate
        moments = (np.arange(math.ceil(heard.frames / step)) + 0.5) * step
        powers = np.zeros((1, 2, len(heard.placements), len(moments)))
        for number, place in enumerate(heard.placements):
            inside = slice(*np.searchsorted(moments, (place.onset, place.offset)))
            at = moments[inside] + (place.excerpt.start - place.onset)
            powers[0, :, number, inside] = self._envelope(place.excerpt.clip).interpolate(at)
        self._fade(heard, powers, moments[np.newaxis], moments[np.newaxis])
        placements = []
        for place, sound in zip(heard.placements, powers[0].swapaxes(0, 1), strict=True):
            runs = self._to_frames(self.ear.find_likely(sound), place, step)
            likely = intersect(unite((*runs, *place.heard.clear)), place.heard.faint)
            placements.append(replace(place, activity=replace(place.heard, likely=likely)))
        return replace(heard, placements=tuple(placements))

    def _find_runs(
        self, placed: Timeline, clips: list[Envelope], length: float
    ) -> tuple[list[list[Run]], list[list[Run]]]:
        """The runs of blocks of each event that everybody hears, and those that somebody may.

        Those of all events as recorded come first, then those A-weighted.

        Args:
            length: Of the scene, in blocks.
        """
        low, high, sure, loudest = self._bounds(placed, clips)
        rest = np.sqrt(np.maximum(high.sum(axis=1, keepdims=True) - high, 0))
        amplitude = np.sqrt(low)
        loudest_mix = amplitude + rest  # where they are in step
        audible = amplitude >= loudest_mix * to_gain(-self.ear.masked_db)
        low, high, audible = (each.reshape(len(loudest), -1) for each in (low, high, audible))
        clear = self.ear.find_clear(low, loudest, length, audible)
        return clear, self.ear.find_faint(high, sure.max(axis=2).ravel())

    def _find_clear(self, placed: Timeline) -> Stretches:
        """Where everybody hears the only sound of a timeline: nothing masks it."""
        (place,), block = placed.placements, BLOCK_S * self.rate
        low, _, _, loudest = self._bounds(placed, [self._envelope(place.excerpt.clip)])
        length = placed.frames / block
        clear = self.ear.find_clear(low[:, 0], loudest, length)
        return self._to_frames(self.ear.join_clear(clear, length), place, block)

    def extent(self, scene: Scene) -> Stretch:
        """From where to where anything of a scene is heard clearly, each sound by itself."""
        edges = []
        for place in timeline(scene).placements:
            alone = self._hear_alone(place.excerpt).extent
            edges.append(Stretch(alone.onset + place.onset, alone.offset + place.onset))
        return Stretch(min(edge.onset for edge in edges), max(edge.offset for edge in edges))

    def loudest_weighted(self, scene: Scene) -> Decibels:
        """A-weighted level in dB of the scene's loudest block."""
        if isinstance(scene, Event):
            return self._hear_alone(scene.heard).loudest_weighted + scene.heard.gain_db
        powers = self._event_powers(timeline(scene), weighted=True).sum(axis=0)
        return 10 * float(np.log10(max(powers.max(), SILENCE)))

    def powers(self, scene: Scene) -> LevelBlocks:
        """Mean square of each block of a scene, as recorded."""
        mixed = self._event_powers(timeline(scene), weighted=False).sum(axis=0)
        return np.asarray(np.maximum(mixed, SILENCE))

    def _hear_alone(self, excerpt: Excerpt) -> _Alone:
        key = excerpt.clip, excerpt.start, excerpt.frames
        alone = self._alone.get(key)
        if alone is None:
            placed = timeline(Event("sound", Excerpt(*key)))
            powers = self._event_powers(placed, weighted=True)
            extent = hull(self._find_clear(placed)) or Stretch(0, excerpt.frames)
            alone = _Alone(extent, 10 * float(np.log10(max(powers.max(), SILENCE))))
            if len(self._alone) < _KEPT:
                self._alone[key] = alone
        return alone

    @cached_property
    def _recent(self) -> dict[Scene, Timeline]:
        return {}

    @cached_property
    def _read(self) -> dict[str, Envelope]:
        return {}

    @cached_property
    def _alone(self) -> dict[tuple[str, Frames, Frames], _Alone]:
        return {}

    def _event_powers(self, placed: Timeline, *, weighted: bool) -> Powers:
        """Mean square of each event in each block of the scene's time."""
        block = BLOCK_S * self.rate
        powers = np.zeros((len(placed.placements), int(-(-placed.frames // block))))
        for place, row in zip(placed.placements, powers, strict=True):
            first, last = self._blocks(place)
            moments = np.arange(first, last + 1) * block - place.onset
            moments[0], moments[-1] = 0, place.frames
            envelope = self._envelope(place.excerpt.clip)
            energy = envelope.energy(moments + place.excerpt.start, weighted=weighted)
            row[first:last] = np.diff(energy) * (to_gain(place.excerpt.gain_db) ** 2 / block)
        centres = (np.arange(powers.shape[1]) + 0.5) * block
        self._fade(placed, powers[np.newaxis, np.newaxis], centres[np.newaxis], centres[np.newaxis])
        return powers

    def _bounds(self, placed: Timeline, clips: list[Envelope]) -> _Bounds:
        """How loud each event may be in each block of the scene's time.

        A block that is an event's in part only may be its silence: it is not known to be loud.
        """
        block = BLOCK_S * self.rate
        count = int(-(-placed.frames // block))
        edges = np.minimum(np.arange(count + 1) * block, placed.frames)
        places = placed.placements
        extents = [(place.onset, place.offset, place.excerpt.start) for place in places]
        onsets, offsets, starts = np.array(extents).T[:, :, np.newaxis]
        moments = np.minimum(np.maximum(edges, onsets), offsets)
        bounds = self._bound_clips(clips, moments + (starts - onsets), starts, offsets - onsets)
        gains = np.zeros((len(places), count))
        powers = [to_gain(place.excerpt.gain_db) ** 2 for place in places]
        for place, power, row in zip(places, powers, gains, strict=True):
            first, last = self._blocks(place)
            row[first:last] = power
        bounds *= gains
        lengths = (1 - BRUSHED) * (edges[1:] - edges[:-1])
        bounds[0] *= moments[:, 1:] - moments[:, :-1] >= lengths
        begins, ends = edges[:-1], edges[1:]
        self._fade(placed, bounds, np.array((begins, ends, ends)), np.array((ends, begins, begins)))
        whole = np.array([clip.loudest for clip in clips]).T * powers
        low, high, sure = bounds
        return _Bounds(low, high, sure, np.maximum(high.max(axis=2), whole).ravel())

    def _bound_clips(
        self,
        clips: list[Envelope],
        moments: Float[np.ndarray, "events edges"],
        starts: Int[np.ndarray, "events 1"],
        lengths: Int[np.ndarray, "events 1"],
    ) -> Float[np.ndarray, "3 weightings events blocks"]:
        """How soft and how loud stretches of the events' clips may be, as `_Bounds`.

        Where in its own block of 50 ms a sound falls is not known. So what lies over two of them
        counts as no louder than the quieter one, and as no quieter than the louder one. All of a
        block's sound may lie in the part that an excerpt cuts off: what is left may be silent. Much
        of it may lie in the 5 ms in which a cut begins or ends.

        A stretch may be louder than both by 3 dB, or silent between them for less than two blocks.
        The bounds of an ear lie further apart, and a pause so short does not interrupt.

        Third comes the louder one that the excerpt does not cut. The rest of a block at a clip's
        end counts for as much of one as it is.

        Args:
            moments: From each of these to the next, in frames from the clip's start; no two of
                them more than a block apart.
            starts: First frame of each excerpt.
            lengths: Its length in frames.
        """
        facts = [(len(clip.levels_db), clip.block) for clip in clips]
        counts, blocks = np.array(facts, dtype=np.float64).T[:, :, np.newaxis]
        slack = BRUSHED * blocks
        first = np.floor((moments[:, :-1] + slack) / blocks)
        final = np.ceil((moments[:, 1:] - slack) / blocks) - 1
        numbers = np.minimum(np.array((first, np.maximum(first, final))), counts - 1)
        before = np.cumsum(counts, axis=0) - counts
        kept = [
            clip.keep(int(start), int(length), CUT_S * self.rate)
            for clip, start, length in zip(clips, starts[:, 0], lengths[:, 0], strict=True)
        ]
        powers = np.concatenate([clip.powers for clip in clips], axis=1)
        lowered = powers * np.concatenate(kept)
        shares = np.concatenate([clip.shares for clip in clips])
        bounds = np.array((lowered, powers, lowered * shares))
        bounds = bounds[:, :, (numbers + before).astype(np.int64)]
        one, other = bounds[:, :, 0], bounds[:, :, 1]
        both: Float[np.ndarray, "3 weightings events blocks"] = np.maximum(one, other)
        np.minimum(one[0], other[0], out=both[0])
        return both

    def _fade(
        self,
        placed: Timeline,
        powers: Float[np.ndarray, "bounds weightings events blocks"],
        rising: Float[np.ndarray, "bounds blocks"],
        falling: Float[np.ndarray, "bounds blocks"],
    ) -> None:
        """Apply the crossfades of a scene to its powers.

        Args:
            powers: They are changed.
            rising: The moment of each block whose gain a rising sound has in it.
            falling: The same of a falling one.
        """
        for join in placed.joins:
            if join.crossfade > 0:
                gone, come = (
                    np.minimum(np.maximum((moments - join.seam) / join.crossfade, 0), 1)
                    for moments in (falling, rising)
                )
                falls, rises = self.fade.rise(1 - gone) ** 2, self.fade.rise(come) ** 2
                powers[:, :, join.start : join.middle] *= falls[:, np.newaxis, np.newaxis]
                powers[:, :, join.middle : join.stop] *= rises[:, np.newaxis, np.newaxis]

    def _blocks(self, place: Placement) -> tuple[int, int]:
        """The blocks that a placement lies in, as [start, end)."""
        block = BLOCK_S * self.rate
        return int(place.onset // block), int(-(-place.offset // block))

    def _envelope(self, clip: str) -> Envelope:
        envelope = self._read.get(clip) or self.envelopes.get(clip)
        if envelope is None:
            raise SceneError(f"no levels are known for clip {clip!r}", fix="build again")
        if isinstance(envelope, StoredEnvelope):
            envelope = envelope.read()
            if len(self._read) >= _READ:
                self._read.pop(next(iter(self._read)), None)
            self._read[clip] = envelope
        return envelope

    def _to_frames(self, runs: list[Run], place: Placement, block: float) -> Stretches:
        """Runs of blocks of so many frames as stretches of a placement."""
        return tuple(
            Stretch(max(round(start * block), place.onset), min(round(end * block), place.offset))
            for start, end in runs
        )
