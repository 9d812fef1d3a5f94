"""`counts`: one short sound, heard once, twice or three times.

The members of a group repeat one sound of a recording, with pauses between, and differ only in how
often: "A dog barks twice" is true of one of them and false of the others. A sound is used only if
nobody could count it as two (`dsp.attacks`), and only labels that name one short event
(`lexicon.is_countable`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import ClassVar, Final

import numpy as np
from pydantic import field_validator, model_validator

from synth.base.errors import LeftOutError, PlanError, TruthError
from synth.base.units import Frames, to_frames
from synth.captions.caption import Caption, Style
from synth.captions.contrast import judge
from synth.captions.measuring import TIMES, counting_frames, say_count
from synth.labels.lexicon import Phrase, is_countable
from synth.recipes.base import (
    Clip,
    Draft,
    Groups,
    Length,
    RecipeSettings,
    Setting,
    SplitCounts,
    check_splits,
    deal_crosses,
    make_listener,
    permutation,
)
from synth.recipes.dealing import find_units
from synth.scene.edit import EditKind
from synth.scene.scene import Concat, Event, Excerpt, Scene
from synth.truth.listener import Listener
from synth.truth.relations import Tolerance

_UNCERTAIN: Final = "no sound of the clip is surely heard as often as it is played"


class Counts(RecipeSettings):
    """Settings of the recipe.

    Args:
        repeats: Groups per clip, each with another of its sounds or other pauses; one number for
            all splits, or a number per split.
        times: How often the members of a group have the sound, 1 to 5.
        pause_s: Shortest and longest pause between two of it, where it is heard most often. The
            other members spread over the same time.
        max_event_s: Longer sounds are not used.
        style: `paper` gives each sample every other count as a negative; `natural` deals them, so
            that text alone reveals nothing.
    """

    name: ClassVar[str] = "counts"
    repeats: SplitCounts = 1
    times: tuple[int, ...] = (1, 2, 3)
    pause_s: tuple[Length, Length] = (0.4, 1.0)
    max_event_s: Length = 1.5
    style: Style = Style.NATURAL

    @field_validator("times")
    @classmethod
    def _check_times(cls, times: tuple[int, ...]) -> tuple[int, ...]:
        if len(times) < 2 or len(set(times)) < len(times) or not 1 <= min(times) <= max(times) <= 5:
            raise ValueError("expected two or more different numbers from 1 to 5")
        return tuple(sorted(times))

    @model_validator(mode="after")
    def _check_pauses(self) -> Counts:
        if not 0 < self.pause_s[0] <= self.pause_s[1]:
            raise ValueError("expected the shortest pause, above 0, then the longest")
        return self

    def check(self, setting: Setting, splits: Collection[str]) -> None:
        """A sound must have room as often as it is played, with pauses that everybody hears."""
        pause = Tolerance(audible=setting.audible).pause
        if self.pauses(setting)[0] < pause:
            raise PlanError(
                f"pauses of {self.pause_s[0]:g} s may go unheard",
                fix=f"give recipe.counts.pause_s at least {pause / setting.rate:g} s",
            )
        if self.longest(setting) < setting.audible:
            raise PlanError(
                f"{TIMES[max(self.times) - 1]} with pauses of {self.pause_s[0]:g} s leaves no room "
                "for a sound",
                fix="raise audio.length or recipe.counts.max_event_s, or lower times or pause_s",
            )
        check_splits("recipe.counts.repeats", self.repeats, splits)

    def longest(self, setting: Setting) -> Frames:
        """Frames that a sound may last."""
        longest = to_frames(self.max_event_s, setting.rate)
        if setting.max_frames is None:
            return longest
        most = max(self.times)
        return min(longest, (setting.max_frames - (most - 1) * self.pauses(setting)[0]) // most)

    def pauses(self, setting: Setting) -> tuple[Frames, Frames]:
        """Shortest and longest pause in frames."""
        least, most = (to_frames(seconds, setting.rate) for seconds in self.pause_s)
        return least, most

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
        repeats = self.repeats
        if isinstance(repeats, int):
            repeats = dict.fromkeys(clips, repeats)
        for split in repeats:
            if not clips.get(split):
                raise PlanError(
                    f"split {split}: counts needs clips of short sounds, found none",
                    fix="add clips of countable sounds, such as dog, cat or car_horn, "
                    "or change the splits",
                )
        return {
            split: Repetitions(self, split, count, tuple(clips[split]), setting)
            for split, count in repeats.items()
        }


@dataclass(frozen=True)
class Repetitions:
    """The groups of one split, each computed alone."""

    settings: Counts
    split: str
    repeats: int
    clips: tuple[Clip, ...]
    setting: Setting

    def __len__(self) -> int:
        return self.repeats * len(self.clips)

    def group(self, index: int) -> Sequence[Draft]:
        """One sound of one clip, as often as each member has it."""
        randomness, times = self.setting.randomness, self.settings.times
        round_, at = divmod(index, len(self.clips))
        order = permutation(randomness, f"counts/{self.split}/order", round_, len(self.clips))
        clip = self.clips[int(order[at])]
        rng = randomness.at(f"counts/{self.split}", index)
        units = find_units(clip, self.settings.longest(self.setting), self.setting)
        style = self.settings.style
        frame = int(rng.integers(counting_frames(style)))
        label = clip.labels[0]
        said = {count: say_count(label, count, Phrase.of_label, style, frame) for count in times}
        for number in rng.permutation(len(units)):
            drafts = self._draft(label, units[number], said, rng)
            if drafts is not None:
                return self._deal(drafts, said)
        raise LeftOutError(
            _UNCERTAIN, example=clip.id, fix=f"add clips of {label!r} to split {self.split}"
        )

    @cached_property
    def _listener(self) -> Listener:
        return make_listener(self.clips, self.setting)

    def _draft(
        self, label: str, unit: Excerpt, said: Mapping[int, Caption], rng: np.random.Generator
    ) -> list[Draft] | None:
        """The members of a group; None where not every count is proven."""
        drafts = []
        tolerance = Tolerance(audible=self.setting.audible)
        for count, scene in self._scenes(Event(label, unit), rng).items():
            heard = self._listener.hear(scene)
            others = [each.of_kind(EditKind.COUNT.value) for each in said.values()]
            try:
                captions = judge(said[count], others, heard, tolerance)
            except TruthError:
                return None
            drafts.append(Draft(scene, captions, heard))
        return drafts

    def _scenes(self, sound: Event, rng: np.random.Generator) -> dict[int, Scene]:
        """The sound as often as each member has it, all but once over the same time."""
        times, frames = self.settings.times, sound.heard.frames
        most, (least, longest) = max(times), self.settings.pauses(self.setting)
        if self.setting.max_frames is not None:
            longest = min(longest, (self.setting.max_frames - most * frames) // (most - 1))
        span = most * frames + (most - 1) * int(rng.integers(least, longest + 1))
        return {
            count: _repeat(sound, count, (span - count * frames) // max(count - 1, 1))
            for count in times
        }

    def _deal(self, drafts: Sequence[Draft], said: Mapping[int, Caption]) -> list[Draft]:
        if self.settings.style is Style.PAPER:
            return list(drafts)
        pairs = combinations([caption.text for caption in said.values()], 2)
        crosses = [(EditKind.COUNT.value, *pair) for pair in pairs]
        return deal_crosses(drafts, crosses)


def _repeat(sound: Event, count: int, pause: Frames) -> Scene:
    scene: Scene = sound
    for _ in range(count - 1):
        scene = Concat(scene, sound, -pause)
    return scene
