"""Fitting: two sounds that are heard together, of which neither can be said to come first or last.

"After someone breathes, a dog barks" is no lie where the barking goes on when the breathing is
over. Clips of similar activity are looked for first; then the longer one is heard in an excerpt.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from synth.base.errors import LeftOutError
from synth.base.rng import shuffle
from synth.base.units import Decibels, Frames, Seconds, to_frames
from synth.recipes.base import Clip, Setting, is_proven, retake, take
from synth.recipes.composing import amplify_sound
from synth.recipes.evening import (
    ALIKE,
    compare,
    draw_part,
    outline,
)
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
_EVEN_S: Final[Seconds] = 1.0
"""Shorter sounds cannot be shortened further."""
_EVEN_TRIES: Final = 30
_NESTS: Final = 3
_ROWS: Final = 16
_PROVEN_ROWS: Final = 3
"""Of those that are drawn for an overlay, so many are proven, the most like it first."""
_LEAST_KEPT: Final = 0.5
"""Share of the shorter of two sounds that is heard of it, at least."""
_LARGER: Final = 0.7
"""Share of the longer of two parts in a row, at most."""
_UNEVEN: Final = 0.1
_LOUDER_DB: Final[Decibels] = 4.0
_PARTS: Final = (1, 2, 4, 1 << 40)
"""Crossfades that are tried: all, half, a quarter, none."""


@dataclass(frozen=True, slots=True)
class FittedPair:
    """Two sounds, and both together.

    Args:
        first: As one follows the other: as long as in the overlay, or less (`Fitting.is_even`).
        second: The same.
        overlay: Both at once. It proves that they are together.
        crossfade: By how much they overlap where one follows the other, in either order.
        unordered: How many of the two orders it refutes.
        unlike: How far the envelopes in a row and at once are apart (`evening.compare`).
    """

    first: Event
    second: Event
    overlay: Overlay
    crossfade: Frames
    unordered: int
    unlike: float = 0.0

    @property
    def rank(self) -> tuple[int, float]:
        """The better of two pairs has the higher one."""
        return self.unordered, -self.unlike

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
        is_even: Whether the two in a row are to have an envelope like that of both at once.
    """

    listener: Listener
    setting: Setting
    longest: Frames | None = None
    least_s: Seconds = 1.0
    crossfade: Frames = 0
    is_even: bool = False

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
                sounds = self._take(lead, rng), self._take(other, rng)
                pair = self._fit_evenly(*sounds, rng) if self.is_even else None
                if pair is None and tried <= _PARTNERS:
                    pair = self._fit(*sounds)
                if pair is None or (taken and pair.sounds == taken.sounds):
                    continue
                if pair.unordered == 2 and pair.unlike <= ALIKE:
                    return pair
                if best is None or pair.rank > best.rank:
                    best = pair
            if best is not None and tried >= (_EVEN_TRIES if self.is_even else _PARTNERS):
                break
        return best

    def _take(self, clip: Clip, rng: np.random.Generator) -> Event:
        return take(clip, self.longest, self.setting, rng)

    def _fit(self, one: Event, other: Event) -> FittedPair | None:
        """The whole sounds where they fit, else the excerpts that do, else the better of both."""
        best = None
        for first, second in self._excerpts(one, other):
            overlay = self._lay(first, second)
            pair = overlay and self._follow(first, second, overlay)
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

    def _lay(self, one: Event, other: Event) -> Overlay | None:
        """The two together, from where both are heard; None where that cannot be proven."""
        first, second = (self.listener.extent(event) for event in (one, other))
        overlay = Overlay(one, other, first.onset - second.onset)
        return overlay if is_proven(overlay, self.listener, self.setting) else None

    def _follow(self, first: Event, second: Event, overlay: Overlay) -> FittedPair | None:
        """An overlay, and sounds that follow one another; None where these cannot be joined."""
        crossfade = self._find_crossfade(first, second)
        if crossfade is None:
            return None
        a, b = Event(first.label), Event(second.label)
        hearing = Hearing(self.listener.hear(overlay), self.setting.tolerance)
        unordered = sum(hearing.refutes(claim) for claim in (Concat(a, b), Concat(b, a)))
        unlike = 0.0
        if self.is_even:
            row = Concat(first, second, crossfade)
            unlike = compare(outline(row, self.listener), outline(overlay, self.listener))
        return FittedPair(first, second, overlay, crossfade, unordered, unlike)

    def _fit_evenly(self, one: Event, other: Event, rng: np.random.Generator) -> FittedPair | None:
        """Parts of both whose envelope in a row is like that of others at once."""
        extents = [self.listener.extent(event) for event in (one, other)]
        most = min(extent.offset - extent.onset for extent in extents)
        if most < _EVEN_S * self.setting.rate:
            return None
        pairs = []
        for _ in range(_NESTS):
            overlay = self._nest(one, other, most * float(rng.uniform(_LEAST_KEPT, 1)), rng)
            if overlay is None:
                continue
            wanted = outline(overlay, self.listener)
            rows = [self._draw_row(one, other, duration(overlay), rng) for _ in range(_ROWS)]
            whole = [
                Concat(*row, min(self.crossfade, *(event.heard.frames for event in row)))
                for row in rows
                if row is not None
            ]
            whole.sort(key=lambda row: compare(outline(row, self.listener), wanted))
            for row in whole[:_PROVEN_ROWS]:
                assert isinstance(row.first, Event)
                assert isinstance(row.second, Event)
                pair = self._follow(row.first, row.second, overlay)
                if pair and pair.unlike <= ALIKE:
                    return pair
                if pair:
                    pairs.append(pair)
        return min(pairs, key=lambda pair: pair.unlike, default=None)

    def _nest(
        self, one: Event, other: Event, length: float, rng: np.random.Generator
    ) -> Overlay | None:
        """Parts of two sounds at once, one just within the other, so that neither comes first."""
        within = length - 2 * BLOCK_S * self.setting.rate
        for outer, inner in shuffle([(one, other), (other, one)], rng):
            wide, narrow = (
                draw_part(event, frames, self.listener, rng, from_onset=True)
                for event, frames in ((outer, length), (inner, within))
            )
            if wide is None or narrow is None:
                continue
            (first,), (second,) = (self.listener.hear(event).placements for event in (wide, narrow))
            if not (first.heard.clear and second.heard.clear):
                continue
            offset = first.heard.clear[0].onset - second.heard.faint[0].onset
            overlay = Overlay(wide, narrow, offset)
            if outer is other:
                overlay = Overlay(narrow, wide, -offset)
            a, b = Event(one.label), Event(other.label)
            hearing = Hearing(self.listener.hear(overlay), self.setting.tolerance)
            if hearing.proves(Overlay(a, b)) and all(
                hearing.refutes(order) for order in (Concat(a, b), Concat(b, a))
            ):
                return overlay
        return None

    def _draw_row(
        self, one: Event, other: Event, length: Frames, rng: np.random.Generator
    ) -> tuple[Event, Event] | None:
        """Parts of two sounds that last about so long in a row."""
        share = float(rng.uniform(1 - _LARGER, _LARGER))
        whole = length * math.exp(float(rng.normal(0, _UNEVEN)))
        first, second = (
            draw_part(event, part + self.crossfade / 2, self.listener, rng)
            for event, part in ((one, share * whole), (other, (1 - share) * whole))
        )
        if first is None or second is None:
            return None
        return first, amplify_sound(second, float(rng.uniform(-_LOUDER_DB, _LOUDER_DB)))

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
