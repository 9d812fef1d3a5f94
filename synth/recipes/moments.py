"""`moments`: long scenes of many sounds, and when each of them is heard.

A group is two scenes of one length and of different sounds. Both are asked for all sounds of the
group: those of the one are absent from the other, so that no text tells whether it is there. A
sound is heard several times, alone or together with others, and only where all listeners agree
about its windows (`synth.truth.windows`). A scene is put together from parts of a few sounds that
are heard by themselves, with silence between: it may hold any number of them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
from synth.recipes.casting import (
    ANY,
    DrawnCast,
    cast_sounds,
    explain_uncast,
    refuse_few,
)
from synth.recipes.composing import Composer, make_teller
from synth.scene.edit import EditKind
from synth.scene.scene import Concat, Event, Overlay, Scene, labels
from synth.scene.timeline import Timeline, duration, make_sequence
from synth.truth.ear import BLOCK_S
from synth.truth.truth import Hearing
from synth.truth.windows import find_windows

_DRAWS: Final = 10
_TRIES: Final = 12
"""Clips and places of a part."""


class Moments(Recipe):
    """Pairs of long scenes.

    Args:
        scenes: Total samples, shared among the splits by their number of clips; or samples per
            split. Multiples of 2.
        length_s: Shortest and longest scene. Both scenes of a pair have the same length.
        sounds: Number of different sounds in a scene. Its pair has as many others.
        repeats: Most times that a sound is heard in a scene, as far as there is room.
        polyphony: Most sounds at once.
        pause_s: Shortest silence between sounds that follow one another, at least `truth.pause_s`.
        max_event_s: Longer sounds are cut to an excerpt of this length, or less where the shortest
            scene has no room for as many sounds.
    """

    name: ClassVar[str] = "moments"
    scenes: SplitCounts = 1000
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
        """Sounds and pauses must fit, and `scenes` be for the spec's splits."""
        check_splits("recipe.moments.scenes", self.scenes, splits)
        counts = self.scenes.values() if isinstance(self.scenes, dict) else [self.scenes]
        if any(count % 2 for count in counts):
            raise PlanError(
                "recipe.moments.scenes: scenes come in pairs", fix="give multiples of 2"
            )
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
                f"recipe.moments: {self.sounds} sounds in {self.length_s[0]:g} s leave no room "
                "for a sound that can be made out",
                fix="raise length_s, or lower sounds or pause_s",
            )

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """A clip must have one label, and be long enough to be made out."""
        return explain_uncast(clip, self.name, Style.NATURAL, setting)

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """Pairs of scenes."""
        pairs = (
            {split: count // 2 for split, count in self.scenes.items()}
            if isinstance(self.scenes, dict)
            else self.scenes // 2
        )
        return MomentPairs.by_split(self, share_out(pairs, clips), clips, setting)


@dataclass(frozen=True, slots=True)
class LongScene:
    """A scene with what is heard of it.

    Args:
        lead: Silence before it, in frames.
    """

    scene: Scene
    heard: Timeline
    lead: Frames


@dataclass(frozen=True)
class MomentPairs(SplitGroups[Moments]):
    """Pairs of long scenes."""

    def __post_init__(self) -> None:
        _ = self._cast

    @cached_property
    def _cast(self) -> DrawnCast:
        """The clips of labels of which one of the first clips has certain windows."""
        rng = self.rng(0, "/labels")
        longest = self.settings.longest_sound(self.setting)
        clips = by_label(self.clips)
        known = {
            label
            for label, own in clips.items()
            for sound in (take(clip, longest, self.setting, rng) for clip in own[:_TRIES])
            if self._is_certain(label, self._hear(sound))
        }
        refuse_few(self.split, "moments with certain windows", known, 2)
        return DrawnCast.of((clip for clip in self.clips if clip.labels[0] in known), {})

    @cached_property
    def _composer(self) -> Composer:
        return Composer(self.listener)

    def group(self, index: int) -> Sequence[Draft]:
        """Two scenes of one length, whose sounds nobody could confuse."""
        rng = self.rng(index)
        settings = self.settings
        shortest, longest = to_frame_range(settings.length_s, self.setting.rate)
        frames = int(rng.integers(shortest, longest + 1))
        template = make_sequence([Event(ANY)] * (2 * settings.sounds))
        for _ in range(_DRAWS):
            drawn = self._cast.fill(template, rng)
            if drawn is None:
                continue
            halves = labels(drawn)[: settings.sounds], labels(drawn)[settings.sounds :]
            scenes = []
            for own, others in (halves, halves[::-1]):
                scene = self._draw_scene(own, others, frames, rng)
                if scene is None:
                    break
                scenes.append(scene)
            else:
                return self._caption(halves, scenes, frames, rng)
        raise LeftOutError(
            f"no {2 * settings.sounds} sounds whose windows are certain",
            example=self.split,
            fix="add clips of other labels, or lower recipe.moments.sounds",
        )

    def _caption(
        self,
        halves: Sequence[Sequence[str]],
        scenes: Sequence[LongScene],
        frames: Frames,
        rng: np.random.Generator,
    ) -> list[Draft]:
        """The scenes, each with a caption of every sound of both."""
        tell = make_teller(Style.NATURAL, self.setting.rate, rng)
        captions = [[tell(Event(label)) for label in half] for half in halves]

        def choose(own: Sequence[Caption], others: Sequence[Caption]) -> CaptionSet:
            false = tuple(caption.as_false(EditKind.REPLACE) for caption in others)
            return CaptionSet(own[0], tuple(own[1:]), false)

        first, second = captions
        return [
            Draft(long.scene, captions, long.heard, lead=long.lead, frames=frames)
            for long, captions in zip(
                scenes, (choose(first, second), choose(second, first)), strict=True
            )
        ]

    def _draw_scene(
        self, own: Sequence[str], others: Sequence[str], frames: Frames, rng: np.random.Generator
    ) -> LongScene | None:
        """A scene of so many frames at most; None where the windows of a sound are uncertain."""
        parts = self._draw_parts(own, frames, rng)
        if parts is None:
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
        heard = self._hear(scene)
        hearing = Hearing(heard, self.setting.tolerance)
        if not all(self._is_certain(label, heard) for label in own):
            return None
        if not all(hearing.proves(Event(label)) for label in own):
            return None
        if not all(hearing.refutes(Event(label)) for label in others):
            return None
        return LongScene(scene, heard, self._align(lead))

    def _draw_parts(
        self, own: Sequence[str], frames: Frames, rng: np.random.Generator
    ) -> list[Scene] | None:
        """Parts in any order that have room, with each sound once at least."""
        settings = self.settings
        again = [label for label in own for _ in range(int(rng.integers(settings.repeats)))]
        parts: list[Scene] = []
        recordings: set[str] = set()
        for waiting, is_needed in ((shuffle(own, rng), True), (shuffle(again, rng), False)):
            while waiting:
                size = min(int(rng.geometric(0.5)), settings.polyphony)
                part = self._draw_part([*dict.fromkeys(waiting)][:size], recordings, rng)
                if part is None and is_needed:
                    return None
                for label in labels(part) if part else waiting[:1]:
                    waiting.remove(label)
                if part is not None and sum(map(self._room, (*parts, part))) <= frames:
                    parts.append(part)
        return shuffle(parts, rng)

    def _draw_part(
        self, named: Sequence[str], recordings: set[str], rng: np.random.Generator
    ) -> Scene | None:
        """The sounds together, or as many of them as can be made out; None where none can."""
        longest = self.settings.longest_sound(self.setting)
        for count in range(len(named), 0, -1):
            statement: Scene = Event(named[0])
            for label in named[1:count]:
                statement = Overlay(statement, Event(label))
            for _ in range(_TRIES):
                used = set(recordings)
                sounds = cast_sounds(self._cast, named[:count], longest, used, self.setting, rng)
                part = self._composer.compose(statement, sounds, rng)
                heard = self._hear(part)
                if all(self._is_certain(label, heard) for label in named[:count]):
                    recordings |= used
                    return part
        return None

    def _hear(self, scene: Scene) -> Timeline:
        return self.listener.locate(self.listener.hear(scene))

    def _is_certain(self, label: str, heard: Timeline) -> bool:
        return find_windows(label, heard, self.setting.tolerance.pause) is not None

    def _room(self, part: Scene) -> Frames:
        """Frames that a part takes, with the shortest pause before it."""
        return duration(part) + to_frames(self.settings.pause_s + BLOCK_S, self.setting.rate)

    def _align(self, frames: Frames) -> Frames:
        """The next begin of a block of the listener's: what begins there is heard as alone."""
        block = BLOCK_S * self.setting.rate
        return round(math.ceil(frames / block) * block)


def _join(placed: Sequence[tuple[Frames, Scene]]) -> Scene:
    """Parts, each with its first frame, one after the other.

    Halves are joined, so that a scene of any number of sounds is nested a few times only.
    """
    middle = len(placed) // 2
    if not middle:
        return placed[0][1]
    first, second = _join(placed[:middle]), _join(placed[middle:])
    return Concat(first, second, placed[0][0] + duration(first) - placed[middle][0])
