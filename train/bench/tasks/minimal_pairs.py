"""Minimal pairs: is a true text closer to its audio than each false one that stands against it?"""

from __future__ import annotations

import numpy as np

from synth.corpus.schema import compared_with
from train.bench.embedder import Embeddings, Said
from train.bench.metrics import Metric, pair_accuracy
from train.bench.plan import TaskPlan, TaskRefusal
from train.bench.settings import BenchSettings
from train.bench.tasks.samples import Samples, similarities


def plan_negatives(samples: Samples, settings: BenchSettings) -> TaskPlan | TaskRefusal:
    """`negatives` over all pairs of a true text and a negative of it, `negatives_KIND` by edit."""
    pairs, kinds, groups = [], [], []
    for number, row in enumerate(samples.rows):
        for text in row["negatives"]:
            pairs.append((number, (compared_with(text, row), text["text"])))
            kinds.append(text["kind"].replace("-", "_"))
            groups.append(samples.groups[number])
    if not pairs:
        return TaskRefusal("no sample has a false text")

    def measure(audio: Embeddings, said: Said) -> dict[str, Metric]:
        similarity, kind, group = (
            similarities(audio, said, pairs),
            np.array(kinds),
            np.array(groups),
        )
        found = {"negatives": pair_accuracy(similarity, group, settings.seed)}
        for name in sorted(set(kinds)):
            chosen = kind == name
            found[f"negatives_{name}"] = pair_accuracy(
                similarity[chosen], group[chosen], settings.seed
            )
        return found

    without = sum(not row["negatives"] for row in samples.rows)
    return TaskPlan(
        tuple(text for _, both in pairs for text in both),
        measure,
        {"samples without a false text": without} if without else {},
    )
