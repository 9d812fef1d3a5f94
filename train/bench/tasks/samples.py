"""The samples of a split, as the tasks look at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int

from synth.scene.scene import Concat, Event, Overlay, from_text
from train.bench.embedder import Embeddings, TextEmbeddings
from train.bench.metrics import Metric, retrieval, subset_retrieval
from train.bench.metrics.measure import number_keys
from train.bench.settings import BenchSettings
from train.data.rows import ManifestRow

LABELLED: tuple[str, ...] = ("triplets", "scenes", "counts", "moments")
"""Recipes whose samples bear the labels of every sound in them; others bear a stand-in."""

SoundAndTexts: TypeAlias = tuple[int, tuple[str, ...]]


@dataclass(frozen=True)
class Samples:
    """The samples of a split.

    Args:
        rows: Their manifest rows, in the order of their sounds.
    """

    rows: Sequence[ManifestRow]
    recipe: str
    split: str

    @cached_property
    def groups(self) -> Int[np.ndarray, " samples"]:
        """Number of each sample's minimal-pair group."""
        return number_keys([row["group"] for row in self.rows])

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Every label that a sample bears, sorted."""
        return tuple(sorted({label for row in self.rows for label in row["labels"]}))

    def composition(self, number: int) -> tuple[str, tuple[str, ...]]:
        """`single`, `sequence` or `overlay` of events, with their labels; else `other`."""
        match from_text(self.rows[number]["scene"]):
            case Event(label):
                return "single", (label,)
            case Concat(Event(first), Event(second)):
                return "sequence", (first, second)
            case Overlay(Event(first), Event(second)):
                return "overlay", (first, second)
        return "other", ()


def similarities(
    audio: Embeddings, vectors: TextEmbeddings, choices: Sequence[SoundAndTexts]
) -> Float[np.ndarray, "choices texts"]:
    """Cosine of each sound to each of its texts, as many texts for every sound."""
    width = len(choices[0][1]) if choices else 0
    cosines = [[float(audio[sound] @ vectors[text]) for text in texts] for sound, texts in choices]
    return np.array(cosines, dtype=np.float64).reshape(len(choices), width)


def retrieval_both_ways(
    similarity: Float[np.ndarray, "audio texts"],
    correct: np.ndarray,
    groups: Int[np.ndarray, " audio"],
    text_groups: Int[np.ndarray, " texts"],
    settings: BenchSettings,
) -> dict[str, Metric]:
    """`audio_to_text_*` and `text_to_audio_*`, among all or within random subsets."""
    if settings.subset_size is not None:
        ways = subset_retrieval(
            similarity,
            correct,
            settings.subset_size,
            settings.subsets,
            groups,
            text_groups,
            settings.seed,
        )
    else:
        ways = {
            "audio_to_text": retrieval(similarity, correct, groups, settings.seed),
            "text_to_audio": retrieval(similarity.T, correct.T, text_groups, settings.seed),
        }
    return {f"{way}_{name}": metric for way, part in ways.items() for name, metric in part.items()}
