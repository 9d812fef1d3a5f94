"""ZSTE: zero-shot temporal evaluation (TeminAL, section IV B and appendix A 5).

T1: the class of a single sound. T2: the two classes of joined (A, B) or overlaid (C, D) sounds;
both, or at least one, among the two closest class prompts. T3: before, before in the other order,
or while. T4: the same among prompts that hold an absent class. T5: prompts unlike those of
training; A, which sound is first and which second; B, both orders of a simultaneous pair. Classes
are compared by identity, and one counts as absent only if no sound that is heard could be called
by it (`lexicon.are_kin`). Only samples of one or two sounds count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Int

from train.bench.embedder import Embeddings, Said
from train.bench.metrics import Metric, choose_one
from train.bench.plan import TaskPlan, TaskRefusal
from train.bench.settings import BenchSettings
from train.bench.tasks.samples import Samples
from train.bench.tasks.zero_shot import prompts
from train.bench.tasks.zste_pairs import SoundPair, pair_tasks

RECIPE: Final = "triplets"
T1: Final = "The sound of {}"


def plan_samples(samples: Samples, settings: BenchSettings) -> TaskPlan | TaskRefusal:
    """T1 to T5B on a `triplets` corpus or its stage A, whichever its samples allow."""
    if samples.recipe != RECIPE:
        return TaskRefusal(f"recipe {samples.recipe} makes no single sounds and pairs of classes")
    if len(samples.classes) < 2:
        return TaskRefusal("there are fewer than two classes")
    single: list[tuple[int, str]] = []
    heard: list[SoundPair] = []
    other = 0
    for number in range(len(samples.rows)):
        kind, labels = samples.composition(number)
        if kind == "single":
            single.append((number, labels[0]))
        elif len(labels) == 2 and labels[0] != labels[1]:
            first, second = (samples.classes.index(label) for label in labels)
            heard.append(SoundPair(number, first, second, kind == "sequence"))
        else:
            other += 1
    plans = [plan_singles(single, samples.classes, samples.groups, settings)] if single else []
    if heard:
        plans.append(pair_tasks(heard, samples.classes, samples.groups, settings))
    if not plans:
        return TaskRefusal("no sample is of one sound or of two different ones")
    return _merge_plans(plans, {"samples of other than one or two sounds": other} if other else {})


def plan_singles(
    single: Sequence[tuple[int, str]],
    classes: Sequence[str],
    groups: Int[np.ndarray, " all"],
    settings: BenchSettings,
) -> TaskPlan:
    """T1 for single sounds: `zste_t1`, chance one over the number of classes.

    Args:
        single: Number of each single sound, and its class.
        classes: All classes, each once.
        groups: Of all sounds, by number.
    """
    texts = [row[0] for row in prompts(classes, (T1,))]
    numbers = [number for number, _ in single]
    correct = np.array([[label == other for other in classes] for _, label in single])

    def measure(audio: Embeddings, said: Said) -> dict[str, Metric]:
        similarity = audio[numbers] @ np.stack([said[text] for text in texts]).T
        return {"zste_t1": choose_one(similarity, correct, groups[numbers], settings.seed)}

    return TaskPlan(tuple(texts), measure)


def _merge_plans(plans: list[TaskPlan], left_out: dict[str, int]) -> TaskPlan:
    def measure(audio: Embeddings, said: Said) -> dict[str, Metric]:
        return {
            name: metric for plan in plans for name, metric in plan.measure(audio, said).items()
        }

    texts = tuple(text for plan in plans for text in plan.texts)
    for plan in plans:
        left_out = left_out | dict(plan.left_out)
    return TaskPlan(texts, measure, left_out)
