"""When the sounds of a batch are heard, token by token, for the frame-wise loss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import torch
from jaxtyping import Int8
from torch import Tensor

from synth.base.units import Frames
from synth.corpus.schema import read_timeline
from synth.labels.lexicon import Phrase
from synth.scene.timeline import Timeline
from synth.truth.frames import Audibility, count_frames, label_frames
from train.data.rows import Row
from train.data.split import SplitData


def text_of(label: str) -> str:
    """What training and tests of frames call a sound, as dense captions do: "a dog barks"."""
    return Phrase.of_label(label).clause


def sounds_of(data: SplitData, rows: Sequence[Row]) -> tuple[str, ...]:
    """The labels of the sounds in rows whose sounds are all labelled, sorted."""
    labels = {label for row in rows if data.is_labelled[row.position] for label in row["labels"]}
    return tuple(sorted(labels))


def token_states(
    data: SplitData, rows: Sequence[Row], labels: Sequence[str], token: Frames
) -> Int8[Tensor, "rows labels tokens"]:
    """How each row hears each sound in each token, as values of `Audibility`.

    Nothing is judged (`FAINT`) behind a row's end, and in rows whose sounds are not all labelled.
    A sound that could be called by another's name is not judged where that one may be heard.
    """
    step = Fraction(token)
    parts = [row.crop or (0, row["frames"]) for row in rows]
    width = max((count_frames(length, step) for _, length in parts), default=0)
    states = np.full((len(rows), len(labels), width), Audibility.FAINT, dtype=np.int8)
    for line, row, (start, length) in zip(states, rows, parts, strict=True):
        if data.is_labelled[row.position]:
            timeline = _cut(read_timeline(row), start, length)
            for tokens, label in zip(line, labels, strict=True):
                tokens[: count_frames(length, step)] = label_frames(label, timeline, length, step)
    return torch.from_numpy(states)


def _cut(timeline: Timeline, start: Frames, length: Frames) -> Timeline:
    """What is heard of a part; placements stay where they were, as only activity is looked at."""
    places = (
        place._replace(activity=place.heard.cut(start, start + length).shift(-start))
        for place in timeline.placements
    )
    return replace(timeline, placements=tuple(places))


def frame_words(labels: Iterable[str]) -> frozenset[str]:
    """Every word, as spaces part them, that frame-wise training says of sounds."""
    return frozenset(word for label in labels for word in text_of(label).split(" "))
