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
from typing import Final, TypeAlias

import numpy as np
from jaxtyping import Bool, Int

from synth.base.errors import SpecError
from synth.base.rng import Randomness
from synth.labels.lexicon import Phrase, could_be_called
from train.bench.embedder import Embeddings, TextEmbeddings
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
_ONE: Final = "share"
"""The score of a question that is right or wrong as a whole."""
T1: Final = "The sound of {}"


def plan_zste(samples: Samples, settings: BenchSettings) -> TaskPlan | TaskRefusal:
    """T1 to T5B on a `triplets` corpus or its stage A, whichever its samples allow."""
    if samples.recipe != RECIPE:
        return TaskRefusal(f"recipe {samples.recipe} makes no single sounds and pairs of classes")
    if len(samples.classes) < 2:
        return TaskRefusal("there are fewer than two classes")
    single: list[tuple[int, str]] = []
    pairs: list[SoundPair] = []
    other = 0
    for number in range(len(samples.rows)):
        kind, labels = samples.composition(number)
        if kind == "single":
            single.append((number, labels[0]))
        elif len(labels) == 2 and labels[0] != labels[1]:
            first, second = (samples.classes.index(label) for label in labels)
            pairs.append(SoundPair(number, first, second, kind == "sequence"))
        else:
            other += 1
    plans = [plan_singles(single, samples.classes, samples.groups, settings)] if single else []
    if pairs:
        plans.append(pair_tasks(pairs, samples.classes, samples.groups, settings))
    if not plans:
        return TaskRefusal("no sample is of one sound or of two different ones")

    def measure(audio: Embeddings, vectors: TextEmbeddings) -> dict[str, Metric]:
        return {
            name: metric for plan in plans for name, metric in plan.measure(audio, vectors).items()
        }

    texts = tuple(text for plan in plans for text in plan.texts)
    return TaskPlan(texts, measure, {"samples of other than one or two sounds": other})


def plan_singles(
    single: Sequence[tuple[int, str]],
    classes: Sequence[str],
    groups: Int[np.ndarray, " all"],
    settings: BenchSettings,
) -> TaskPlan:
    """T1 for single sounds: `zste_t1`, chance one over the number of classes."""
    texts = [row[0] for row in prompts(classes, (T1,))]
    numbers = [number for number, _ in single]
    correct = np.array([[label == other for other in classes] for _, label in single])

    def measure(audio: Embeddings, vectors: TextEmbeddings) -> dict[str, Metric]:
        similarity = audio[numbers] @ np.stack([vectors[text] for text in texts]).T
        return {"zste_t1": choose_one(similarity, correct, groups[numbers], settings.seed)}

    return TaskPlan(tuple(texts), measure)


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


Prompt: TypeAlias = tuple[str, int, int]
"""A template and the positions of its classes, -1 for none."""
Options: TypeAlias = list[tuple[Prompt, bool]]
"""The prompts that a sample chooses among, and which are right."""
OptionsOf: TypeAlias = Callable[[SoundPair], Options]


class Prompts:
    """Every different prompt, numbered, and its words."""

    def __init__(self, classes: Sequence[str]) -> None:
        self._names = [Phrase.of_label(label).plain for label in classes]
        self._numbers: dict[Prompt, int] = {}

    def number(self, template: str, a: int, b: int) -> int:
        """The number of a prompt."""
        return self._numbers.setdefault((template, a, b), len(self._numbers))

    def ask(self, pairs: Sequence[SoundPair], make_options: OptionsOf) -> PromptChoice:
        """The question whose options of a sample, as many for each, a function gives."""
        options_of = [make_options(pair) for pair in pairs]
        numbers = [[self.number(*prompt) for prompt, _ in options] for options in options_of]
        correct = [[is_right for _, is_right in options] for options in options_of]
        shape = (len(options_of), len(options_of[0]) if options_of else 0)
        return PromptChoice(
            pairs,
            np.array(numbers, dtype=np.int64).reshape(shape),
            np.array(correct, dtype=bool).reshape(shape),
        )

    def texts(self) -> tuple[str, ...]:
        """The words of all prompts, by number."""
        return tuple(
            # A name may hold braces, which must not be filled in turn.
            template.format(a=self._names[a], b=self._names[b])
            for template, a, b in self._numbers
        )


@dataclass(frozen=True)
class PromptChoice:
    """Samples of which each chooses among its own prompts."""

    pairs: Sequence[SoundPair]
    options: Int[np.ndarray, "samples options"]
    correct: Bool[np.ndarray, "samples options"]

    def select(self, in_order: bool) -> PromptChoice:
        """The samples whose sounds follow one another, or those that sound together."""
        chosen = np.array([pair.in_order is in_order for pair in self.pairs], dtype=bool)
        kept = [pair for pair in self.pairs if pair.in_order is in_order]
        return PromptChoice(kept, self.options[chosen], self.correct[chosen])


def pair_tasks(
    pairs: Sequence[SoundPair],
    classes: Sequence[str],
    groups: Int[np.ndarray, " all"],
    settings: BenchSettings,
) -> TaskPlan:
    """T2 to T5 over pairs of sounds.

    Args:
        settings: Give the number of prompts of T4 and T5B; where the absent classes make fewer,
            there are fewer, and chance says so.
    """
    prompts = Prompts(classes)
    absent = Absent.of(classes)
    numbers = range(len(classes))
    # T2: every class, the two that are heard right. T3: as heard, reversed, or together.
    present = prompts.ask(
        pairs, lambda pair: [((SOUND, k, -1), k in (pair.first, pair.second)) for k in numbers]
    )
    order = prompts.ask(pairs, _order_options)
    harder = _add_distractors(order, (BEFORE, WHILE), absent, prompts, settings, "t4")
    places = prompts.ask([pair for pair in pairs if pair.in_order], _place_options)
    both = prompts.ask([pair for pair in pairs if not pair.in_order], _both_orders)
    both = _add_distractors(both, (TOGETHER,), absent, prompts, settings, "t5b")
    texts = prompts.texts()
    # Which score of a question is which metric; `choose_one` has one score alone.
    questions: list[tuple[PromptChoice, dict[str, str]]] = [
        (present.select(True), {"t2a": "strict", "t2b": "any"}),
        (present.select(False), {"t2c": "strict", "t2d": "any"}),
        *((part, {f"t3{name}": _ONE}) for name, part in _split_by_order(order)),
        *((part, {f"t4{name}": _ONE}) for name, part in _split_by_order(harder)),
        (places, {"t5a": "strict", "t5a_half_credit": "half_credit"}),
        (both, {"t5b": "strict", "t5b_half_credit": "half_credit"}),
    ]

    def measure(audio: Embeddings, vectors: TextEmbeddings) -> dict[str, Metric]:
        similarity = audio @ np.stack([vectors[text] for text in texts]).T
        metrics: dict[str, Metric] = {}
        for question, scores in questions:
            if not question.pairs:
                continue
            sounds = np.array([pair.number for pair in question.pairs], dtype=np.int64)
            cosines = np.take_along_axis(similarity[sounds], question.options, axis=1)
            choice = cosines, question.correct, groups[sounds], settings.seed
            is_single = set(scores.values()) == {_ONE}
            measured = {_ONE: choose_one(*choice)} if is_single else choose_two(*choice)
            metrics |= {f"zste_{name}": measured[score] for name, score in scores.items()}
        return metrics

    return TaskPlan(texts, measure)


def _split_by_order(question: PromptChoice) -> list[tuple[str, PromptChoice]]:
    return [
        ("", question),
        ("_before", question.select(True)),
        ("_while", question.select(False)),
    ]


def _order_options(pair: SoundPair) -> Options:
    return [
        ((BEFORE, pair.first, pair.second), pair.in_order),
        ((BEFORE, pair.second, pair.first), False),
        ((WHILE, pair.first, pair.second), not pair.in_order),
    ]


def _place_options(pair: SoundPair) -> Options:
    """T5A: which sound is first and which is second."""
    return [
        ((FIRST, pair.first, -1), True),
        ((SECOND, pair.first, -1), False),
        ((FIRST, pair.second, -1), False),
        ((SECOND, pair.second, -1), True),
    ]


def _both_orders(pair: SoundPair) -> Options:
    """T5B: a simultaneous pair, named in both orders."""
    return [
        ((TOGETHER, pair.first, pair.second), True),
        ((TOGETHER, pair.second, pair.first), True),
    ]


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
        called = [[could_be_called(first, second) for second in classes] for first in classes]
        return cls(a, b, np.array(called))

    def pairs(self, pair: SoundPair) -> Int[np.ndarray, " some"]:
        """Positions of the pairs of which a class is surely absent from a sample."""
        absent = ~(self.called[pair.first] | self.called[pair.second])
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
    if not question.pairs:
        return question
    free = [absent.pairs(sounds) for sounds in question.pairs]
    fewest = min(len(templates) * len(pairs) for pairs in free)
    count = min(settings.prompts - question.options.shape[1], fewest)
    randomness = Randomness(settings.seed)
    added = []
    for sounds, pairs in zip(question.pairs, free, strict=True):
        generator = randomness.at(f"bench/zste/{task}", sounds.number)
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
        question.pairs,
        np.concatenate([question.options, further], axis=1),
        np.concatenate([question.correct, np.zeros(further.shape, dtype=bool)], axis=1),
    )


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
    rows = prompts(classes, settings.templates)

    def measure(audio: Embeddings, vectors: TextEmbeddings) -> dict[str, Metric]:
        embedded = np.array([[vectors[text] for text in row] for row in rows])
        try:
            prompted = class_embeddings(embedded, classes)
        except ValueError as error:
            raise SpecError(str(error), fix="give other templates") from error
        similarity = audio @ prompted.T
        if several or (correct.sum(axis=1) != 1).any():
            metric = mean_average_precision(similarity, correct, groups, settings.seed)
            return {"zero_shot_map": metric}
        return {"zero_shot_top1": choose_one(similarity, correct, groups, settings.seed)}

    return TaskPlan(tuple(text for row in rows for text in row), measure)


def prompts(classes: Sequence[str], templates: Sequence[str]) -> list[list[str]]:
    """Every class in every template, one row a class."""
    names = [Phrase.of_label(label).plain for label in classes]
    return [[fill_template(template, name) for template in templates] for name in names]
