"""The sounds of the recipe `attributes`: which clips, which parts of them, and how loud."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from synth.base.rng import pick, shuffle
from synth.base.units import Decibels, Frames, Seconds, to_frames
from synth.labels.lexicon import are_confusable
from synth.recipes.base import Clip, Setting, by_label, make_listener, retake, take
from synth.recipes.composing import amplify_sound
from synth.scene.scene import Event, Excerpt
from synth.truth.ear import BLOCK_S
from synth.truth.listener import Listener

PAUSE_S: Final = (0.3, 0.8)
"""Shortest and longest pause between two sounds where it does not matter."""

BED_S: Final[Seconds] = 2.5
"""A shorter sound has no start, middle and end to speak of."""

_BED_DB: Final[Decibels] = 10.0

_BED_PARTS: Final = 5
"""No longer a part of it is the sound whose place is told."""

_PARTNERS: Final = 20


@dataclass(frozen=True)
class AttributeSounds:
    """The sounds of one split.

    Args:
        longest: Frames after which a sound is cut.
    """

    clips: Sequence[Clip]
    setting: Setting
    longest: Frames

    @cached_property
    def listener(self) -> Listener:
        """Hears the clips, and how they sound."""
        return make_listener(self.clips, self.setting, acoustics=True)

    @cached_property
    def plain(self) -> Sequence[Clip]:
        """Clips as they were recorded."""
        return [clip for clip in self.clips if not clip.treatment]

    @cached_property
    def _by_label(self) -> Mapping[str, Sequence[Clip]]:
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
        self, rng: np.random.Generator, cut: Callable[[Clip], Event | None]
    ) -> tuple[Event, Event] | None:
        """Two sounds of other labels and recordings, as `cut` leaves them."""
        first = pick(self.plain, rng)
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

    def draw_over_bed(self, rng: np.random.Generator) -> tuple[Event, Event] | None:
        """A steady sound, and a short one that is heard over it."""
        bed = pick(self.plain, rng)
        run = self.find_run(bed)
        if run is None or run.heard.frames < BED_S * self.setting.rate:
            return None
        clip = pick(self.plain, rng)
        if not self._are_apart(bed, clip):
            return None
        longest = min(run.heard.frames // _BED_PARTS, self.longest)
        return amplify_sound(run, -_BED_DB), take(clip, longest, self.setting, rng)

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
            self.listener.hear(sound).placements[0].heard.acoustics for sound in (one, other)
        )
        if first is None or second is None:
            return []
        means, peaks = first.mean_dba - second.mean_dba, first.peak_dba - second.peak_dba
        if most_db is not None and least_db + abs(means - peaks) > most_db:
            return []
        apart, louder = least_db + abs(means - peaks) / 2, (means + peaks) / 2
        return [
            (amplify_sound(one, min(change, 0)), amplify_sound(other, min(-change, 0)))
            for change in (apart - louder, -apart - louder)
        ]

    def find_run(self, clip: Clip) -> Event | None:
        """The longest part of a clip that everybody hears without a pause."""
        whole = self.play_whole(clip, clip.loudness_lufs)
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

    def cut_loud(self, clip: Clip, rng: np.random.Generator) -> Event:
        """A loud part of a clip, or all of a short one."""
        return take(clip, self.longest, self.setting, rng)

    def cut_run(self, clip: Clip) -> Event | None:
        """The begin of what `find_run` finds."""
        run = self.find_run(clip)
        return run and retake(run, frames=min(run.heard.frames, self.longest))

    def find_pause(self, event: Event) -> Frames:
        """The longest pause within a sound."""
        (place,) = self.listener.hear(event).placements
        stretches = pairwise(place.heard.clear)
        return max((after.onset - before.offset for before, after in stretches), default=0)

    def play_whole(self, clip: Clip, loudness_lufs: Decibels) -> Event:
        """All of a clip, with the gain of a loudness: without its tail a hall is none."""
        gain = self.setting.levels.gain(loudness_lufs)
        return Event(clip.labels[0], Excerpt(clip.id, 0, clip.frames, gain))

    def draw_pause(self, rng: np.random.Generator) -> Frames:
        """The pause between two sounds where its length is not told."""
        return to_frames(float(rng.uniform(*PAUSE_S)), self.setting.rate)

    def are_longer(self, clips: Sequence[Clip], most: Frames | None) -> bool:
        """Whether clips cannot be played whole: that takes twice what others may last at most."""
        longest = max(clip.frames for clip in clips)
        return longest > 2 * self.longest or (most is not None and longest > most)
