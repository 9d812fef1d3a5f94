"""A part of a recording: what is heard in it, and which captions still hold.

A sound that is cut short may be missed, or not: a caption of the part counts as true only if it is
proven with such sounds and without them, and as false only if it is refuted both ways.
"""

from __future__ import annotations

from dataclasses import dataclass

from synth.claim import Claim
from synth.timeline import Placement, Timeline
from synth.truth import LEAST_COMPANY, Tolerance, proves, refutes
from synth.units import Frames


@dataclass(frozen=True, slots=True)
class Crop:
    """What is heard of a timeline from `start` on.

    Args:
        all: Every sound of which anything is left.
        sure: The sounds of which enough is left that nobody misses them.
        tolerance: Of the whole.
    """

    all: Timeline
    sure: Timeline
    tolerance: Tolerance

    @classmethod
    def of(cls, timeline: Timeline, start: Frames, frames: Frames, tolerance: Tolerance) -> Crop:
        """The part of `frames` frames from `start` on; times count from its start."""
        left = [
            (place, part)
            for place in timeline.placements
            if (part := _part(place, start, frames)).frames > 0
        ]
        sure = [part for place, part in left if _is_enough(part.frames, place.frames, tolerance)]
        return cls(
            Timeline(tuple(part for _, part in left), frames),
            Timeline(tuple(sure), frames),
            tolerance,
        )

    def proves(self, claim: Claim) -> bool:
        """Whether the claim holds in the part, however the cut sounds are heard."""
        return all(proves(each, claim, self.tolerance) for each in (self.all, self.sure))

    def refutes(self, claim: Claim) -> bool:
        """Whether the claim fails in the part, however the cut sounds are heard."""
        return all(refutes(each, claim, self.tolerance) for each in (self.all, self.sure))


def _part(place: Placement, start: Frames, frames: Frames) -> Placement:
    onset = max(place.onset - start, 0)
    offset = min(place.offset - start, frames)
    return Placement(place.label, onset, offset, place.excerpt)


def _is_enough(left: Frames, whole: Frames, tolerance: Tolerance) -> bool:
    least = max(tolerance.audible, tolerance.transition + 1)
    return left >= min(least, whole) and left >= LEAST_COMPANY * whole
