"""`moments`: long scenes of many sounds, and when each of them is heard.

A group is two scenes of one length and of different sounds. Both are asked for all sounds of the
group: those of the one are absent from the other, so that no text tells whether it is there. A
sound is heard several times, alone or together with others, and only where all listeners agree
about its windows (`synth.truth.frames`). A scene is put together from parts of a few sounds that
are heard by themselves, with silence between: it may hold any number of them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import ClassVar, Final

import numpy as np
from pydantic import Field

from synth.base.errors import LeftOutError, PlanError
from synth.base.rng import shuffle
from synth.base.units import Frames, to_frames
from synth.captions.caption import Caption, Style
from synth.captions.contrast import CaptionSet
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
    by_label,
    check_splits,
    share_out,
    take,
    to_frame_range,
)
from synth.recipes.casting import ANY, DrawnCast, cast_sounds, explain_uncast, refuse_few
from synth.recipes.composing import Composer, make_teller
from synth.scene.edit import EditKind
from synth.scene.scene import Concat, Event, Overlay, Scene, labels
from synth.scene.timeline import Timeline, duration, make_sequence
from synth.truth.ear import BLOCK_S
from synth.truth.frames import find_windows
from synth.truth.truth import Hearing

_DRAWS: Final = 10
_TRIES: Final = 12
"""Clips and places of a part."""


class Moments(Recipe):
    """Pairs of long scenes.

    Args:
        pairs: Total, shared among the splits by their number of clips; or pairs per split.
        length_s: Shortest and longest scene. Both scenes of a pair have the same length.
        sounds: Number of different sounds in a scene. Its pair has as many others.
        repeats: Most times that a sound is heard in a scene, as far as there is room.
        polyphony: Most sounds at once.
        pause_s: Shortest silence between sounds that follow one another, at least `truth.pause_s`.
        max_event_s: Longer sounds are cut to an excerpt of this length, or less where the shortest
            scene has no room for as many sounds.
    """

    name: ClassVar[str] = "moments"
    pairs: SplitCounts = 500
    length_s: PauseRange = (60.0, 300.0)
    sounds: int = Field(default=4, ge=1, le=50)
    repeats: int = Field(default=4, ge=1, le=100)
    polyphony: int = Field(default=2, ge=1, le=4)
    pause_s: Length = 1.0
    max_event_s: Length = 20.0

    def longest_sound(self, setting: Setting) -> Frames:
        """Frames that a sound may last so that the shortest scene has room for each once."""
        pause = to_frames(self.pause_s + BLOCK_S, setting.rate)
        room = to_frames(self.length_s[0], setting.rate) // self.sounds - pause
        return min(room, to_frames(self.max_event_s, setting.rate))

    def check(self, setting: Setting, splits: Collection[str]) -> None:
        """Sounds and pauses must fit, and `pairs` be for the spec's splits."""
        check_splits("recipe.moments.pairs", self.pairs, splits)
        least = max(setting.ear.pause_s, setting.tolerance.pause / setting.rate)
        if self.pause_s < least:
            raise PlanError(
                f"recipe.moments.pause_s: a pause of {self.pause_s:g} s interrupts no window",
                fix=f"give at least {least:g} s, or lower truth.pause_s",
            )
        if setting.max_frames is not None:
            raise PlanError(
                "recipe.moments.length_s: scenes have a length of their own",
                fix="set `audio.length: natural`, and equal limits in length_s for one length",
            )
        if self.longest_sound(setting) < setting.audible:
            raise PlanError(
                f"recipe.moments: {self.length_s[0]:g} s leave no room for {self.sounds} sounds",
                fix="raise length_s, or lower sounds or pause_s",
            )

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """A clip must have one label, and be long enough to be made out."""
        return explain_uncast(clip, self.name, Style.NATURAL, setting)

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """Pairs of scenes."""
        return MomentPairs.by_split(self, share_out(self.pairs, clips), clips, setting)


@dataclass(frozen=True)
class MomentPairs(SplitGroups[Moments]):
    """Pairs of long scenes."""

    def __post_init__(self) -> None:
        _ = self._cast

    @cached_property
    def _cast(self) -> DrawnCast:
        """The clips of labels of which one of the first clips has certain windows."""
        rng, longest = self.rng(0, "/labels"), self.settings.longest_sound(self.setting)
        known = {
            label
            for label, clips in by_label(self.clips).items()
            for clip in clips[:_TRIES]
            if self._hear(take(clip, longest, self.setting, rng))
        }
        refuse_few(self.split, "moments with certain windows", known, 2)
        return DrawnCast.of((clip for clip in self.clips if clip.labels[0] in known), {})

    def group(self, index: int) -> Sequence[Draft]:
        """Two scenes of one length, whose sounds nobody could confuse."""
        rng, count = self.rng(index), self.settings.sounds
        shortest, longest = to_frame_range(self.settings.length_s, self.setting.rate)
        frames = int(rng.integers(shortest, longest + 1))
        tell = make_teller(Style.NATURAL, self.setting.rate, rng)
        for _ in range(_DRAWS):
            drawn = self._cast.fill(make_sequence([Event(ANY)] * (2 * count)), rng)
            if drawn is None:
                continue
            named = labels(drawn)
            captions = [tell(Event(label)) for label in named]
            halves = (named[:count], captions[:count]), (named[count:], captions[count:])
            drafts = [
                self._draft(own, true, false, frames, rng)
                for (own, true), (_, false) in (halves, halves[::-1])
            ]
            made = [draft for draft in drafts if draft is not None]
            if len(made) == len(drafts):
                return made
        raise LeftOutError(
            f"no {2 * count} sounds whose windows are certain",
            example=self.split,
            fix="add clips of other labels, or lower recipe.moments.sounds",
        )

    def _draft(
        self,
        named: Sequence[str],
        true: Sequence[Caption],
        false: Sequence[Caption],
        frames: Frames,
        rng: np.random.Generator,
    ) -> Draft | None:
        """A scene of these sounds; None where it cannot be heard for certain when they are."""
        parts = self._draw_parts(named, frames, rng)
        if not parts:
            return None
        pause = to_frames(self.settings.pause_s, self.setting.rate)
        room = frames - sum(map(self._room, parts))
        cuts = np.sort(rng.integers(0, room + 1, len(parts)))
        lead, *gaps = np.diff(cuts, prepend=0).tolist()
        placed = [(0, parts[0])]
        for part, gap in zip(parts[1:], gaps, strict=True):
            onset, before = placed[-1]
            placed.append((self._align(onset + duration(before) + pause + gap), part))
        scene = _join(placed)
        timeline = self._hear(scene)
        hearing = timeline and Hearing(timeline, self.setting.tolerance)
        if (
            not hearing
            or not all(hearing.proves(caption.claim) for caption in true)
            or not all(hearing.refutes(caption.claim) for caption in false)
        ):
            return None
        negatives = tuple(caption.as_false(EditKind.REPLACE) for caption in false)
        captions = CaptionSet(true[0], tuple(true[1:]), negatives)
        return Draft(scene, captions, timeline, lead=self._align(lead), frames=frames)

    def _draw_parts(
        self, named: Sequence[str], frames: Frames, rng: np.random.Generator
    ) -> list[Scene]:
        """Parts in any order that have room, each sound once at least; none if one is uncertain."""
        again = [name for name in named for _ in range(int(rng.integers(self.settings.repeats)))]
        parts: list[Scene] = []
        recordings: set[str] = set()
        for waiting, is_needed in ((shuffle(named, rng), True), (shuffle(again, rng), False)):
            while waiting:
                size = min(int(rng.geometric(0.5)), self.settings.polyphony)
                part = self._draw_part([*dict.fromkeys(waiting)][:size], recordings, rng)
                if part is None and is_needed:
                    return []
                for label in labels(part) if part else waiting[:1]:
                    waiting.remove(label)
                if part and sum(map(self._room, (*parts, part))) <= frames:
                    parts.append(part)
        return shuffle(parts, rng)

    def _draw_part(
        self, named: Sequence[str], recordings: set[str], rng: np.random.Generator
    ) -> Scene | None:
        """The sounds together, or as many of them as can be made out; None where none can."""
        longest = self.settings.longest_sound(self.setting)
        for count in range(len(named), 0, -1):
            sounds_of: list[Scene] = [Event(label) for label in named[:count]]
            for _ in range(_TRIES):
                used = set(recordings)
                sounds = cast_sounds(self._cast, named[:count], longest, used, self.setting, rng)
                part = Composer(self.listener).compose(reduce(Overlay, sounds_of), sounds, rng)
                if self._hear(part):
                    recordings |= used
                    return part
        return None

    def _hear(self, scene: Scene) -> Timeline | None:
        """What is heard of a scene; None where the windows of a sound are uncertain."""
        heard = self.listener.locate(self.listener.hear(scene))
        pause = self.setting.tolerance.pause
        return heard if all(find_windows(name, heard, pause) for name in heard.labels()) else None

    def _room(self, part: Scene) -> Frames:
        """Frames that a part takes, with the shortest pause before it."""
        return duration(part) + to_frames(self.settings.pause_s + BLOCK_S, self.setting.rate)

    def _align(self, frames: Frames) -> Frames:
        """The next begin of a block of the listener's: what begins there is heard as alone."""
        block = BLOCK_S * self.setting.rate
        return round(math.ceil(frames / block) * block)


def _join(placed: Sequence[tuple[Frames, Scene]]) -> Scene:
    """Parts, each with its first frame, joined by halves: so a scene is nested a few times only."""
    middle = len(placed) // 2
    if not middle:
        return placed[0][1]
    first, second = _join(placed[:middle]), _join(placed[middle:])
    return Concat(first, second, placed[0][0] + duration(first) - placed[middle][0])
