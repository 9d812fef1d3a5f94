"""Before or after: BAT, and the choice among the members of a triplet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from synth.labels.connective import Connective
from train.bench.embedder import Embeddings, Said
from train.bench.metrics import Metric, bat, triplet_accuracy
from train.bench.plan import TaskPlan, TaskRefusal
from train.bench.settings import BenchSettings
from train.bench.tasks.samples import Samples, similarities
from train.data.rows import Row

BEFORE: Final = Connective.BEFORE.value
AFTER: Final = Connective.AFTER.value
_TRIPLET: Final = (BEFORE, AFTER, Connective.WHILE.value)
_EXCHANGED: Final = {BEFORE: AFTER, AFTER: BEFORE}
_WORD: Final = re.compile(r"\w+|[^\w\s]")


def plan_bat(samples: Samples, settings: BenchSettings) -> TaskPlan | TaskRefusal:
    """Every caption against each of its negatives that exchanges before and after in it."""
    pairs, is_after, groups = [], [], []
    for number, row in enumerate(samples.rows):
        for text, word in find_exchanges(row):
            pairs.append((number, (row["caption"], text)))
            is_after.append(word == AFTER)
            groups.append(samples.groups[number])
    if not pairs:
        return TaskRefusal("no false text is a caption with before and after exchanged")

    def measure(audio: Embeddings, said: Said) -> dict[str, Metric]:
        similarity = similarities(audio, said, pairs)
        return {"bat": bat(similarity, np.array(is_after), np.array(groups), settings.seed)}

    return TaskPlan(tuple(text for _, both in pairs for text in both), measure)


def find_exchanges(row: Row) -> Iterator[tuple[str, str]]:
    """The false texts that are the caption with before and after exchanged, at any of its places.

    Yields:
        The text, and the caption's own word at the first place where they differ.
    """
    for text in row["negatives"]:
        word = find_exchanged_word(row["caption"], text["text"])
        if word is not None:
            yield str(text["text"]), word


def find_exchanged_word(caption: str, other: str) -> str | None:
    """The caption's `before` or `after` that the other text exchanges; None if more is changed.

    Case and spaces do not count, since either word may stand at the head of the sentence.
    """
    own, words = (_WORD.findall(text.casefold()) for text in (caption, other))
    if len(own) != len(words):
        return None
    differing = [(mine, word) for mine, word in zip(own, words, strict=True) if mine != word]
    if not differing or any(_EXCHANGED.get(mine) != word for mine, word in differing):
        return None
    return str(differing[0][0])


def plan_triplets(samples: Samples, settings: BenchSettings) -> TaskPlan | TaskRefusal:
    """Groups with a member before, one after and one while: each sound chooses a caption."""
    rows = samples.rows
    groups: dict[str, dict[str, int]] = {}
    for position, row in enumerate(rows):
        groups.setdefault(row["group"], {})[row["relation"]] = position
    whole = [
        [members[relation] for relation in _TRIPLET]
        for members in groups.values()
        if all(relation in members for relation in _TRIPLET)
    ]
    if not whole:
        return TaskRefusal("no group has the same sounds with before, after and while")

    def measure(audio: Embeddings, said: Said) -> dict[str, Metric]:
        blocks = [
            audio[chosen] @ np.stack([said[rows[position]["caption"]] for position in chosen]).T
            for chosen in whole
        ]
        return {"triplets": triplet_accuracy(np.array(blocks), settings.seed)}

    texts = tuple(rows[position]["caption"] for chosen in whole for position in chosen)
    broken = len(groups) - len(whole)
    return TaskPlan(
        texts, measure, {"groups without all three relations": broken} if broken else {}
    )
