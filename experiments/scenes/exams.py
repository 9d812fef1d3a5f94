"""CompA-order and CompA-attribute, made of a corpus's held-out groups.

Every instance is two or three sounds over the same recordings and their captions, which hold the
same words in another order, or differ in the word that relates the sounds (Ghosh et al.,
section 2). Each caption is proven of its sound and refuted of the others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations, takewhile
from typing import Final, TypeAlias

from experiments.harness.experiment import Exam, ExamSplit, Folders, open_split
from experiments.scenes.captions import read_statement
from synth.base.errors import SpecError
from synth.base.units import Frames
from synth.captions.caption import Pair, Style, realize
from synth.captions.narrative import Narrator
from synth.corpus.schema import read_timeline
from synth.labels.connective import Connective
from synth.labels.lexicon import Phrase
from synth.scene.edit import EditKind, edit_kind, meaning
from synth.scene.scene import Concat, Event, Overlay, Scene, labels
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing
from train.bench.plan import Benchmark, DataKind
from train.bench.settings import BenchSettings, Task
from train.bench.sounds import corpus_sounds
from train.bench.tasks.choosing import Instance, plan_compa
from train.data.rows import Row

THREEFOLD_EVERY: Final = 4
"""Of CompA-order's 400 instances 100 have a third sound and caption."""

Member: TypeAlias = tuple[int, Scene, str]
"""Number of a sound, what is said of it, and in which words."""
Numbered: TypeAlias = Sequence[tuple[int, Scene]]
"""The sounds of a group by number, and the statement of each."""
Members: TypeAlias = Callable[[Numbered], list[Member]]
"""From a group to the members of an instance; none where it makes none."""


def make_order_exam(name: str, corpus: str, style: Style = Style.NATURAL) -> Exam:
    """CompA-order: A before B, B before A, and in every fourth instance A while B.

    Args:
        corpus: Name of a corpus of `scenes` or `triplets` in the experiment.
    """
    return Exam(
        name,
        partial(_make_compa, corpus=corpus, members=partial(_find_ordered, style=style)),
        (Task.COMPA,),
    )


def make_attribute_exam(name: str, corpus: str) -> Exam:
    """CompA-attribute: the same sounds, one of them bound to another partner."""
    return Exam(name, partial(_make_compa, corpus=corpus, members=_find_rebound), (Task.COMPA,))


def _make_compa(folders: Folders, split: ExamSplit, corpus: str, members: Members) -> Benchmark:
    data = open_split(folders, corpus, split)
    rows, settings = data.rows(range(len(data))), BenchSettings()
    instances = list(_make_instances(rows, members, data.audible))
    if not instances:
        raise SpecError(
            f"no group of {corpus} makes a CompA test item", fix="add groups to the corpus"
        )
    sounds = sorted({sound for instance in instances for sound in instance.sounds})
    place = {sound: number for number, sound in enumerate(sounds)}
    renumbered = [
        Instance(tuple(place[sound] for sound in instance.sounds), instance.captions)
        for instance in instances
    ]
    return Benchmark(
        DataKind.COMPA,
        f"CompA over {corpus}",
        {"corpus": corpus, "split": split.value, "instances": str(len(instances))},
        corpus_sounds(data, [rows[sound] for sound in sounds]),
        settings,
        {Task.COMPA: plan_compa(renumbered, settings)},
        {"groups that make no instance": len({row["group"] for row in rows}) - len(instances)},
    )


def _make_instances(rows: Sequence[Row], members: Members, audible: Frames) -> Iterator[Instance]:
    groups: dict[str, list[tuple[int, Scene]]] = {}
    for number, row in enumerate(rows):
        groups.setdefault(row["group"], []).append((number, read_statement(row)))
    count = threefold = 0
    for group in groups.values():
        candidates = members(group)
        chosen = candidates if threefold * THREEFOLD_EVERY <= count else candidates[:2]
        if len(chosen) > 2 and not _is_distinct(rows, chosen, audible):
            chosen = candidates[:2]
        if not chosen or not _is_distinct(rows, chosen, audible):
            continue
        count += 1
        threefold += len(chosen) > 2
        yield Instance(tuple(sound for sound, _, _ in chosen), tuple(text for *_, text in chosen))


def _is_distinct(rows: Sequence[Row], members: Sequence[Member], audible: Frames) -> bool:
    """Whether every caption is proven of its own sound and refuted of the others."""
    for sound, _, _ in members:
        hearing = Hearing(read_timeline(rows[sound]), Tolerance(audible=audible))
        for other, claim, _ in members:
            if not (hearing.proves(claim) if other == sound else hearing.refutes(claim)):
                return False
    return True


def _find_ordered(group: Numbered, style: Style) -> list[Member]:
    """A before B and B before A, where a group of two sounds holds both, and A while B."""
    by_meaning = {meaning(claim): (number, claim) for number, claim in group}
    pairs = [claim for _, claim in group if isinstance(claim, Concat)]
    for claim in pairs:
        first, second = claim.first, claim.second
        if not (isinstance(first, Event) and isinstance(second, Event)):
            return []
        forms: tuple[tuple[Pair, Connective], ...] = (
            (claim, Connective.BEFORE),
            (Concat(second, first), Connective.BEFORE),
            (Overlay(first, second), Connective.WHILE),
        )
        members: list[Member] = [
            (by_meaning[meaning(scene)][0], scene, realize(scene, word, Phrase.of_label, style))
            for scene, word in takewhile(lambda form: meaning(form[0]) in by_meaning, forms)
        ]
        if len(members) > 1:
            return members
    return []


def _find_rebound(group: Numbered) -> list[Member]:
    """The first two members of a group of which one puts a sound with another partner."""
    tell = Narrator(Style.NATURAL, lambda options: options[0]).tell
    for pair in combinations(group, 2):
        (_, left), (_, right) = pair
        if set(labels(left)) == set(labels(right)) and edit_kind(right, left) is EditKind.REBIND:
            members = [(number, claim, tell(claim).text) for number, claim in pair]
            if len({_count_words(text) for _, _, text in members}) == 1:
                return members
    return []


def _count_words(text: str) -> frozenset[tuple[str, int]]:
    return frozenset(Counter(re.findall(r"\w+", text.casefold())).items())
