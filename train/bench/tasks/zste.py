"""Classes as texts: zero-shot classification, and ZSTE, zero-shot temporal evaluation.

ZSTE is of TeminAL, section IV B and appendix A 5. T1: the class of a single sound. T2: the two
classes of joined (A, B) or overlaid (C, D) sounds; both, or at least one, among the two closest
class prompts. T3: before, before in the other order, or while. T4: the same among prompts that hold
an absent class. T5: prompts unlike those of training; A, which sound is first and which second; B,
both orders of a simultaneous pair. Classes are compared by identity, and one counts as absent only
if no sound that is heard could be called by it (`lexicon.are_kin`). Only samples of one or two
sounds count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int

from synth.base.rng import Randomness
from synth.labels.lexicon import Phrase, could_be_called
from train.bench.embedder import Embeddings, Said
from train.bench.metrics import (
    Metric,
    choose_one,
    choose_two,
    class_embeddings,
    mean_average_precision,
)
from train.bench.plan import TaskPlan, TaskRefusal
from train.bench.settings import BenchSettings, fill_template
from train.bench.tasks.samples import LABELLED, Samples

RECIPE: Final = "triplets"
T1: Final = "The sound of {}"


def plan_zste(samples: Samples, settings: BenchSettings) -> TaskPlan | TaskRefusal:
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


SOUND: Final = "The sound of {a}"
BEFORE: Final = "{a} before {b}"
WHILE: Final = "{a} while {b}"
FIRST: Final = "In this concatenated sound, the first sound is {a}"
SECOND: Final = "In this concatenated sound, the second sound is {a}"
TOGETHER: Final = "Simultaneous sound of {a} and {b}"


@dataclass(frozen=True, slots=True)
class SoundPair:
    """Two sounds of different classes.

    Args:
        first: Position of the class that is heard first, or written first where both sound.
        second: Position of the other class.
        in_order: Whether one follows the other, rather than both sounding together.
    """

    number: int
    first: int
    second: int
    in_order: bool


Chosen = TypeVar("Chosen")
Prompt: TypeAlias = tuple[str, int, int]
"""A template and the positions of its classes."""


class Prompts:
    """Every different prompt, numbered, and its words."""

    def __init__(self, classes: Sequence[str]) -> None:
        self._names = [Phrase.of_label(label).plain for label in classes]
        self._numbers: dict[Prompt, int] = {}

    def number(self, template: str, a: int, b: int = -1) -> int:
        """The number of a prompt."""
        return self._numbers.setdefault((template, a, b), len(self._numbers))

    def texts(self) -> tuple[str, ...]:
        """The words of all prompts, by number."""
        return tuple(
            # A name may hold braces, which must not be filled in turn.
            template.format(a=self._names[a], b=self._names[b])
            for template, a, b in self._numbers
        )


@dataclass(frozen=True)
class PromptChoice:
    """Samples of which each chooses among its own prompts.

    Args:
        options: Numbers of the prompts of each.
        correct: Which of them are right.
    """

    heard: Sequence[SoundPair]
    options: Int[np.ndarray, "samples options"]
    correct: Bool[np.ndarray, "samples options"]

    def select(self, in_order: bool) -> PromptChoice:
        """The samples whose sounds follow one another, or those that sound together."""
        chosen = np.array([each.in_order is in_order for each in self.heard], dtype=bool)
        kept = [each for each in self.heard if each.in_order is in_order]
        return PromptChoice(kept, self.options[chosen], self.correct[chosen])


def pair_tasks(
    heard: Sequence[SoundPair],
    classes: Sequence[str],
    groups: Int[np.ndarray, " all"],
    settings: BenchSettings,
) -> TaskPlan:
    """T2 to T5 over pairs of sounds.

    Args:
        heard: The samples, at least one.
        groups: Of all samples of the split, by number.
        settings: Give the number of prompts of T4 and T5B; where the absent classes make fewer,
            there are fewer, and chance says so.
    """
    prompts = Prompts(classes)
    absent = Absent.of(classes)
    present, order = _class_question(heard, prompts, len(classes)), _order_question(heard, prompts)
    harder = _add_distractors(order, (BEFORE, WHILE), absent, prompts, settings, "t4")
    places = _place_question([each for each in heard if each.in_order], prompts)
    both = _both_orders_question([each for each in heard if not each.in_order], prompts)
    both = _add_distractors(both, (TOGETHER,), absent, prompts, settings, "t5b")
    texts = prompts.texts()

    def measure(audio: Embeddings, said: Said) -> dict[str, Metric]:
        similarity = audio @ np.stack([said[text] for text in texts]).T

        def ask_one(question: PromptChoice) -> Metric:
            return _ask(choose_one, question, similarity, groups, settings.seed)

        def ask_two(question: PromptChoice) -> dict[str, Metric]:
            return _ask(choose_two, question, similarity, groups, settings.seed)

        joined, overlaid = ask_two(present.select(True)), ask_two(present.select(False))
        first_second, simultaneous = ask_two(places), ask_two(both)
        found = {
            "zste_t2a": joined["strict"],
            "zste_t2b": joined["any"],
            "zste_t2c": overlaid["strict"],
            "zste_t2d": overlaid["any"],
            "zste_t3": ask_one(order),
            "zste_t3_before": ask_one(order.select(True)),
            "zste_t3_while": ask_one(order.select(False)),
            "zste_t4": ask_one(harder),
            "zste_t4_before": ask_one(harder.select(True)),
            "zste_t4_while": ask_one(harder.select(False)),
            "zste_t5a": first_second["strict"],
            "zste_t5a_half_credit": first_second["half_credit"],
            "zste_t5b": simultaneous["strict"],
            "zste_t5b_half_credit": simultaneous["half_credit"],
        }
        return {name: metric for name, metric in found.items() if metric.n}

    return TaskPlan(texts, measure)


def _class_question(heard: Sequence[SoundPair], prompts: Prompts, classes: int) -> PromptChoice:
    """T2: every class, the two that are heard right."""
    every = [prompts.number(SOUND, number) for number in range(classes)]
    correct = np.zeros((len(heard), classes), dtype=bool)
    for line, each in zip(correct, heard, strict=True):
        line[[each.first, each.second]] = True
    return PromptChoice(heard, np.tile(np.array(every), (len(heard), 1)), correct)


def _order_question(heard: Sequence[SoundPair], prompts: Prompts) -> PromptChoice:
    """T3: as heard, reversed, or together."""
    options = [
        [
            prompts.number(BEFORE, each.first, each.second),
            prompts.number(BEFORE, each.second, each.first),
            prompts.number(WHILE, each.first, each.second),
        ]
        for each in heard
    ]
    correct = np.array([[each.in_order, False, not each.in_order] for each in heard], dtype=bool)
    return PromptChoice(heard, np.array(options), correct)


def _place_question(heard: Sequence[SoundPair], prompts: Prompts) -> PromptChoice:
    """T5A: which sound is first and which is second."""
    options = [
        [
            prompts.number(template, sound)
            for sound in (each.first, each.second)
            for template in (FIRST, SECOND)
        ]
        for each in heard
    ]
    correct = np.tile(np.array([True, False, False, True]), (len(heard), 1))
    return PromptChoice(heard, np.array(options, dtype=np.int64).reshape(-1, 4), correct)


def _both_orders_question(heard: Sequence[SoundPair], prompts: Prompts) -> PromptChoice:
    """T5B: a simultaneous pair, named in both orders."""
    options = [
        [
            prompts.number(TOGETHER, each.first, each.second),
            prompts.number(TOGETHER, each.second, each.first),
        ]
        for each in heard
    ]
    correct = np.ones((len(heard), 2), dtype=bool)
    return PromptChoice(heard, np.array(options, dtype=np.int64).reshape(-1, 2), correct)


@dataclass(frozen=True)
class Absent:
    """Ordered pairs of classes, and which classes a sound of a class may also be called.

    Args:
        a: Position of the first class of every ordered pair.
        called: Whether a sound of the first class could be called by the second.
    """

    a: Int[np.ndarray, " pairs"]
    b: Int[np.ndarray, " pairs"]
    called: Bool[np.ndarray, "classes classes"]

    @classmethod
    def of(cls, classes: Sequence[str]) -> Absent:
        """Over some classes."""
        a, b = np.nonzero(~np.eye(len(classes), dtype=bool))
        called = [[could_be_called(one, other) for other in classes] for one in classes]
        return cls(a, b, np.array(called))

    def pairs(self, each: SoundPair) -> Int[np.ndarray, " some"]:
        """Positions of the pairs of which a class is surely absent from a sample."""
        absent = ~(self.called[each.first] | self.called[each.second])
        return np.flatnonzero(absent[self.a] | absent[self.b])


def _add_distractors(
    question: PromptChoice,
    templates: Sequence[str],
    absent: Absent,
    prompts: Prompts,
    settings: BenchSettings,
    task: str,
) -> PromptChoice:
    """The question with further prompts that hold an absent class, as many for each sample."""
    if not question.heard:
        return question
    free = [absent.pairs(each) for each in question.heard]
    few = min(len(templates) * len(pairs) for pairs in free)
    count = min(settings.prompts - question.options.shape[1], few)
    randomness = Randomness(settings.seed)
    added = []
    for each, pairs in zip(question.heard, free, strict=True):
        generator = randomness.at(f"bench/zste/{task}", each.number)
        drawn = generator.choice(len(templates) * len(pairs), count, replace=False)
        added.append(
            [
                prompts.number(templates[way], int(absent.a[pair]), int(absent.b[pair]))
                for way, pair in (
                    (number // len(pairs), pairs[number % len(pairs)]) for number in drawn.tolist()
                )
            ]
        )
    further = np.array(added, dtype=np.int64).reshape(len(added), count)
    return PromptChoice(
        question.heard,
        np.concatenate([question.options, further], axis=1),
        np.concatenate([question.correct, np.zeros(further.shape, dtype=bool)], axis=1),
    )


def _ask(
    choose: Callable[..., Chosen],
    question: PromptChoice,
    similarity: Float[np.ndarray, "all prompts"],
    groups: Int[np.ndarray, " all"],
    seed: int,
) -> Chosen:
    """What a choice among each sample's own prompts gives."""
    numbers = np.array([each.number for each in question.heard], dtype=np.int64)
    own = np.take_along_axis(similarity[numbers], question.options, axis=1)
    return choose(own, question.correct, groups[numbers], seed)


def plan_zero_shot(samples: Samples, settings: BenchSettings) -> TaskPlan | TaskRefusal:
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
