"""Scenes of the recipe `attributes`: the same sounds twice, otherwise in one attribute."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, partial
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from synth.base.units import Decibels, Frames, Seconds, to_frames
from synth.captions.caption import Caption, Style
from synth.captions.measuring import Measure, claim_background, measuring_frames, say_measure
from synth.labels.lexicon import Treatment, are_confusable
from synth.recipes.base import Clip, Setting, by_label, excerpt, make_listener, pick
from synth.scene.claim import Measured, Part, Quantity
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene
from synth.truth.ear import BLOCK_S
from synth.truth.listener import Listener
from synth.truth.measures import EFFECTS

# The attributes in which the members of a group of the recipe `attributes` differ.


PAUSE_S: Final = (0.3, 0.8)
"""Shortest and longest pause between two sounds where it does not matter."""

GAPS_S: Final = (2, 3, 4)
"""Pauses that are told."""

LENGTHS: Final = 2.5
"""Of two lengths that can be told from one another the longer is so many times the shorter."""

BED_S: Final[Seconds] = 2.5
"""A shorter sound has no start, middle and end to speak of."""


class Attribute(StrEnum):
    """What members differ in; named like the quantities of `synth.scene.claim`."""

    DURATION = "duration"
    LONGER = "longer"
    GAP = "gap"
    ONSET = "onset"
    POSITION = "position"
    LOUDER = "louder"
    BACKGROUND = "background"
    AGAIN_LOUDER = "again_louder"
    TREND = "trend"
    AGAIN_FARTHER = "again_farther"
    AGAIN_ROOMIER = "again_roomier"
    AGAIN_HIGHER = "again_higher"
    AGAIN_FASTER = "again_faster"

    @property
    def needs_treatment(self) -> bool:
        """Whether it is told of treated clips."""
        return self is Attribute.TREND or (
            self.value.startswith("again_") and self is not Attribute.AGAIN_LOUDER
        )

    def measure_room(self, longest_s: Seconds) -> Seconds:
        """How long a sample must be for its members.

        Args:
            longest_s: No sound lasts longer; one over which others are heard is cut as needed.
        """
        match self:
            case Attribute.DURATION:
                return math.ceil(LENGTHS)
            case Attribute.ONSET | Attribute.POSITION:
                return BED_S
            case Attribute.TREND | Attribute.BACKGROUND:
                return longest_s
            case Attribute.GAP:
                return 2 * longest_s + max(GAPS_S)
            case _:
                return 2 * longest_s + PAUSE_S[1]


# The sounds of the recipe `attributes`: which clips, which parts of them, and how loud.


_BED_DB: Final[Decibels] = 10.0

_BED_PARTS: Final = 5
"""No longer a part of it is the sound whose place is told."""

_PARTNERS: Final = 20


@dataclass(frozen=True)
class AttributeSounds:
    """The sounds of one split.

    Args:
        max_event_s: Longer sounds are cut.
        apart_db: How far the levels of two sounds lie apart.
    """

    clips: Sequence[Clip]
    setting: Setting
    max_event_s: Seconds
    apart_db: Decibels

    @cached_property
    def listener(self) -> Listener:
        """Hears the clips, and how they sound."""
        return make_listener(self.clips, self.setting, acoustics=True)

    @cached_property
    def plain(self) -> Sequence[Clip]:
        """Clips as they were recorded."""
        return [clip for clip in self.clips if not clip.treatment]

    @cached_property
    def _labels(self) -> Mapping[str, Sequence[Clip]]:
        return by_label(self.plain)

    @cached_property
    def _treated(self) -> Mapping[tuple[str, str], Clip]:
        return {(clip.untreated, clip.treatment): clip for clip in self.clips}

    def pick_treated(
        self, one: str, other: str, rng: np.random.Generator
    ) -> tuple[Clip, Clip] | None:
        """One recording in two treatments, "" for none; None where there are not both."""
        recording = pick(self.plain, rng).id
        first, second = self._treated.get((recording, one)), self._treated.get((recording, other))
        return (first, second) if first and second else None

    def pick_two(
        self, rng: np.random.Generator, cut: Callable[[Clip], Excerpt | None]
    ) -> tuple[tuple[str, Excerpt], tuple[str, Excerpt]] | None:
        """Two sounds of other labels and recordings, as `cut` leaves them."""
        first = pick(self.plain, rng)
        one = cut(first)
        if one is None:
            return None
        names = [*self._labels]
        for at in rng.permutation(len(names))[:_PARTNERS]:
            name = names[at]
            second = pick(self._labels[name], rng)
            if are_confusable(name, first.labels[0]) or second.recording == first.recording:
                continue
            other = cut(second)
            if other is not None:
                return (first.labels[0], one), (name, other)
        return None

    def draw_over_bed(self, rng: np.random.Generator) -> tuple[Event, Event] | None:
        """A steady sound, and a short one that is heard over it."""
        bed = pick(self.plain, rng)
        run = self.find_run(bed)
        if run is None or run.frames < BED_S * self.setting.rate:
            return None
        clip = pick(self.plain, rng)
        name, label = bed.labels[0], clip.labels[0]
        if bed.recording == clip.recording or are_confusable(name, label):
            return None
        longest = min(run.frames // _BED_PARTS, self._longest)
        sound = excerpt(clip, longest, self.setting, rng)
        return lower(Event(name, run), _BED_DB), Event(label, sound)

    def set_apart(
        self, one: Event, other: Event, least_db: Decibels, most_db: Decibels | None = None
    ) -> list[tuple[Event, Event]]:
        """Two sounds, the first louder and then the second, by their means and by their peaks.

        None is raised: who is quieter is lowered.

        Args:
            least_db: So far apart they are in both.
            most_db: And no further; nothing is returned where that cannot be, or where nobody knows
                how loud they are.
        """
        first, second = (
            self.listener.hear(each).placements[0].heard.acoustics for each in (one, other)
        )
        if first is None or second is None:
            return []
        means, peaks = first.mean_dba - second.mean_dba, first.peak_dba - second.peak_dba
        if most_db is not None and least_db + abs(means - peaks) > most_db:
            return []
        apart, louder = least_db + abs(means - peaks) / 2, (means + peaks) / 2
        return [
            (lower(one, max(-change, 0)), lower(other, max(change, 0)))
            for change in (apart - louder, -apart - louder)
        ]

    def find_run(self, clip: Clip) -> Excerpt | None:
        """The longest part of a clip that everybody hears without a pause."""
        whole = Excerpt(clip.id, 0, clip.frames, self.setting.levels.gain(clip.loudness_lufs))
        (place,) = self.listener.hear(Event(clip.labels[0], whole)).placements
        most = self.setting.max_frames or clip.frames
        longest = max(place.heard.clear, key=lambda each: each.offset - each.onset, default=None)
        if longest is None:
            return None
        # What is left of a block that is cut may be silent.
        block = BLOCK_S * self.setting.rate
        start = math.ceil(math.ceil(longest.onset / block) * block)
        frames = min(longest.offset - start, most)
        return replace(whole, start=start, frames=frames) if frames > 0 else None

    def cut_loud(self, clip: Clip, rng: np.random.Generator) -> Excerpt:
        """A loud part of a clip, or all of a short one."""
        return excerpt(clip, self._longest, self.setting, rng)

    def cut_run(self, clip: Clip) -> Excerpt | None:
        """The begin of what `find_run` finds."""
        run = self.find_run(clip)
        return run and replace(run, frames=min(run.frames, self._longest))

    def find_pause(self, event: Event) -> Frames:
        """The longest pause within a sound."""
        (place,) = self.listener.hear(event).placements
        stretches = pairwise(place.heard.clear)
        return max((after.onset - before.offset for before, after in stretches), default=0)

    def play_whole(self, clip: Clip, loudness_lufs: Decibels) -> Excerpt:
        """All of a treated clip: without its tail a hall is none."""
        return Excerpt(clip.id, 0, clip.frames, self.setting.levels.gain(loudness_lufs))

    def draw_pause(self, rng: np.random.Generator) -> Frames:
        """The pause between two sounds where its length is not told."""
        return to_frames(float(rng.uniform(*PAUSE_S)), self.setting.rate)

    def are_longer(self, clips: Sequence[Clip], most: Frames | None) -> bool:
        """Whether clips cannot be played whole: that takes twice what others may last at most."""
        longest = max(clip.frames for clip in clips)
        return longest > 2 * self._longest or (most is not None and longest > most)

    @property
    def most_pause(self) -> Frames:
        """The longest of them."""
        return to_frames(PAUSE_S[1], self.setting.rate)

    @property
    def _longest(self) -> Frames:
        return to_frames(self.max_event_s, self.setting.rate)


def lower(event: Event, by_db: Decibels) -> Event:
    """The event, quieter by so much."""
    heard = event.heard
    return Event(event.label, replace(heard, gain_db=round(heard.gain_db - by_db, 2)))


_LONGER_S: Final[Seconds] = 0.3
"""By so much a pause between two times is longer than one within either."""

_EARLIEST_S: Final = 0.5
"""What comes sooner begins at once."""

_APART_S: Final = 1.1
"""Two times that can be told from one another are so far apart."""

_OVER_S: Final = 0.4
"""And the sound is over so long before the later one."""

_BEHIND_DB: Final[tuple[Decibels, Decibels]] = (8.0, 11.0)
"""So far a sound in the background lies below the other: below that it may be masked at times."""

_TOGETHER_S: Final[Seconds] = 1.4
"""Sounds that are heard for a shorter time have no background."""

_RIM_S: Final[Seconds] = 0.2
"""By so much one of two sounds at once begins later, and ends earlier."""


class DescribedScene(NamedTuple):
    """A scene, and what is true of it."""

    scene: Scene
    caption: Caption


@dataclass(frozen=True)
class AttributeScenes:
    """Draws the members of groups; whether their sentences hold is for others to prove."""

    sounds: AttributeSounds
    style: Style

    def draw(
        self, attribute: Attribute, rng: np.random.Generator
    ) -> Sequence[DescribedScene] | None:
        """The members of a group; None where the clips that were drawn do not serve."""
        draw = self._drawers.get(attribute)
        return draw(rng) if draw else self._draw_treated(Quantity(attribute.value), rng)

    @cached_property
    def _drawers(
        self,
    ) -> Mapping[Attribute, Callable[[np.random.Generator], Sequence[DescribedScene] | None]]:
        return {
            Attribute.DURATION: self._draw_duration,
            Attribute.LONGER: self._draw_longer,
            Attribute.GAP: self._draw_gap,
            Attribute.ONSET: self._draw_onset,
            Attribute.POSITION: self._draw_position,
            Attribute.LOUDER: self._draw_louder,
            Attribute.BACKGROUND: self._draw_background,
            Attribute.AGAIN_LOUDER: self._draw_louder_again,
            Attribute.TREND: self._draw_trend,
        }

    def _draw_duration(self, rng: np.random.Generator) -> Sequence[DescribedScene] | None:
        clip = pick(self.sounds.plain, rng)
        longest = self.sounds.find_run(clip)
        whole = longest.frames // self.sounds.setting.rate if longest else 0
        lengths = [(a, b) for b in range(2, whole + 1) for a in range(1, b) if b >= LENGTHS * a]
        if longest is None or not lengths:
            return None
        label = clip.labels[0]
        frames = [seconds * self.sounds.setting.rate for seconds in pick(lengths, rng)]
        sounds = [Event(label, replace(longest, frames=each)) for each in frames]
        return self._tell(sounds, _claims(Quantity.DURATION, label, frames), rng)

    def _draw_longer(self, rng: np.random.Generator) -> Sequence[DescribedScene] | None:
        found = self.sounds.pick_two(rng, self.sounds.cut_run)
        if found is None:
            return None
        (one, first), (other, second) = found
        longest = min(first.frames, second.frames)
        shorter = int(longest / LENGTHS)
        pause = self.sounds.draw_pause(rng)
        scenes = [
            _join(
                Event(one, replace(first, frames=a)), Event(other, replace(second, frames=b)), pause
            )
            for a, b in ((longest, shorter), (shorter, longest))
        ]
        return self._tell(scenes, _mirror(Quantity.LONGER, one, other, rng), rng)

    def _draw_gap(self, rng: np.random.Generator) -> Sequence[DescribedScene] | None:
        found = self.sounds.pick_two(rng, partial(self.sounds.cut_loud, rng=rng))
        if found is None:
            return None
        (one, first), (other, second) = found
        gap = int(rng.choice(GAPS_S)) * self.sounds.setting.rate
        scenes = [_join(Event(one, first), Event(other, second), each) for each in (0, gap)]
        of = Event(one), Event(other)
        claims = [Measured(Quantity.GAP, of, each) for each in (0, gap)]
        return self._tell(scenes, claims, rng)

    def _draw_onset(self, rng: np.random.Generator) -> Sequence[DescribedScene] | None:
        found = self.sounds.draw_over_bed(rng)
        if found is None:
            return None
        bed, sound = found
        rate, room = self.sounds.setting.rate, bed.heard.frames - sound.heard.frames
        tenths = 10 * room // rate
        earliest = round(10 * _EARLIEST_S)
        # Whoever hears it still at the second time may say that it is heard then.
        apart = round(10 * max(_APART_S, sound.heard.frames / rate + _OVER_S))
        if tenths <= earliest + apart:
            return None
        first = int(rng.integers(earliest, tenths - apart))
        second = int(rng.integers(first + apart, tenths))
        times = [tenth * rate // 10 for tenth in (first, second)]
        scenes = [Overlay(bed, sound, time) for time in times]
        return self._tell(scenes, _claims(Quantity.ONSET, sound.label, times), rng)

    def _draw_position(self, rng: np.random.Generator) -> Sequence[DescribedScene] | None:
        found = self.sounds.draw_over_bed(rng)
        if found is None:
            return None
        bed, sound = found
        room = bed.heard.frames - sound.heard.frames
        # Two of three, as each sentence must be false as often as it is true.
        parts = [Part(each) for each in rng.permutation(len(Part))[:2].tolist()]
        scenes = [Overlay(bed, sound, room * part // 2) for part in parts]
        return self._tell(scenes, _claims(Quantity.POSITION, sound.label, parts), rng)

    def _draw_louder(self, rng: np.random.Generator) -> Sequence[DescribedScene] | None:
        found = self.sounds.pick_two(rng, partial(self.sounds.cut_loud, rng=rng))
        if found is None:
            return None
        one, other = (Event(*each) for each in found)
        pause = self.sounds.draw_pause(rng)
        pairs = self.sounds.set_apart(one, other, self.sounds.apart_db)
        scenes = [_join(a, b, pause) for a, b in pairs]
        if not scenes:
            return None
        return self._tell(scenes, _mirror(Quantity.LOUDER, one.label, other.label, rng), rng)

    def _draw_background(self, rng: np.random.Generator) -> Sequence[DescribedScene] | None:
        found = self.sounds.pick_two(rng, self.sounds.cut_run)
        if found is None:
            return None
        frames = min(each.frames for _, each in found)
        if frames < _TOGETHER_S * self.sounds.setting.rate:
            return None
        one, other = (Event(label, replace(each, frames=frames)) for label, each in found)
        # Else they may begin, or end, a moment apart to somebody, and neither lies in the other.
        rim = round(_RIM_S * self.sounds.setting.rate)
        heard = other.heard
        inner = replace(heard, start=heard.start + rim, frames=frames - 2 * rim)
        other = Event(other.label, inner)
        pairs = self.sounds.set_apart(one, other, *_BEHIND_DB)
        if not pairs:
            return None
        scenes = [Overlay(a, b, rim) for a, b in pairs]
        claims = [
            claim_background(one.label, other.label),
            claim_background(other.label, one.label),
        ]
        return self._tell(scenes, claims, rng)

    def _draw_louder_again(self, rng: np.random.Generator) -> Sequence[DescribedScene] | None:
        clip = pick(self.sounds.plain, rng)
        loud = Event(clip.labels[0], self.sounds.cut_loud(clip, rng))
        return self._repeat(loud, lower(loud, self.sounds.apart_db), Quantity.AGAIN_LOUDER, rng)

    def _draw_trend(self, rng: np.random.Generator) -> Sequence[DescribedScene] | None:
        """A recording that gets louder, and the same getting quieter."""
        pair = self.sounds.pick_treated(Treatment.RISING, Treatment.FALLING, rng)
        if pair is None:
            return None
        if self.sounds.are_longer(pair, self.sounds.setting.max_frames):
            return None
        label = pair[0].labels[0]
        scenes = [Event(label, self.sounds.play_whole(clip, clip.loudness_lufs)) for clip in pair]
        return self._tell(scenes, _claims(Quantity.TREND, label, (1, -1)), rng)

    def _draw_treated(
        self, quantity: Quantity, rng: np.random.Generator
    ) -> Sequence[DescribedScene] | None:
        """A recording and its treatment, one after the other in either order."""
        serving = [name for name, effects in EFFECTS.items() if effects.get(quantity)]
        treatment = pick(serving, rng)
        pair = self.sounds.pick_treated("", treatment, rng)
        if pair is None:
            return None
        room = self.sounds.setting.max_frames
        if self.sounds.are_longer(pair, room and (room - self.sounds.most_pause) // 2):
            return None
        label, original = pair[0].labels[0], pair[0].loudness_lufs
        # What is far away stays quieter.
        is_level = quantity is not Quantity.AGAIN_FARTHER
        plain, treated = (
            Event(label, self.sounds.play_whole(clip, clip.loudness_lufs if is_level else original))
            for clip in pair
        )
        if EFFECTS[treatment][quantity] < 0:
            plain, treated = treated, plain
        return self._repeat(treated, plain, quantity, rng)

    def _repeat(
        self, more: Event, less: Event, quantity: Quantity, rng: np.random.Generator
    ) -> Sequence[DescribedScene] | None:
        """A sound twice, with more of a quantity the second time, and the first time.

        The pause between is longer than any within the sound: else a bark of the first time may be
        taken for one of the second.
        """
        inner = max(self.sounds.find_pause(more), self.sounds.find_pause(less))
        pause = max(
            self.sounds.draw_pause(rng), inner + to_frames(_LONGER_S, self.sounds.setting.rate)
        )
        room = self.sounds.setting.max_frames
        if room is not None and more.heard.frames + pause + less.heard.frames > room:
            return None
        scenes = [_join(less, more, pause), _join(more, less, pause)]
        return self._tell(scenes, _claims(quantity, more.label, (1, -1)), rng)

    def _tell(
        self, scenes: Sequence[Scene], claims: Sequence[Measure], rng: np.random.Generator
    ) -> list[DescribedScene]:
        """Scenes with what is true of each, all in one sentence frame."""
        frame = int(rng.integers(measuring_frames(claims[0], self.style)))
        rate = self.sounds.setting.rate
        return [
            DescribedScene(scene, say_measure(claim, self.style, rate, frame))
            for scene, claim in zip(scenes, claims, strict=True)
        ]


def _join(first: Event, second: Event, pause: Frames) -> Concat:
    return Concat(first, second, -pause)


def _claims(quantity: Quantity, label: str, values: Sequence[int]) -> list[Measured]:
    return [Measured(quantity, (Event(label),), value) for value in values]


def _mirror(quantity: Quantity, one: str, other: str, rng: np.random.Generator) -> list[Measured]:
    """That one sound has more of a quantity, and that the other has.

    Half of the groups say that one is more, the others that the other is less.
    """
    value = 1 if rng.integers(2) else -1
    first, second = (one, other) if value > 0 else (other, one)
    return [
        Measured(quantity, (Event(a), Event(b)), value)
        for a, b in ((first, second), (second, first))
    ]
