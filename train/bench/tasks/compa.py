"""CompA-order and CompA-attribute (Ghosh et al., 2024), from the published table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from train.bench.embedder import Embeddings, Said
from train.bench.metrics import Metric, compa
from train.bench.plan import TaskPlan
from train.bench.settings import BenchSettings


@dataclass(frozen=True, slots=True)
class Instance:
    """Audios and their captions, two or three of each.

    Args:
        sounds: Number of each sound.
    """

    sounds: tuple[int, ...]
    captions: tuple[str, ...]


def plan_compa(instances: Sequence[Instance], settings: BenchSettings) -> TaskPlan:
    """`compa_pairs_*`, `compa_triplets_*` where there are any, and `compa_all_*`."""
    threefold = [number for number, each in enumerate(instances) if len(each.sounds) == 3]

    def block(each: Instance, k: int, audio: Embeddings, said: Said) -> np.ndarray:
        texts = np.stack([said[text] for text in each.captions[:k]])
        similarity: np.ndarray = audio[list(each.sounds[:k])] @ texts.T
        return similarity

    def measure(audio: Embeddings, said: Said) -> dict[str, Metric]:
        pairs = np.array([block(each, 2, audio, said) for each in instances])
        triplets = [block(instances[number], 3, audio, said) for number in threefold]
        found = compa(
            pairs,
            np.array(triplets, dtype=np.float64).reshape(-1, 3, 3),
            np.array(threefold, dtype=np.int64),
            settings.seed,
        )
        return {f"compa_{name}": metric for name, metric in found.items() if metric.n}

    return TaskPlan(tuple(text for each in instances for text in each.captions), measure)
