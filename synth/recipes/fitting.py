"""Fitting: two sounds that are heard together, of which neither can be said to come first or last.

"After someone breathes, a dog barks" is no lie where the barking goes on when the breathing is
over. Clips of similar activity are looked for first; then the longer one is heard in an excerpt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import Final

import numpy as np

from synth.base.rng import shuffle
from synth.base.units import Frames, Seconds, to_frames
from synth.recipes.base import Clip, Setting, is_proven, retake, take
from synth.recipes.composing import amplify_sound
from synth.recipes.matching import ALIKE, SHARES, Strip, draw_in_a_row, draw_together, find_outlines
from synth.scene.scene import Concat, Event, Overlay, statement
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
_MATCHED_S: Final[Seconds] = 1.0
"""Shorter sounds cannot be shortened further."""
_MATCHED_TRIES: Final = 12
_DRAWS: Final = 40
_PROVEN: Final = 4
"""So many are proven of those that are drawn of two sounds, the most alike first."""


@dataclass(frozen=True, slots=True)
class FittedPair:
    """Two sounds, and both together.

    Args:
        first: As one follows the other: as long as in the overlay, or less (`Fitting.is_matched`).
        second: The same.
        overlay: Both at once. It proves that they are together.
        crossfade: By how much they overlap where one follows the other, in either order.
        unordered: How many of the two orders it refutes.
        unlike: How far the envelopes in a row and at once are apart (`compare`), if matched.
    """

    first: Event
    second: Event
    overlay: Overlay
    crossfade: Frames
    unordered: int
    unlike: float = math.inf

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
        is_matched: Whether the two in a row are to have an envelope like that of both at once.
    """

    listener: Listener
    setting: Setting
    longest: Frames | None = None
    least_s: Seconds = 1.0
    crossfade: Frames = 0
    is_matched: bool = False

    @property
    def _least(self) -> Frames:
        return to_frames(self.least_s, self.setting.rate)

    def find(
        self,
        first: Sequence[Clip],
        second: Sequence[Clip],
        rng: np.random.Generator,
        half: int | None = None,
        taken: FittedPair | None = None,
    ) -> FittedPair | None:
        """A clip of each, drawn at random among those that fit; None where no two do.

        Args:
            half: Look among these pairs of clips only: 0 or 1, whichever sound is the first.
            taken: Not these sounds again.
        """
        drawn = self._draw_sounds(first, second, half, rng)
        sounds = list(islice(drawn, _PARTNERS))
        if self.is_matched:
            pair = self._find_matched(chain(sounds, islice(drawn, _DRAWS)), taken, rng)
            if pair is not None:
                return pair
        best: FittedPair | None = None
        for one, other in sounds:
            pair = self._fit(one, other)
            if pair is None or (taken and pair.sounds == taken.sounds):
                continue
            if best is None or pair.unordered > best.unordered:
                best = pair
            if pair.unordered == 2:
                break
        return best

    def _draw_sounds(
        self,
        first: Sequence[Clip],
        second: Sequence[Clip],
        half: int | None,
        rng: np.random.Generator,
    ) -> Iterator[tuple[Event, Event]]:
        """Sounds of two clips of different recordings, where there are such."""
        start, step = (0, 1) if half is None else (half, 2)
        one = first[0].recording
        apart = any(clip.recording != one for clip in chain(first, second))
        for _ in range(_LEADS):
            at = int(rng.integers(len(first)))
            lead = first[at]
            others = [
                clip
                for clip in second[(start + at) % step :: step]
                if not apart or clip.recording != lead.recording
            ]
            for other in shuffle(others, rng)[:_PARTNERS]:
                sounds = [take(clip, self.longest, self.setting, rng) for clip in (lead, other)]
                yield sounds[0], sounds[1]

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
        excerpt = event.played
        frames = max(extent.offset - extent.onset, min(self._least, excerpt.frames))
        # What is left of a block that is cut may be silent.
        block = BLOCK_S * self.setting.rate
        latest = int((excerpt.frames - frames) // block * block)
        start = excerpt.start + min(extent.onset, latest)
        return retake(event, start=start, frames=frames)

    def _windows(self, event: Event, length: Frames) -> Iterator[Event]:
        """Excerpts of a length, each from where a stretch of the sound begins."""
        excerpt = event.played
        (place,) = self.listener.hear(event).placements
        starts = [stretch.onset for stretch in place.heard.clear]
        spread = max(1, -(-len(starts) // _WINDOWS))
        for start in starts[::spread]:
            frames = min(length, excerpt.frames - start)
            if frames >= min(self._least, excerpt.frames):
                yield self._trim(retake(event, start=excerpt.start + start, frames=frames))

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
        return FittedPair(first, second, overlay, crossfade, unordered)

    def _find_matched(
        self,
        sounds: Iterable[tuple[Event, Event]],
        taken: FittedPair | None,
        rng: np.random.Generator,
    ) -> FittedPair | None:
        """Parts of two sounds whose envelope in a row is like that of others at once.

        What is unlike is proven last.
        """
        unlike: list[FittedPair] = []
        strips = (tuple(map(self._strip, pair)) for pair in sounds)
        least = _MATCHED_S / BLOCK_S
        lasting = (pair for pair in strips if min(strip.extent for strip in pair) >= least)
        for pair_of_strips in islice(lasting, _MATCHED_TRIES):
            for pair in self._draw_matched(pair_of_strips, rng):
                if taken and pair.sounds == taken.sounds:
                    continue
                if pair.unlike > ALIKE:
                    unlike.append(pair)
                    break
                if self._proves(pair):
                    return pair
        unlike.sort(key=lambda pair: pair.unlike)
        return next(filter(self._proves, unlike), None)

    def _proves(self, pair: FittedPair) -> bool:
        """Whether two parts are heard in either order, and others together and in none."""
        orders = [
            Concat(*sounds, pair.crossfade)
            for sounds in ((pair.first, pair.second), (pair.second, pair.first))
        ]
        if not all(is_proven(order, self.listener, self.setting) for order in orders):
            return False
        hearing = Hearing(self.listener.hear(pair.overlay), self.setting.tolerance)
        return hearing.proves(statement(pair.overlay)) and all(
            hearing.refutes(statement(order)) for order in orders
        )

    @cached_property
    def _strip(self) -> Callable[[Event], Strip]:
        return Strip.maker(self.listener)

    def _draw_matched(
        self, strips: Sequence[Strip], rng: np.random.Generator
    ) -> Iterator[FittedPair]:
        """Parts of two sounds at once, and of those in a row the most alike; unproven."""
        most = min(strip.extent for strip in strips)
        nests = draw_together(strips, most, self.setting.tolerance, rng)
        if not len(nests.lengths):
            return
        rows = draw_in_a_row(strips, nests.lengths, self.crossfade, self.setting.max_frames, rng)
        if not len(rows.lengths):
            return
        wanted = find_outlines(nests.powers, nests.lengths)[:, np.newaxis]
        apart = np.abs(find_outlines(rows.powers, rows.lengths) - wanted).sum(axis=2)
        for nest in apart.min(axis=1).argsort().tolist()[:_PROVEN]:
            row = int(apart[nest].argmin())
            yield FittedPair(
                rows.first.take(row),
                amplify_sound(rows.second.take(row), float(rows.gains_db[row])),
                Overlay(nests.first.take(nest), nests.second.take(nest), int(nests.shifts[nest])),
                int(rows.shifts[row]),
                2,
                float(apart[nest, row]),
            )

    def _find_crossfade(self, one: Event, other: Event) -> Frames | None:
        """The longest by which they can be joined in both orders, None where none is."""
        for crossfade in dict.fromkeys(self.crossfade // part for part in SHARES):
            joined = Concat(one, other, crossfade), Concat(other, one, crossfade)
            if crossfade > min(one.played.frames, other.played.frames) or self._is_long(joined[0]):
                continue
            if all(is_proven(scene, self.listener, self.setting) for scene in joined):
                return crossfade
        return None

    def _is_long(self, scene: Concat) -> bool:
        most = self.setting.max_frames
        return most is not None and duration(scene) > most
