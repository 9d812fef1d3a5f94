"""Frames: in which short, equal stretches of a sample a sound is heard, for models that tell when.

The labels follow from the sample's activity alone. In doubt a frame is neither right nor wrong: it
counts as one of the sound where everybody hears the sound all through it, and as one without where
nobody hears anything in it that could be called by its name.
"""

from __future__ import annotations

from enum import IntEnum
from fractions import Fraction
from typing import Final

import numpy as np
from jaxtyping import Int8

from synth.base.units import Frames
from synth.labels.lexicon import are_confusable
from synth.scene.activity import unite
from synth.scene.timeline import Timeline

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
    """Length of a frame of 40 ms in samples.

    Args:
        rate: Sample rate in Hz.
    """
    return Fraction(rate, FRAMES_PER_S)


def count_frames(length: Frames, step: Fraction) -> int:
    """How many frames a sample has, the last of which may be cut short by its end.

    Args:
        length: Of the sample, in samples of audio.
        step: Of a frame, likewise.
    """
    return -int(-length // step)


def label_frames(
    label: str, heard: Timeline, length: Frames, step: Fraction
) -> Int8[np.ndarray, " frames"]:
    """How a sound is heard in each frame, as values of `Audibility`.

    Frame k lasts from k * step (included) to (k + 1) * step (excluded), or to the sample's end.

    Args:
        label: What the sound is called; it need not be in the sample.
        heard: The sounds of the sample, with their activity; no tags.
        length: Of the sample, in samples of audio. Behind the end of the timeline there is silence.
        step: Length of a frame, in samples of audio.
    """
    count = count_frames(length, step)
    found = np.full(count, Audibility.ABSENT, dtype=np.int8)
    for place in heard.placements:
        if are_confusable(place.label, label):
            for onset, offset in place.heard.faint:
                found[int(onset // step) : -int(-offset // step)] = Audibility.FAINT
    own = (place.heard.clear for place in heard.placements if place.label == label)
    for onset, offset in unite(stretch for clear in own for stretch in clear):
        stop = count if offset >= length else int(offset // step)
        found[-int(-onset // step) : stop] = Audibility.CLEAR
    return found


def find_runs(states: Int8[np.ndarray, " frames"], state: Audibility) -> list[list[int]]:
    """The runs of frames in a state: first frame, and the frame after the last."""
    inside = np.zeros(len(states) + 2, dtype=bool)
    inside[1:-1] = states == state
    runs: list[list[int]] = np.flatnonzero(inside[1:] != inside[:-1]).reshape(-1, 2).tolist()
    return runs
