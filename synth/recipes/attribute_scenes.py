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
from synth.captions.measuring import (
    background_frames,
    measuring_frames,
    say_background,
    say_measure,
)
from synth.labels.lexicon import Phrase, are_confusable
from synth.labels.treatment import Treatment
from synth.recipes.base import Clip, Setting, by_label, excerpt, make_listener, pick
from synth.scene.claim import Measured, Part, Quantity
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene
from synth.truth.ear import BLOCK_S
from synth.truth.effects import EFFECTS
from synth.truth.listener import Listener

_PAUSE_S: Final = (0.3, 0.8)
"""Shortest and longest pause between two sounds where it does not matter."""

_LONGER_S: Final[Seconds] = 0.1
"""By so much a pause between two times is longer than one within either."""

_GAPS_S: Final = (2, 3, 4)
_LENGTHS: Final = 2.5
"""Of two lengths that can be told from one another the longer is so many times the shorter."""

_EARLIEST_S: Final = 0.5
"""What comes sooner begins at once."""

_APART_S: Final = 1.1
"""Two times that can be told from one another are so far apart."""

_OVER_S: Final = 0.4
"""And the sound is over so long before the later one."""

_BED_DB: Final[Decibels] = 10.0
_BED_S: Final[Seconds] = 2.5
"""A shorter sound has no start, middle and end to speak of."""

_BED_PARTS: Final = 5
"""No longer a part of it is the sound whose place is told."""

_TOGETHER_S: Final[Seconds] = 1.0
"""Sounds that are heard for a shorter time have no background."""

_PARTNERS: Final = 20


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
                return math.ceil(_LENGTHS)
            case Attribute.ONSET | Attribute.POSITION:
                return _BED_S
            case Attribute.TREND | Attribute.BACKGROUND:
                return longest_s
            case Attribute.GAP:
                return 2 * longest_s + max(_GAPS_S)
            case _:
                return 2 * longest_s + _PAUSE_S[1]


class Told(NamedTuple):
    """A scene, and what is true of it."""

    scene: Scene
    caption: Caption


@dataclass(frozen=True)
class AttributeScenes:
    """Draws the members of groups; whether their sentences hold is for others to prove.

    Args:
        clips: Of one split.
        setting: As the recipe is given.
        max_event_s: Longer sounds are cut.
        apart_db: How far the levels of two sounds lie apart.
        style: Caption style.
    """

    clips: Sequence[Clip]
    setting: Setting
    max_event_s: Seconds
    apart_db: Decibels
    style: Style

    def draw(self, attribute: Attribute, rng: np.random.Generator) -> Sequence[Told] | None:
        """The members of a group; None where the clips that were drawn do not serve."""
        draw = self._drawers.get(attribute)
        return draw(rng) if draw else self._draw_treated(Quantity(attribute.value), rng)

    @cached_property
    def listener(self) -> Listener:
        """Hears the clips, and how they sound."""
        return make_listener(self.clips, self.setting, acoustics=True)

    @cached_property
    def _drawers(
        self,
    ) -> Mapping[Attribute, Callable[[np.random.Generator], Sequence[Told] | None]]:
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

    def _draw_duration(self, rng: np.random.Generator) -> Sequence[Told] | None:
        clip = pick(self._plain, rng)
        longest = self._find_run(clip)
        whole = longest.frames // self.setting.rate if longest else 0
        lengths = [(a, b) for b in range(2, whole + 1) for a in range(1, b) if b >= _LENGTHS * a]
        if longest is None or not lengths:
            return None
        label = clip.labels[0]
        chosen = lengths[int(rng.integers(len(lengths)))]
        frames = [seconds * self.setting.rate for seconds in chosen]
        sounds = [Event(label, replace(longest, frames=each)) for each in frames]
        return self._tell(sounds, _claims(Quantity.DURATION, label, frames), rng)

    def _draw_longer(self, rng: np.random.Generator) -> Sequence[Told] | None:
        found = self._pick_two(rng, self._cut_run)
        if found is None:
            return None
        (one, first), (other, second) = found
        longest = min(first.frames, second.frames)
        shorter = int(longest / _LENGTHS)
        pause = self._draw_pause(rng)
        scenes = [
            _join(
                Event(one, replace(first, frames=a)), Event(other, replace(second, frames=b)), pause
            )
            for a, b in ((longest, shorter), (shorter, longest))
        ]
        return self._tell(scenes, _mirror(Quantity.LONGER, one, other, rng), rng)

    def _draw_gap(self, rng: np.random.Generator) -> Sequence[Told] | None:
        found = self._pick_two(rng, partial(self._cut_loud, rng=rng))
        if found is None:
            return None
        (one, first), (other, second) = found
        gap = int(rng.choice(_GAPS_S)) * self.setting.rate
        scenes = [_join(Event(one, first), Event(other, second), each) for each in (0, gap)]
        of = Event(one), Event(other)
        claims = [Measured(Quantity.GAP, of, each) for each in (0, gap)]
        return self._tell(scenes, claims, rng)

    def _draw_onset(self, rng: np.random.Generator) -> Sequence[Told] | None:
        found = self._draw_over_bed(rng)
        if found is None:
            return None
        bed, sound = found
        rate, room = self.setting.rate, bed.heard.frames - sound.heard.frames
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

    def _draw_position(self, rng: np.random.Generator) -> Sequence[Told] | None:
        found = self._draw_over_bed(rng)
        if found is None:
            return None
        bed, sound = found
        room = bed.heard.frames - sound.heard.frames
        # Two of three, as each sentence must be false as often as it is true.
        parts = [Part(each) for each in rng.permutation(len(Part))[:2].tolist()]
        scenes = [Overlay(bed, sound, room * part // 2) for part in parts]
        return self._tell(scenes, _claims(Quantity.POSITION, sound.label, parts), rng)

    def _draw_louder(self, rng: np.random.Generator) -> Sequence[Told] | None:
        found = self._pick_two(rng, partial(self._cut_loud, rng=rng))
        if found is None:
            return None
        one, other = (Event(*each) for each in found)
        pause = self._draw_pause(rng)
        scenes = [_join(a, b, pause) for a, b in self._set_apart(one, other)]
        return self._tell(scenes, _mirror(Quantity.LOUDER, one.label, other.label, rng), rng)

    def _draw_background(self, rng: np.random.Generator) -> Sequence[Told] | None:
        found = self._pick_two(rng, self._cut_run)
        if found is None:
            return None
        frames = min(each.frames for _, each in found)
        if frames < _TOGETHER_S * self.setting.rate:
            return None
        one, other = (Event(label, replace(each, frames=frames)) for label, each in found)
        frame = int(rng.integers(background_frames(self.style)))
        return [
            Told(
                Overlay(a, b),
                say_background(front, behind, Phrase.of_label, self.style, frame),
            )
            for (a, b), front, behind in zip(
                self._set_apart(one, other),
                (one.label, other.label),
                (other.label, one.label),
                strict=True,
            )
        ]

    def _draw_louder_again(self, rng: np.random.Generator) -> Sequence[Told] | None:
        clip = pick(self._plain, rng)
        loud = Event(clip.labels[0], self._cut_loud(clip, rng))
        return self._repeat(loud, _lower(loud, self.apart_db), Quantity.AGAIN_LOUDER, rng)

    def _draw_trend(self, rng: np.random.Generator) -> Sequence[Told] | None:
        """A recording that gets louder, and the same getting quieter."""
        pair = self._pick_treated(Treatment.RISING, Treatment.FALLING, rng)
        if pair is None:
            return None
        if self._are_longer(pair, self.setting.max_frames):
            return None
        label = pair[0].labels[0]
        scenes = [Event(label, self._play_whole(clip, clip.loudness_lufs)) for clip in pair]
        return self._tell(scenes, _claims(Quantity.TREND, label, (1, -1)), rng)

    def _draw_treated(self, quantity: Quantity, rng: np.random.Generator) -> Sequence[Told] | None:
        """A recording and its treatment, one after the other in either order."""
        serving = [name for name, effects in EFFECTS.items() if effects.get(quantity)]
        treatment = serving[int(rng.integers(len(serving)))]
        pair = self._pick_treated("", treatment, rng)
        if pair is None:
            return None
        room = self.setting.max_frames
        if self._are_longer(pair, room and (room - self._most_pause) // 2):
            return None
        label, original = pair[0].labels[0], pair[0].loudness_lufs
        # What is far away stays quieter.
        is_level = quantity is not Quantity.AGAIN_FARTHER
        plain, treated = (
            Event(label, self._play_whole(clip, clip.loudness_lufs if is_level else original))
            for clip in pair
        )
        if EFFECTS[treatment][quantity] < 0:
            plain, treated = treated, plain
        return self._repeat(treated, plain, quantity, rng)

    def _repeat(
        self, more: Event, less: Event, quantity: Quantity, rng: np.random.Generator
    ) -> Sequence[Told] | None:
        """A sound twice, with more of a quantity the second time, and the first time.

        The pause between is longer than any within the sound: else a bark of the first time may be
        taken for one of the second.
        """
        inner = max(self._find_pause(more), self._find_pause(less))
        pause = max(self._draw_pause(rng), inner + to_frames(_LONGER_S, self.setting.rate))
        room = self.setting.max_frames
        if room is not None and more.heard.frames + pause + less.heard.frames > room:
            return None
        scenes = [_join(less, more, pause), _join(more, less, pause)]
        return self._tell(scenes, _claims(quantity, more.label, (1, -1)), rng)

    def _tell(
        self, scenes: Sequence[Scene], claims: Sequence[Measured], rng: np.random.Generator
    ) -> list[Told]:
        """Scenes with what is true of each, all in one sentence frame."""
        frame = int(rng.integers(measuring_frames(claims[0].quantity, self.style)))
        rate = self.setting.rate
        return [
            Told(scene, say_measure(claim, Phrase.of_label, self.style, rate, frame))
            for scene, claim in zip(scenes, claims, strict=True)
        ]

    @cached_property
    def _plain(self) -> Sequence[Clip]:
        return [clip for clip in self.clips if not clip.treatment]

    @cached_property
    def _labels(self) -> Mapping[str, Sequence[Clip]]:
        return by_label(self._plain)

    @cached_property
    def _treated(self) -> Mapping[tuple[str, str], Clip]:
        return {(clip.untreated, clip.treatment): clip for clip in self.clips}

    def _pick_treated(
        self, one: str, other: str, rng: np.random.Generator
    ) -> tuple[Clip, Clip] | None:
        recording = pick(self._plain, rng).id
        first, second = self._treated.get((recording, one)), self._treated.get((recording, other))
        return (first, second) if first and second else None

    def _pick_two(
        self, rng: np.random.Generator, cut: Callable[[Clip], Excerpt | None]
    ) -> tuple[tuple[str, Excerpt], tuple[str, Excerpt]] | None:
        """Two sounds of other labels and recordings, as `cut` leaves them."""
        first = pick(self._plain, rng)
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

    def _draw_over_bed(self, rng: np.random.Generator) -> tuple[Event, Event] | None:
        """A steady sound, and a short one that is heard over it."""
        bed = pick(self._plain, rng)
        run = self._find_run(bed)
        if run is None or run.frames < _BED_S * self.setting.rate:
            return None
        clip = pick(self._plain, rng)
        name, label = bed.labels[0], clip.labels[0]
        if bed.recording == clip.recording or are_confusable(name, label):
            return None
        longest = min(run.frames // _BED_PARTS, self._longest)
        sound = excerpt(clip, longest, self.setting, rng)
        return _lower(Event(name, run), _BED_DB), Event(label, sound)

    def _set_apart(self, one: Event, other: Event) -> list[tuple[Event, Event]]:
        """Two sounds, the first louder and then the second, by their means and by their peaks.

        None is raised: who is quieter is lowered.
        """
        first, second = (
            self.listener.hear(each).placements[0].heard.acoustics for each in (one, other)
        )
        if first is None or second is None:
            return []
        means, peaks = first.mean_dba - second.mean_dba, first.peak_dba - second.peak_dba
        apart, louder = self.apart_db + abs(means - peaks) / 2, (means + peaks) / 2
        return [
            (_lower(one, max(-change, 0)), _lower(other, max(change, 0)))
            for change in (apart - louder, -apart - louder)
        ]

    def _find_run(self, clip: Clip) -> Excerpt | None:
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

    def _cut_loud(self, clip: Clip, rng: np.random.Generator) -> Excerpt:
        return excerpt(clip, self._longest, self.setting, rng)

    def _cut_run(self, clip: Clip) -> Excerpt | None:
        run = self._find_run(clip)
        return run and replace(run, frames=min(run.frames, self._longest))

    def _find_pause(self, event: Event) -> Frames:
        """The longest pause within a sound."""
        (place,) = self.listener.hear(event).placements
        stretches = pairwise(place.heard.clear)
        return max((after.onset - before.offset for before, after in stretches), default=0)

    def _play_whole(self, clip: Clip, loudness_lufs: Decibels) -> Excerpt:
        """All of a treated clip: without its tail a hall is none."""
        return Excerpt(clip.id, 0, clip.frames, self.setting.levels.gain(loudness_lufs))

    def _draw_pause(self, rng: np.random.Generator) -> Frames:
        return to_frames(float(rng.uniform(*_PAUSE_S)), self.setting.rate)

    def _are_longer(self, clips: Sequence[Clip], most: Frames | None) -> bool:
        """Whether clips cannot be played whole: that takes twice what others may last at most."""
        longest = max(clip.frames for clip in clips)
        return longest > 2 * self._longest or (most is not None and longest > most)

    @property
    def _most_pause(self) -> Frames:
        return to_frames(_PAUSE_S[1], self.setting.rate)

    @property
    def _longest(self) -> Frames:
        return to_frames(self.max_event_s, self.setting.rate)


def _join(first: Event, second: Event, pause: Frames) -> Concat:
    return Concat(first, second, -pause)


def _lower(event: Event, by_db: Decibels) -> Event:
    heard = event.heard
    return Event(event.label, replace(heard, gain_db=round(heard.gain_db - by_db, 2)))


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
