"""Fitting: two sounds that are heard together, of which neither can be said to come first or last.

"After someone breathes, a dog barks" is no lie where the barking goes on when the breathing is
over. Clips of similar activity are looked for first; then the longer one is heard in an excerpt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from synth.base.errors import LeftOutError
from synth.base.rng import shuffle
from synth.base.units import Frames, Seconds, to_frames
from synth.recipes.base import Clip, Setting, is_proven, retake, take
from synth.scene.scene import Concat, Event, Overlay
from synth.scene.timeline import duration
from synth.truth.ear import BLOCK_S
from synth.truth.listener import Listener
from synth.truth.truth import Hearing

DO_NOT_FIT: Final = (
    "no two clips are heard both one after the other and at once, by the thresholds of `truth`"
)
_LEADS: Final = 20
_PARTNERS: Final = 6
_WINDOWS: Final = 8
_PARTS: Final = (1, 2, 4, 1 << 40)
"""Crossfades that are tried: all, half, a quarter, none."""


@dataclass(frozen=True, slots=True)
class FittedPair:
    """Two sounds, and both together.

    Args:
        overlay: Both at once. It proves that they are together.
        crossfade: By how much they overlap where one follows the other, in either order.
        unordered: How many of the two orders it refutes.
    """

    first: Event
    second: Event
    overlay: Overlay
    crossfade: Frames
    unordered: int

    @property
    def sounds(self) -> frozenset[Event]:
        """Both: equal ones render the same samples."""
        return frozenset((self.first, self.second))


@dataclass(frozen=True)
class Fitting:
    """Finds pairs.

    Args:
        longest: Frames that a sound may last, None for any.
        least_s: No sound is cut to less.
        crossfade: Overlap in frames of the two where they follow one another; shorter where it
            would cover more than half of what is heard of one.
    """

    listener: Listener
    setting: Setting
    longest: Frames | None = None
    least_s: Seconds = 1.0
    crossfade: Frames = 0

    @property
    def _least(self) -> Frames:
        return to_frames(self.least_s, self.setting.rate)

    def draw(
        self, first: Sequence[Clip], second: Sequence[Clip], rng: np.random.Generator
    ) -> FittedPair:
        """A clip of each, drawn at random among those that fit."""
        pair = self.find(first, second, rng)
        if pair is not None:
            return pair
        fix = "add clips of these labels"
        if self.longest is not None:
            fix += ", or allow longer sounds (max_event_s, audio.length)"
        example = " and ".join(sorted((first[0].labels[0], second[0].labels[0])))
        raise LeftOutError(DO_NOT_FIT, example=example, fix=fix)

    def find(
        self,
        first: Sequence[Clip],
        second: Sequence[Clip],
        rng: np.random.Generator,
        half: int | None = None,
        taken: FittedPair | None = None,
    ) -> FittedPair | None:
        """The same; None where no two of them fit.

        Args:
            half: Look among these pairs of clips only: 0 or 1, whichever sound is the first.
            taken: Not these sounds again.
        """
        start, step = (0, 1) if half is None else (half, 2)
        one = first[0].recording
        apart = any(clip.recording != one for clip in chain(first, second))
        best: FittedPair | None = None
        tried = 0
        for _ in range(_LEADS):
            at = int(rng.integers(len(first)))
            lead = first[at]
            others = [
                clip
                for clip in second[(start + at) % step :: step]
                if not apart or clip.recording != lead.recording
            ]
            for other in shuffle(others, rng)[:_PARTNERS]:
                tried += 1
                pair = self._fit(self._take(lead, rng), self._take(other, rng))
                if pair is None or (taken and pair.sounds == taken.sounds):
                    continue
                if pair.unordered == 2:
                    return pair
                if best is None or pair.unordered > best.unordered:
                    best = pair
            if best is not None and tried >= _PARTNERS:
                break
        return best

    def _take(self, clip: Clip, rng: np.random.Generator) -> Event:
        return take(clip, self.longest, self.setting, rng)

    def _fit(self, one: Event, other: Event) -> FittedPair | None:
        """The whole sounds where they fit, else the excerpts that do, else the better of both."""
        best = None
        for first, second in self._excerpts(one, other):
            pair = self._lay(first, second)
            if pair and (best is None or pair.unordered > best.unordered):
                best = pair
            if pair and pair.unordered == 2:
                break
        return best

    def _excerpts(self, one: Event, other: Event) -> Iterator[tuple[Event, Event]]:
        yield one, other
        first, second = (self.listener.extent(event) for event in (one, other))
        shorter = min(first.offset - first.onset, second.offset - second.onset)
        length = max(shorter, self._least)
        for event, cut_other in ((one, other), (other, one)):
            kept = self._trim(event)
            for window in self._windows(cut_other, length):
                yield (kept, window) if event is one else (window, kept)

    def _trim(self, event: Event) -> Event:
        """What is heard of an event, without what is faint before and behind if that may go."""
        extent = self.listener.extent(event)
        heard = event.heard
        frames = max(extent.offset - extent.onset, min(self._least, heard.frames))
        # What is left of a block that is cut may be silent.
        block = BLOCK_S * self.setting.rate
        latest = int((heard.frames - frames) // block * block)
        start = heard.start + min(extent.onset, latest)
        return retake(event, start=start, frames=frames)

    def _windows(self, event: Event, length: Frames) -> Iterator[Event]:
        """Excerpts of a length, each from where a stretch of the sound begins."""
        heard = event.heard
        (place,) = self.listener.hear(event).placements
        starts = [stretch.onset for stretch in place.heard.clear]
        spread = max(1, -(-len(starts) // _WINDOWS))
        for start in starts[::spread]:
            frames = min(length, heard.frames - start)
            if frames >= min(self._least, heard.frames):
                yield self._trim(retake(event, start=heard.start + start, frames=frames))

    def _lay(self, one: Event, other: Event) -> FittedPair | None:
        """The two together, from where both are heard; None where that cannot be proven."""
        first, second = (self.listener.extent(event) for event in (one, other))
        overlay = Overlay(one, other, first.onset - second.onset)
        hearing = Hearing(self.listener.hear(overlay), self.setting.tolerance)
        a, b = Event(one.label), Event(other.label)
        if not hearing.proves(Overlay(a, b)):
            return None
        crossfade = self._find_crossfade(one, other)
        if crossfade is None:
            return None
        unordered = sum(hearing.refutes(claim) for claim in (Concat(a, b), Concat(b, a)))
        return FittedPair(one, other, overlay, crossfade, unordered)

    def _find_crossfade(self, one: Event, other: Event) -> Frames | None:
        """The longest by which they can be joined in both orders, None where none is."""
        for crossfade in dict.fromkeys(self.crossfade // part for part in _PARTS):
            joined = Concat(one, other, crossfade), Concat(other, one, crossfade)
            if crossfade > min(one.heard.frames, other.heard.frames) or self._is_long(joined[0]):
                continue
            if all(is_proven(scene, self.listener, self.setting) for scene in joined):
                return crossfade
        return None

    def _is_long(self, scene: Concat) -> bool:
        most = self.setting.max_frames
        return most is not None and duration(scene) > most
