"""`attributes`: how long, when and how loud a sound is heard, and how otherwise than before.

The members of a group hold the same sounds and differ in one attribute: "A dog barks for about
three seconds" is true of one of them and false of the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, ClassVar, Final, Literal, TypeAlias, get_args

import numpy as np
from pydantic import Field

from synth.base.errors import LeftOutError, PlanError
from synth.base.rng import pick, shuffle
from synth.base.units import Decibels, Frames, Seconds, to_frames
from synth.captions.caption import Style
from synth.captions.measuring import Measure, can_say, claim_background, say_measures
from synth.labels.lexicon import Treatment, are_confusable
from synth.recipes.base import (
    Clip,
    Draft,
    Groups,
    Recipe,
    Setting,
    SplitCounts,
    SplitGroups,
    all_different,
    by_label,
    check_splits,
    check_unpadded,
    explain_unnamed,
    make_listener,
    require_two,
    retake,
    share_out,
    take,
    tell_room,
)
from synth.recipes.composing import amplify_sound
from synth.recipes.matching import match_samples
from synth.scene.claim import Measured, Part, Quantity
from synth.scene.edit import EditKind
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene
from synth.truth.ear import BLOCK_S
from synth.truth.listener import Listener
from synth.truth.relations import EFFECTS

_PAUSE_S: Final = (0.3, 0.8)
"""Shortest and longest pause between two sounds where it does not matter."""

_BED_S: Final[Seconds] = 2.5
"""A shorter sound has no start, middle and end to speak of."""

GAPS_S: Final = (2, 3, 4)
"""Pauses that are told."""

LENGTHS: Final = 2.5
"""Of two lengths that can be told from one another the longer is so many times the shorter."""


Attribute: TypeAlias = Literal[
    "duration", "longer", "gap", "onset", "position", "louder", "background", "again_louder",
    "trend", "again_farther", "again_roomier", "again_higher", "again_faster",
]  # fmt: skip
"""What members differ in: a `Quantity`, or which sound is in the background of the other."""


def needs_treatment(attribute: Attribute) -> bool:
    """Whether it is told of treated clips."""
    if attribute == "background":
        return False
    quantity = Quantity(attribute)
    again = quantity.is_again and quantity is not Quantity.AGAIN_LOUDER
    return again or quantity is Quantity.TREND


def measure_room(attribute: Attribute, longest_s: Seconds) -> Seconds:
    """How long a sample must be for members that differ in an attribute.

    Args:
        longest_s: No sound lasts longer; one over which others are heard is cut as needed.
    """
    match attribute:
        case "duration":
            return math.ceil(LENGTHS)
        case "onset" | "position":
            return _BED_S
        case "trend" | "background":
            return longest_s
        case "gap":
            return 2 * longest_s + max(GAPS_S)
        case _:
            return 2 * longest_s + _PAUSE_S[1]


class Attributes(Recipe):
    """Groups of two scenes that differ in one attribute.

    Args:
        pairs: Total groups, shared among the splits by their number of clips; or groups per
            split. The attributes take turns.
        attributes: Attributes to make: `duration`, `longer`, `gap`, `onset`, `position`, `louder`,
            `background` and `again_louder` of any clips; `trend`, `again_farther`, `again_roomier`,
            `again_higher` and `again_faster` of the source `treated`.
        max_event_s: Longer sounds are cut to an excerpt of this length. Recordings whose treatment
            is heard are played whole, and may be twice as long, a hall's tail and a slower tempo
            not counted.
        apart_db: Level difference of two sounds of which one is louder; larger if their peaks
            require it.
        style: Caption style. `paper` gives each sample every false sentence of its group;
            `natural` deals them, so that text alone reveals nothing.
    """

    name: ClassVar[str] = "attributes"
    pairs: SplitCounts = 1000
    attributes: Annotated[tuple[Attribute, ...], all_different("attributes")] = tuple(
        attribute for attribute in get_args(Attribute) if not needs_treatment(attribute)
    )
    max_event_s: Seconds = Field(default=3.0, ge=0.5, le=36_000)
    apart_db: Decibels = Field(default=10.0, ge=8, le=30)
    style: Style = Style.NATURAL

    def check(self, setting: Setting, splits: Collection[str]) -> None:
        """A sample must have room for its sounds, and the pause between them."""
        check_splits("recipe.attributes.pairs", self.pairs, splits)
        rooms = {name: measure_room(name, self.max_event_s) for name in self.attributes}
        attribute = max(rooms, key=rooms.__getitem__)
        if setting.max_frames is not None and setting.max_frames < rooms[attribute] * setting.rate:
            raise PlanError(
                f"samples of {setting.max_frames / setting.rate:g} s are too short for "
                f"{attribute}: it needs {rooms[attribute]:g} s",
                fix=f"{tell_room(1, rooms[attribute], 0)}, lower recipe.attributes.max_event_s, "
                f"or leave {attribute} out of recipe.attributes.attributes",
            )
        if Quantity.POSITION in self.attributes:
            check_unpadded("recipe.attributes.attributes", setting)

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """A clip must have one label, and a sound that can be heard."""
        return explain_unnamed(clip, "attributes needs", self.style, 0, setting)

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """Pairs of sounds, or one sound, of each split."""
        return AttributePairs.by_split(self, share_out(self.pairs, clips), clips, setting)


# The members of a group; whether their captions hold is proven when they are drafted.


_TRIES: Final = 60

_BED_DB: Final[Decibels] = 10.0

_BED_PARTS: Final = 5
"""No longer a part of it is the sound whose place is told."""

_PARTNERS: Final = 20

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


Members: TypeAlias = Iterator[tuple[Scene, Measure]]
"""Scenes, with what is true of each; none where the clips that were drawn do not serve."""


@dataclass(frozen=True)
class AttributePairs(SplitGroups[Attributes]):
    """Groups of two scenes that differ in one attribute."""

    def __post_init__(self) -> None:
        labels = {clip.labels[0] for clip in self.clips}
        require_two(self.split, "attributes needs", "labels", labels)
        missing = list(filter(needs_treatment, self.settings.attributes))
        if missing and not any(clip.treatment for clip in self.clips):
            raise PlanError(
                f"split {self.split}: {', '.join(missing)} need treated clips, found none",
                fix="wrap the source: `source: {treated: {of: {...}}}`",
            )

    @cached_property
    def listener(self) -> Listener:
        """Hears the clips, and how they sound."""
        return make_listener(self.clips, self.setting, acoustics=True)

    @cached_property
    def _longest(self) -> Frames:
        """Frames after which a sound is cut."""
        return to_frames(self.settings.max_event_s, self.setting.rate)

    @cached_property
    def _plain(self) -> Sequence[Clip]:
        """Clips as they were recorded."""
        return [clip for clip in self.clips if not clip.treatment]

    @cached_property
    def _by_label(self) -> Mapping[str, Sequence[Clip]]:
        return by_label(self._plain)

    @cached_property
    def _renditions(self) -> dict[Quantity, Sequence[Sequence[Clip]]]:
        return {}

    @cached_property
    def _treated(self) -> Mapping[tuple[str, str], Clip]:
        return {(clip.untreated, clip.treatment): clip for clip in self.clips}

    def group(self, index: int) -> Sequence[Draft]:
        """One attribute, told of members that differ in it."""
        rng = self.rng(index)
        turn, number = divmod(index, len(self.settings.attributes))
        attribute = self.settings.attributes[number]
        edit = EditKind.BACKGROUND if attribute == "background" else Quantity(attribute)
        style, rate = self.settings.style, self.setting.rate
        for _ in range(_TRIES):
            members = list(self._draw(attribute, turn, rng))
            if not members or not all(can_say(claim) for _, claim in members):
                continue
            scenes, claims = zip(*members, strict=True)
            captions = say_measures(claims, style, rate, rng)
            drafts = self.draft_rivals(scenes, captions, edit)
            is_moved = edit not in (Quantity.ONSET, Quantity.POSITION)
            if drafts and is_moved and style is Style.NATURAL:
                return match_samples(drafts, self.listener, self.setting, rng)
            if drafts:
                return drafts
        raise LeftOutError(
            "found no clips for which the attribute can be proven",
            example=attribute,
            fix=f"add clips to split {self.split}, or leave the attribute out",
        )

    def _draw(self, attribute: Attribute, turn: int, rng: np.random.Generator) -> Members:
        draw = self._drawers.get(attribute)
        return draw(rng) if draw else self._draw_treated(Quantity(attribute), turn, rng)

    @cached_property
    def _drawers(self) -> Mapping[str, Callable[[np.random.Generator], Members]]:
        return {
            Quantity.DURATION: self._draw_duration,
            Quantity.LONGER: self._draw_longer,
            Quantity.GAP: self._draw_gap,
            Quantity.ONSET: self._draw_onset,
            Quantity.POSITION: self._draw_position,
            Quantity.LOUDER: self._draw_louder,
            EditKind.BACKGROUND: self._draw_background,
            Quantity.AGAIN_LOUDER: self._draw_louder_again,
            Quantity.TREND: self._draw_trend,
        }

    def _draw_duration(self, rng: np.random.Generator) -> Members:
        clip = pick(self._plain, rng)
        run = self._find_run(clip)
        whole = run.played.frames // self.setting.rate if run else 0
        lengths = [(a, b) for b in range(2, whole + 1) for a in range(1, b) if b >= LENGTHS * a]
        if run is None or not lengths:
            return
        for seconds in pick(lengths, rng):
            frames = seconds * self.setting.rate
            yield retake(run, frames=frames), _claim(Quantity.DURATION, frames, run)

    def _draw_longer(self, rng: np.random.Generator) -> Members:
        pair = self._pick_two(rng, self._cut_run)
        if pair is None:
            return
        one, other = pair
        longest = min(one.played.frames, other.played.frames)
        shorter = int(longest / LENGTHS)
        pause = self._draw_pause(rng)
        more, less = _mirror(Quantity.LONGER, one, other, rng)
        for claim, one_lasts, other_lasts in ((more, longest, shorter), (less, shorter, longest)):
            scene = _join(retake(one, frames=one_lasts), retake(other, frames=other_lasts), pause)
            yield scene, claim

    def _draw_gap(self, rng: np.random.Generator) -> Members:
        pair = self._pick_two(rng, partial(self._cut_loud, rng=rng))
        if pair is None:
            return
        gap = int(rng.choice(GAPS_S)) * self.setting.rate
        for pause in (0, gap):
            yield _join(*pair, pause), _claim(Quantity.GAP, pause, *pair)

    def _draw_onset(self, rng: np.random.Generator) -> Members:
        pair = self._draw_over_bed(rng)
        if pair is None:
            return
        bed, sound = pair
        rate, room = self.setting.rate, bed.played.frames - sound.played.frames
        tenths = 10 * room // rate
        earliest = round(10 * _EARLIEST_S)
        # Whoever hears it still at the second time may say that it is heard then.
        apart = round(10 * max(_APART_S, sound.played.frames / rate + _OVER_S))
        if tenths <= earliest + apart:
            return
        first = int(rng.integers(earliest, tenths - apart))
        second = int(rng.integers(first + apart, tenths))
        for tenth in (first, second):
            onset = tenth * rate // 10
            yield Overlay(bed, sound, onset), _claim(Quantity.ONSET, onset, sound)

    def _draw_position(self, rng: np.random.Generator) -> Members:
        pair = self._draw_over_bed(rng)
        if pair is None:
            return
        bed, sound = pair
        room = bed.played.frames - sound.played.frames
        # Two of three, as each sentence must be false as often as it is true.
        for part in shuffle(list(Part), rng)[:2]:
            yield Overlay(bed, sound, room * part // 2), _claim(Quantity.POSITION, part, sound)

    def _draw_louder(self, rng: np.random.Generator) -> Members:
        pair = self._pick_two(rng, partial(self._cut_loud, rng=rng))
        if pair is None:
            return
        pause = self._draw_pause(rng)
        apart = self._set_apart(*pair, self.settings.apart_db)
        if apart:
            claims = _mirror(Quantity.LOUDER, *pair, rng)
            for sounds, claim in zip(apart, claims, strict=True):
                yield _join(*sounds, pause), claim

    def _draw_background(self, rng: np.random.Generator) -> Members:
        pair = self._pick_two(rng, self._cut_run)
        if pair is None:
            return
        frames = min(sound.played.frames for sound in pair)
        if frames < _TOGETHER_S * self.setting.rate:
            return
        one, other = (retake(sound, frames=frames) for sound in pair)
        # Else they may begin, or end, a moment apart to somebody, and neither lies in the other.
        rim = round(_RIM_S * self.setting.rate)
        inner = retake(other, start=other.played.start + rim, frames=frames - 2 * rim)
        claims = claim_background(one.label, other.label), claim_background(other.label, one.label)
        apart = self._set_apart(one, inner, *_BEHIND_DB)
        for sounds, claim in zip(apart, claims, strict=False):
            yield Overlay(*sounds, rim), claim

    def _draw_louder_again(self, rng: np.random.Generator) -> Members:
        loud = self._cut_loud(pick(self._plain, rng), rng)
        quiet = amplify_sound(loud, -self.settings.apart_db)
        return self._repeat(loud, quiet, Quantity.AGAIN_LOUDER, rng)

    def _draw_trend(self, rng: np.random.Generator) -> Members:
        """A recording that gets louder, and the same getting quieter."""
        clips = self._draw_renditions(Quantity.TREND, rng)
        for clip, direction in zip(clips, (1, -1), strict=False):
            sound = self._play_whole(clip, clip.loudness_lufs)
            yield sound, _claim(Quantity.TREND, direction, sound)

    def _draw_treated(self, quantity: Quantity, turn: int, rng: np.random.Generator) -> Members:
        """A recording and its treatment, one after the other in either order.

        Where there are two, as faster and slower, they take turns over the same recordings: that
        one is treated does not tell which.
        """
        clips = self._draw_renditions(quantity, rng)
        if not clips:
            return
        original, *renditions = clips
        treated = renditions[turn % len(renditions)]
        # What is far away stays quieter.
        is_level = quantity is not Quantity.AGAIN_FARTHER
        less, more = (
            self._play_whole(clip, (clip if is_level else original).loudness_lufs)
            for clip in (original, treated)
        )
        if EFFECTS[treated.treatment][quantity] < 0:
            less, more = more, less
        yield from self._repeat(more, less, quantity, rng)

    def _repeat(
        self, more: Event, less: Event, quantity: Quantity, rng: np.random.Generator
    ) -> Members:
        """A sound twice, with more of a quantity the second time, and the first time.

        The pause between is longer than any within the sound: else a bark of the first time may be
        taken for one of the second.
        """
        activities = [self.listener.hear(event).placements[0].heard for event in (more, less)]
        if not all(activity.clear for activity in activities):
            return
        inner = max(activity.longest_pause for activity in activities)
        least = inner + to_frames(_LONGER_S, self.setting.rate)
        pause = max(self._draw_pause(rng), least)
        room = self.setting.max_frames
        if room is not None and more.played.frames + pause + less.played.frames > room:
            return
        yield _join(less, more, pause), _claim(quantity, 1, more)
        yield _join(more, less, pause), _claim(quantity, -1, more)

    # The sounds: which clips, which parts of them, and how loud.

    def _draw_renditions(self, quantity: Quantity, rng: np.random.Generator) -> Sequence[Clip]:
        """One recording in every treatment that a quantity is told of; none where none has all."""
        every = self._renditions.get(quantity)
        if every is None:
            every = self._renditions[quantity] = self._list_renditions(quantity)
        return pick(every, rng) if every else ()

    def _list_renditions(self, quantity: Quantity) -> Sequence[Sequence[Clip]]:
        names = "", *(name for name, effects in EFFECTS.items() if effects.get(quantity))
        most = self.setting.max_frames
        if quantity is Quantity.TREND:
            names = Treatment.RISING, Treatment.FALLING
        elif most is not None:
            most = (most - to_frames(_PAUSE_S[1], self.setting.rate)) // 2
        every = []
        for recording in self._plain:
            clips = [self._treated.get((recording.id, name)) for name in names]
            is_told = can_say(Measured(quantity, (Event(recording.labels[0]),), 1))
            is_short = recording.frames <= 2 * self._longest
            fit = [clip for clip in clips if clip and (most is None or clip.frames <= most)]
            if is_told and is_short and len(fit) == len(names):
                every.append(fit)
        return every

    def _pick_two(
        self, rng: np.random.Generator, cut: Callable[[Clip], Event | None]
    ) -> tuple[Event, Event] | None:
        """Two sounds of other labels and recordings, as `cut` leaves them."""
        first = pick(self._plain, rng)
        one = cut(first)
        if one is None:
            return None
        labels = [*self._by_label]
        for label in shuffle(labels, rng)[:_PARTNERS]:
            second = pick(self._by_label[label], rng)
            if self._are_apart(first, second) and (other := cut(second)) is not None:
                return one, other
        return None

    def _are_apart(self, one: Clip, other: Clip) -> bool:
        """Whether two clips are of other recordings, and of labels that nobody confuses."""
        return one.recording != other.recording and not are_confusable(
            one.labels[0], other.labels[0]
        )

    def _draw_over_bed(self, rng: np.random.Generator) -> tuple[Event, Event] | None:
        """A steady sound, and a short one that is heard over it."""
        bed = pick(self._plain, rng)
        run = self._find_run(bed)
        if run is None or run.played.frames < _BED_S * self.setting.rate:
            return None
        clip = pick(self._plain, rng)
        if not self._are_apart(bed, clip):
            return None
        longest = min(run.played.frames // _BED_PARTS, self._longest)
        return amplify_sound(run, -_BED_DB), take(clip, longest, self.setting, rng)

    def _set_apart(
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
            self.listener.hear(sound).placements[0].heard.acoustics for sound in (one, other)
        )
        if first is None or second is None:
            return []
        least, *_, most = sorted(first.minus(second))
        if most_db is not None and least_db + most - least > most_db:
            return []
        apart, louder = least_db + (most - least) / 2, (most + least) / 2
        return [
            (amplify_sound(one, min(change, 0)), amplify_sound(other, min(-change, 0)))
            for change in (apart - louder, -apart - louder)
        ]

    def _find_run(self, clip: Clip) -> Event | None:
        """The longest part of a clip that everybody hears without a pause."""
        whole = self._play_whole(clip, clip.loudness_lufs)
        (place,) = self.listener.hear(whole).placements
        most = self.setting.max_frames or clip.frames
        if not place.heard.clear:
            return None
        longest = max(place.heard.clear, key=lambda stretch: stretch.offset - stretch.onset)
        # What is left of a block that is cut may be silent.
        block = BLOCK_S * self.setting.rate
        start = math.ceil(math.ceil(longest.onset / block) * block)
        frames = min(longest.offset - start, most)
        if frames <= 0:
            return None
        return retake(whole, start=start, frames=frames)

    def _cut_loud(self, clip: Clip, rng: np.random.Generator) -> Event:
        """A loud part of a clip, or all of a short one."""
        return take(clip, self._longest, self.setting, rng)

    def _cut_run(self, clip: Clip) -> Event | None:
        """The begin of what `_find_run` finds."""
        run = self._find_run(clip)
        return run and retake(run, frames=min(run.played.frames, self._longest))

    def _play_whole(self, clip: Clip, loudness_lufs: Decibels) -> Event:
        """All of a clip, with the gain of a loudness: without its tail a hall is none."""
        gain = self.setting.levels.gain(loudness_lufs)
        return Event(clip.labels[0], Excerpt(clip.id, 0, clip.frames, gain))

    def _draw_pause(self, rng: np.random.Generator) -> Frames:
        """The pause between two sounds where its length is not told."""
        return to_frames(float(rng.uniform(*_PAUSE_S)), self.setting.rate)


def _join(first: Event, second: Event, pause: Frames) -> Concat:
    return Concat(first, second, -pause)


def _claim(quantity: Quantity, value: int, *sounds: Event) -> Measured:
    return Measured(quantity, tuple(Event(sound.label) for sound in sounds), value)


def _mirror(
    quantity: Quantity, one: Event, other: Event, rng: np.random.Generator
) -> tuple[Measured, Measured]:
    """That one sound has more of a quantity, and that the other has.

    Half of the groups say that one is more, the others that the other is less.
    """
    if rng.integers(2):
        return _claim(quantity, 1, one, other), _claim(quantity, 1, other, one)
    return _claim(quantity, -1, other, one), _claim(quantity, -1, one, other)
