"""A part of a recording: what is heard in it, and which captions still hold.

A sound that is cut short may be missed, or not: a caption of the part counts as true only if it is
proven whichever of those sounds are noticed, and as false only if it is refuted whichever.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from synth.base.units import Frames
from synth.scene.claim import Claim
from synth.scene.scene import Excerpt
from synth.scene.timeline import Placement, Timeline
from synth.truth.truth import LEAST_COMPANY, Tolerance, proves, refutes

_MOST_CUT: Final = 4


@dataclass(frozen=True, slots=True)
class Crop:
    """What is heard of a timeline from some moment on.

    Args:
        heard: Every sound of which anything is left, at its time in the part.
        cut: Onsets and excerpts of those that may be missed.
        tolerance: Of the whole.
    """

    heard: Timeline
    cut: tuple[tuple[Frames, Excerpt], ...]
    tolerance: Tolerance

    @classmethod
    def of(
        cls,
        timeline: Timeline,
        start: Frames,
        frames: Frames,
        tolerance: Tolerance,
        indivisible: Collection[str] = (),
    ) -> Crop:
        """The part of `frames` frames from `start` on.

        Args:
            timeline: Of the whole.
            start: First frame of the part.
            frames: Its length.
            tolerance: Of the whole.
            indivisible: Labels that tell of a whole clip, as its caption does: anything less of it
                may be something else.
        """
        placements: list[Placement] = []
        cut: dict[tuple[Frames, Excerpt], None] = {}
        for place in timeline.placements:
            part = _crop_placement(place, start, frames)
            if part.frames <= 0:
                continue
            placements.append(part)
            whole = part.frames == place.frames
            if not whole and (place.label in indivisible or _is_little(part, place, tolerance)):
                cut[part.onset, part.excerpt] = None
        return cls(Timeline(tuple(placements), frames), tuple(cut), tolerance)

    @property
    def clips(self) -> tuple[str, ...]:
        """The clips that nobody misses."""
        sure = self._drop_sounds(self.cut)
        return tuple(dict.fromkeys(place.excerpt.clip for place in sure.placements))

    def proves(self, claim: Claim) -> bool:
        """Whether the claim holds in the part, whichever of the cut sounds are heard."""
        return all(proves(timeline, claim, self.tolerance) for timeline in self._hearings())

    def refutes(self, claim: Claim) -> bool:
        """Whether the claim fails in the part, whichever of the cut sounds are heard."""
        return all(refutes(timeline, claim, self.tolerance) for timeline in self._hearings())

    @property
    def is_clear(self) -> bool:
        """Whether few enough sounds are cut that all ways to hear them can be tried."""
        return len(self.cut) <= _MOST_CUT

    def _hearings(self) -> Iterator[Timeline]:
        for count in range(len(self.cut) + 1):
            for missed in combinations(self.cut, count):
                yield self._drop_sounds(missed)

    def _drop_sounds(self, missed: Collection[tuple[Frames, Excerpt]]) -> Timeline:
        return Timeline(
            tuple(
                place
                for place in self.heard.placements
                if (place.onset, place.excerpt) not in missed
            ),
            self.heard.frames,
        )


def _crop_placement(place: Placement, start: Frames, frames: Frames) -> Placement:
    onset = max(place.onset - start, 0)
    offset = min(place.offset - start, frames)
    return Placement(place.label, onset, offset, place.excerpt)


def _is_little(part: Placement, whole: Placement, tolerance: Tolerance) -> bool:
    least = max(tolerance.audible, tolerance.transition + 1)
    return part.frames < least or part.frames < LEAST_COMPANY * whole.frames
