"""Zero-shot classification: a class is the mean embedding of its prompts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from synth.labels.lexicon import Phrase
from train.bench.embedder import Embeddings, Said
from train.bench.metrics import (
    Metric,
    choose_one,
    class_embeddings,
    mean_average_precision,
)
from train.bench.plan import TaskPlan, TaskRefusal
from train.bench.settings import BenchSettings, fill_template
from train.bench.tasks.samples import LABELLED, Samples


def plan_samples(samples: Samples, settings: BenchSettings) -> TaskPlan | TaskRefusal:
    """Which of the split's labels a sample bears."""
    if samples.recipe not in LABELLED:
        return TaskRefusal(f"recipe {samples.recipe} labels no sounds")
    borne = [row["labels"] for row in samples.rows]
    return plan_labels(borne, samples.classes, samples.groups, settings)


def plan_labels(
    labels: Sequence[Sequence[str]],
    classes: Sequence[str],
    groups: Int[np.ndarray, " items"],
    settings: BenchSettings,
    several: bool = False,
) -> TaskPlan | TaskRefusal:
    """`zero_shot_top1` where every item bears one label, else `zero_shot_map`.

    Args:
        labels: The labels that each item bears.
        classes: All labels, each once.
        groups: Number of each item's group.
        several: Whether an item may bear several, even where none does.
    """
    if len(classes) < 2:
        return TaskRefusal("there are fewer than two classes")
    place = {label: number for number, label in enumerate(classes)}
    correct = np.zeros((len(labels), len(classes)), dtype=bool)
    for line, borne in zip(correct, labels, strict=True):
        line[[place[label] for label in borne]] = True
    said_as = prompts(classes, settings.templates)

    def measure(audio: Embeddings, said: Said) -> dict[str, Metric]:
        embedded = np.array([[said[text] for text in row] for row in said_as])
        similarity = audio @ class_embeddings(embedded).T
        if several or (correct.sum(axis=1) != 1).any():
            found = mean_average_precision(similarity, correct, groups, settings.seed)
            return {"zero_shot_map": found}
        return {"zero_shot_top1": choose_one(similarity, correct, groups, settings.seed)}

    return TaskPlan(tuple(text for row in said_as for text in row), measure)


def prompts(classes: Sequence[str], templates: Sequence[str]) -> list[list[str]]:
    """Every class in every template, one row a class."""
    names = [Phrase.of_label(label).plain for label in classes]
    return [[fill_template(template, name) for template in templates] for name in names]
