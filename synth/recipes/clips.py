"""Clips as recipes see them, and how they are grouped and drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from synth.audio.dsp import block_frames
from synth.base.units import Decibels, Frames, resampled_frames
from synth.labels.tag import Tag
from synth.labels.treatment import find_treatment, heard_tags, untreated_id
from synth.truth.envelope import Envelope, LevelTable, StoredEnvelope


@dataclass(frozen=True, slots=True)
class Clip:
    """A catalogued clip as a recipe sees it, in frames of the corpus rate.

    Args:
        id: Clip id.
        labels: Its labels.
        captions: Its captions.
        recording: The recording it comes from.
        frames: Length of its active span.
        loudness_lufs: Of the active span.
        envelope: How loud the active span is over time.
        tags: Its tags, but for that of its treatment.
        treatment: How it was treated, "" for as it was recorded.
        peak_db: Highest level of the active span at the corpus rate, in dBFS.
    """

    id: str
    labels: tuple[str, ...]
    captions: tuple[str, ...]
    recording: str
    frames: Frames
    loudness_lufs: Decibels
    envelope: Envelope | StoredEnvelope = field(compare=False)
    tags: tuple[Tag, ...] = ()
    treatment: str = ""
    peak_db: Decibels = 0.0

    @classmethod
    def of_row(cls, row: Mapping[str, Any], rate: int, levels: LevelTable, at: int) -> Clip:
        """From a row of `schema.CLIPS`, without its levels.

        Args:
            row: The row.
            rate: Corpus rate in Hz.
            levels: Holds the levels of its blocks.
            at: Its row there.
        """
        frames = resampled_frames(row["offset"] - row["onset"], row["sample_rate"], rate)
        loudness, recording = row["loudness_lufs"], row["recording"]
        return cls(
            id=row["id"],
            labels=tuple(row["labels"]),
            captions=tuple(row["captions"]),
            recording=row["id"] if recording == row["id"] else recording,  # one text, not two
            frames=frames,
            loudness_lufs=loudness,
            envelope=StoredEnvelope(levels, at, loudness, float(block_frames(rate)), frames),
            tags=heard_tags(row["tags"]),
            treatment=find_treatment(row["tags"]),
            peak_db=row["peak_db"],
        )

    @property
    def untreated(self) -> str:
        """Id of the clip as it was recorded."""
        return untreated_id(self.id) if self.treatment else self.id

    def read_envelope(self) -> Envelope:
        """The envelope itself, wherever it lies."""
        stored = self.envelope
        return stored.read() if isinstance(stored, StoredEnvelope) else stored


def share_out(total: int, clips: Mapping[str, Sequence[Clip]]) -> dict[str, int]:
    """`total` dealt to the splits by their number of clips; those that get nothing are left out."""
    sizes = np.cumsum([0, *map(len, clips.values())])
    edges = sizes * total // max(int(sizes[-1]), 1)
    counts = dict(zip(clips, np.diff(edges).tolist(), strict=True))
    return {split: count for split, count in counts.items() if count}


def by_label(clips: Iterable[Clip]) -> dict[str, list[Clip]]:
    """Clips of one label each, by it."""
    found: dict[str, list[Clip]] = {}
    for clip in clips:
        found.setdefault(clip.labels[0], []).append(clip)
    return found


def pick(clips: Sequence[Clip], rng: np.random.Generator) -> Clip:
    """One of the clips, each as likely as the others."""
    return clips[int(rng.integers(len(clips)))]
