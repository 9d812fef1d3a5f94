"""Frames: in which short, equal stretches of a sample a sound is heard, for models that tell when.

The labels follow from the sample's activity alone. In doubt a frame is neither right nor wrong: it
counts as one of the sound where everybody hears the sound all through it, and as one without where
nobody hears anything in it that could be called by its name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from fractions import Fraction
from itertools import chain
from typing import Final

import numpy as np
from jaxtyping import Int8

from synth.base.units import Frames
from synth.labels.lexicon import are_confusable
from synth.scene.activity import Activity, Stretch, Stretches, measure, unite
from synth.scene.timeline import Placement, Timeline
from synth.truth.relations import LEAST_COMPANY, Tolerance
from synth.truth.truth import Hearing

FRAMES_PER_S: Final = 25
"""Frames of 40 ms."""


class Audibility(IntEnum):
    """How a sound is heard in a frame."""

    ABSENT = 0
    """By nobody."""
    FAINT = 1
    """By some, or in a part of the frame: neither right nor wrong."""
    CLEAR = 2
    """By everybody, all through the frame."""


def frame_length(rate: int) -> Fraction:
    """Length of a frame of 40 ms in samples."""
    return Fraction(rate, FRAMES_PER_S)


def count_frames(length: Frames, step: Fraction) -> int:
    """How many frames a sample has, the last of which may be cut short by its end.

    Args:
        length: Of the sample, in samples of audio.
        step: Of a frame, likewise.
    """
    return -int(-length // step)


def label_frames(
    label: str, timeline: Timeline, length: Frames, step: Fraction
) -> Int8[np.ndarray, " frames"]:
    """How a sound is heard in each frame, as values of `Audibility`.

    Frame k lasts from k * step (included) to (k + 1) * step (excluded), or to the sample's end.

    Args:
        label: What the sound is called; it need not be in the sample.
        timeline: The sounds of the sample, with their activity; no tags.
        length: Of the sample, in samples of audio. Behind the end of the timeline there is silence.
        step: Length of a frame, in samples of audio.
    """
    samples, parts = step.as_integer_ratio()  # integers divide ten times as fast as fractions
    faint, clear = Audibility.FAINT.value, Audibility.CLEAR.value
    count = count_frames(length, step)
    states = np.zeros(count, dtype=np.int8)
    for place in timeline.placements:
        if are_confusable(place.label, label):
            for onset, offset in place.heard.faint:
                states[onset * parts // samples : -(-offset * parts // samples)] = faint
    own = chain.from_iterable(place.heard.clear for place in timeline.of_label(label))
    for onset, offset in unite(own):
        stop = count if offset >= length else offset * parts // samples
        states[-(-onset * parts // samples) : stop] = clear
    return states


def find_runs(states: Int8[np.ndarray, " frames"], state: Audibility) -> list[list[int]]:
    """The runs of frames in a state: first frame, and the frame after the last."""
    return [[*run.span()] for run in re.finditer(b"%c+" % state, states.tobytes())]


# A part of a recording: what is heard in it, and which captions still hold.
#
# A sound that is cut short may be missed, or not: it is heard clearly nowhere.


@dataclass(frozen=True, slots=True)
class Crop:
    """What is heard of a timeline from some moment on.

    Args:
        clips: Those that nobody misses.
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
            indivisible: Labels that tell of a whole clip, as its caption does: anything less of it
                may be something else.
        """
        places = []
        for place in timeline.placements:
            part = _crop_placement(place, start, frames)
            if not part.heard.faint:
                continue
            cut = measure(part.heard.faint) < measure(place.heard.faint)
            if cut and (place.label in indivisible or _is_little(part, place, tolerance)):
                part = part._replace(activity=Activity((), part.heard.faint))
            places.append(part)
        sure = dict.fromkeys(place.excerpt.clip for place in places if place.heard.clear)
        heard = replace(timeline, placements=tuple(places), frames=frames)
        return cls(tuple(sure), Hearing(heard, tolerance))


def _crop_placement(place: Placement, start: Frames, frames: Frames) -> Placement:
    return place._replace(
        onset=max(place.onset - start, 0),
        offset=min(place.offset - start, frames),
        activity=place.heard.cut(start, start + frames).shift(-start),
    )


def _is_little(part: Placement, whole: Placement, tolerance: Tolerance) -> bool:
    left = measure(part.heard.clear)
    return left < tolerance.audible or left < LEAST_COMPANY * measure(whole.heard.clear)


# Windows: when a sound is heard, where all listeners agree about it.


CERTAIN: Final = 0.9
"""Share of what anybody hears of a sound in a window that everybody must hear."""


def find_windows(label: str, timeline: Timeline, pause: Frames) -> Stretches | None:
    """When most listeners hear a sound; None where it is not heard, or some hear it otherwise.

    Everybody must hear it in the same windows, and at least `CERTAIN` of each of them. No other
    sound may be taken for it.

    Args:
        pause: Shorter pauses interrupt no window.
    """
    own = timeline.of_label(label)
    events = {place.event for place in own}  # a tag of the same sound is no other sound
    for place in timeline.placements:
        if place.event not in events and are_confusable(place.label, label):
            return None
    clear = _join((place.heard.clear for place in own), pause)
    likely = _join((place.heard.labelled for place in own), pause)
    faint = _join((place.heard.faint for place in own), pause)
    if not len(clear) == len(likely) == len(faint) > 0:
        return None
    for strict, loose in zip(clear, faint, strict=True):
        if not loose.onset <= strict.onset < strict.offset <= loose.offset:
            return None
        if strict.offset - strict.onset < CERTAIN * (loose.offset - loose.onset):
            return None
    return likely


def _join(stretches: Iterable[Stretches], pause: Frames) -> Stretches:
    """All stretches as one series, without the shorter pauses."""
    joined: list[Stretch] = []
    for stretch in unite(chain.from_iterable(stretches)):
        if joined and stretch.onset - joined[-1].offset < pause:
            stretch = Stretch(joined.pop().onset, stretch.offset)
        joined.append(stretch)
    return tuple(joined)
