"""`counts`: one short sound, heard once, twice or three times.

The members of a group repeat one sound of a recording, with pauses between, and differ only in how
often: "A dog barks twice" is true of one of them and false of the others. A sound is used only if
nobody could count it as two (`dsp.attacks`), and only labels that name one short event
(`lexicon.is_countable`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from pydantic import field_validator

from synth.base.errors import LeftOutError, PlanError
from synth.base.rng import shuffle
from synth.base.units import Decibels, Frames, to_frames
from synth.captions.caption import Style
from synth.captions.measuring import TIMES, say_measures
from synth.labels.lexicon import is_countable
from synth.recipes.base import (
    Clip,
    Draft,
    Groups,
    Length,
    PauseRange,
    Recipe,
    Setting,
    SplitCounts,
    SplitGroups,
    check_pauses,
    check_splits,
    repeat_each,
    tell_room,
    to_frame_range,
)
from synth.recipes.matching import match_samples
from synth.scene.claim import Count
from synth.scene.edit import EditKind
from synth.scene.scene import Concat, Event, Excerpt, Scene
from synth.truth.ear import Envelope

_UNCERTAIN: Final = "no sound of the clip is surely heard as often as it is played"


class Counts(Recipe):
    """Settings of the recipe.

    Args:
        repeats: Groups per clip, each with another sound of the clip or other pauses; one number
            for all splits, or a number per split.
        times: Numbers of sounds in the members of a group, 1 to 5.
        pause_s: Shortest and longest pause between sounds, in the member with the most sounds. The
            other members spread over the same time.
        max_event_s: Longer sounds are not used.
        style: `paper` gives each sample every other count as a negative; `natural` deals them, so
            that text alone reveals nothing.
    """

    name: ClassVar[str] = "counts"
    repeats: SplitCounts = 1
    times: tuple[int, ...] = (1, 2, 3)
    pause_s: PauseRange = (0.4, 1.0)
    max_event_s: Length = 1.5
    style: Style = Style.NATURAL

    @field_validator("times")
    @classmethod
    def _check_times(cls, times: tuple[int, ...]) -> tuple[int, ...]:
        if len(times) < 2 or len(set(times)) < len(times) or not 1 <= min(times) <= max(times) <= 5:
            raise ValueError("expected two or more different numbers from 1 to 5")
        return tuple(sorted(times))

    def check(self, setting: Setting, splits: Collection[str]) -> None:
        """A sound must have room as often as it is played, with pauses that everybody hears."""
        check_pauses("recipe.counts.pause_s", self.pause_s[0], setting)
        if self.longest(setting) < setting.audible:
            raise PlanError(
                f"{TIMES[max(self.times) - 1]} with pauses of {self.pause_s[0]:g} s leaves no room "
                "for a sound",
                fix=tell_room(max(self.times), self.max_event_s, self.pause_s[0])
                + ", raise recipe.counts.max_event_s, or lower times or pause_s",
            )
        check_splits("recipe.counts.repeats", self.repeats, splits)

    def longest(self, setting: Setting) -> Frames:
        """Frames that a sound may last."""
        pause = to_frames(self.pause_s[0], setting.rate)
        longest = setting.longest_of(max(self.times), pause, self.max_event_s)
        assert longest is not None
        return longest

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """A clip must have one label, of a short event, and hold a part that begins once."""
        if len(clip.labels) != 1:
            return f"has {len(clip.labels)} labels; counts needs exactly one"
        if not is_countable(clip.labels[0]):
            return "has a label that names no short event that can be counted"
        if not find_units(clip, self.longest(setting), setting):
            longest = self.longest(setting) / setting.rate
            return f"holds no single sound of at most {longest:g} s with silence around it"
        return None

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """Each clip of a split in turn, again and again with other sounds and pauses."""
        return Repetitions.by_split(self, repeat_each(self.repeats, clips), clips, setting)


@dataclass(frozen=True)
class Repetitions(SplitGroups[Counts]):
    """Groups of one sound."""

    def __len__(self) -> int:
        return self.count * len(self.clips)

    def group(self, index: int) -> Sequence[Draft]:
        """One sound of one clip, as often as each member has it."""
        style = self.settings.style
        round_, at = divmod(index, len(self.clips))
        clip = self.clips[int(self.permute("/order", round_, len(self.clips))[at])]
        rng = self.rng(index)
        units = find_units(clip, self.settings.longest(self.setting), self.setting)
        label = clip.labels[0]
        claims = [Count(Event(label), count) for count in self.settings.times]
        captions = say_measures(claims, style, self.setting.rate, rng)
        for unit in shuffle(units, rng):
            scenes = self._draw_scenes(Event(label, unit), rng)
            drafts = self.draft_rivals(scenes, captions, EditKind.COUNT)
            if drafts is not None and style is Style.NATURAL:
                return match_samples(drafts, self.listener, self.setting, rng)
            if drafts is not None:
                return drafts
        raise LeftOutError(
            _UNCERTAIN, example=clip.id, fix=f"add clips of {label!r} to split {self.split}"
        )

    def _draw_scenes(self, sound: Event, rng: np.random.Generator) -> list[Scene]:
        """The sound as often as each member has it, all but once over the same time."""
        times, frames = self.settings.times, sound.played.frames
        most = max(times)
        least, longest = to_frame_range(self.settings.pause_s, self.setting.rate)
        if self.setting.max_frames is not None:
            longest = min(longest, (self.setting.max_frames - most * frames) // (most - 1))
        span = most * frames + (most - 1) * int(rng.integers(least, longest + 1))
        pauses = [(span - count * frames) // max(count - 1, 1) for count in times]
        return [_repeat(sound, count, pause) for count, pause in zip(times, pauses, strict=True)]


def _repeat(sound: Event, count: int, pause: Frames) -> Scene:
    scene: Scene = sound
    for _ in range(count - 1):
        scene = Concat(scene, sound, -pause)
    return scene


# Units: parts of a clip that hold one short sound, with silence around it.


_FOREGROUND_DB: Decibels = 15.0
"""A unit further below the loudest block of its clip may be another sound than the label's."""


def find_units(clip: Clip, longest: Frames, setting: Setting) -> list[Excerpt]:
    """The parts of a clip that begin once, and are over, in order of time.

    Each holds one attack. At either end of it the clip ends or is not clearly heard, as the ear has
    it, so that nothing of another sound is cut off.

    Args:
        longest: Frames that a part may last.
    """
    envelope = clip.read_envelope()
    gain = setting.levels.gain(clip.loudness_lufs)
    units = []
    for first, last in _runs(envelope, setting.ear.clear_db):
        start = round(first * envelope.block)
        frames = min(round(last * envelope.block), clip.frames) - start
        if setting.audible <= frames <= longest:
            units.append(Excerpt(clip.id, start, frames, gain))
    return units


def _runs(envelope: Envelope, clear_db: Decibels) -> Iterator[tuple[int, int]]:
    """Runs of blocks, as [start, end), around single attacks."""
    levels = np.asarray(envelope.levels_db)
    attacks = np.zeros(len(levels), int)
    if envelope.attacks is not None:
        attacks = np.asarray(envelope.attacks)
    loudest = levels.max(initial=-np.inf)
    for at in np.flatnonzero(attacks):
        is_heard = levels > levels[at] - clear_db
        first, last = int(at), int(at) + 1
        while first and is_heard[first - 1]:
            first -= 1
        while last < len(levels) and is_heard[last]:
            last += 1
        nearby = attacks[max(first - 1, 0) : last + 1].sum()
        if nearby == 1 and levels[first:last].max() >= loudest - _FOREGROUND_DB:
            yield first, last
