"""A part of a recording: what is heard in it, and which captions still hold.

A sound that is cut short may be missed, or not: it is heard clearly nowhere.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from synth.base.units import Frames
from synth.scene.activity import Activity, measure
from synth.scene.timeline import Placement, Timeline
from synth.truth.relations import LEAST_COMPANY, Tolerance
from synth.truth.truth import Hearing


@dataclass(frozen=True, slots=True)
class Crop:
    """What is heard of a timeline from some moment on.

    Args:
        clips: Those that nobody misses.
        hearing: Decides claims about it.
    """

    clips: tuple[str, ...]
    hearing: Hearing

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
        found = []
        for place in timeline.placements:
            part = _crop_placement(place, start, frames)
            if not part.heard.faint:
                continue
            cut = measure(part.heard.faint) < measure(place.heard.faint)
            if cut and (place.label in indivisible or _is_little(part, place, tolerance)):
                part = replace(part, activity=Activity((), part.heard.faint))
            found.append(part)
        sure = dict.fromkeys(place.excerpt.clip for place in found if place.heard.clear)
        heard = replace(timeline, placements=tuple(found), frames=frames)
        return cls(tuple(sure), Hearing(heard, tolerance))


def _crop_placement(place: Placement, start: Frames, frames: Frames) -> Placement:
    return replace(
        place,
        onset=max(place.onset - start, 0),
        offset=min(place.offset - start, frames),
        activity=place.heard.cut(start, start + frames).shift(-start),
    )


def _is_little(part: Placement, whole: Placement, tolerance: Tolerance) -> bool:
    left = measure(part.heard.clear)
    return left < tolerance.audible or left < LEAST_COMPANY * measure(whole.heard.clear)
