"""Tasks in which a model chooses: among negations, orders, blocks, minimal pairs and answers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from jaxtyping import Int

from synth.base.rng import Randomness
from synth.corpus.schema import compared_with
from synth.labels.connective import Connective
from train.bench.embedder import Embeddings, TextEmbeddings
from train.bench.metrics import (
    Metric,
    bat,
    block_scores,
    choose_one,
    compa,
    pair_accuracy,
    retrieval,
    triplet_accuracy,
)
from train.bench.plan import TaskPlan, TaskRefusal
from train.bench.settings import BenchSettings
from train.bench.tasks.samples import Samples, similarities
from train.data.rows import ManifestRow

ORIGINAL: Final = "original"
KINDS: Final = {"half": "negate-half", "full": "negate-full"}
_K: Final = "r10"


def plan_negation(samples: Samples, settings: BenchSettings) -> TaskPlan | TaskRefusal:
    """R@10 both ways of each kind of caption, and triplet accuracy between each two kinds.

    All are over the same samples, those that have every kind of caption the split has; of these at
    most `negation_sample`, drawn at random.
    """
    versions_of = [_find_versions(row) for row in samples.rows]
    kinds = [kind for kind in (ORIGINAL, *KINDS) if any(kind in texts for texts in versions_of)]
    if kinds == [ORIGINAL] or not kinds:
        return TaskRefusal("no false text denies half or all of a caption's tags")
    whole = [number for number, texts in enumerate(versions_of) if len(texts) == len(kinds)]
    if not whole:
        return TaskRefusal("no sample has its caption with half and with all of its tags denied")
    order = Randomness(settings.seed).at("bench/negation", 0).permutation(len(whole))
    chosen = [whole[place] for place in sorted(order[: settings.negation_sample].tolist())]
    versions = {kind: [versions_of[number][kind] for number in chosen] for kind in kinds}

    def measure(audio: Embeddings, vectors: TextEmbeddings) -> dict[str, Metric]:
        groups = samples.groups[chosen]
        metrics: dict[str, Metric] = {}
        for kind in kinds:
            metrics |= _measure_recall(
                kind, versions[kind], audio[chosen], vectors, groups, settings.seed
            )
        for truer, falser in combinations(kinds, 2):
            pairs = list(zip(versions[truer], versions[falser], strict=True))
            similarity = similarities(audio, vectors, list(zip(chosen, pairs, strict=True)))
            metrics[f"negation_{truer}_{falser}"] = pair_accuracy(similarity, groups, settings.seed)
        return metrics

    left_out = {
        "samples that lack a negated caption": len(samples.rows) - len(whole),
        "samples not drawn": len(whole) - len(chosen),
    }
    return TaskPlan(tuple(text for texts in versions.values() for text in texts), measure, left_out)


def _find_versions(row: ManifestRow) -> dict[str, str]:
    """The caption, and its first half and fully negated version where there is one."""
    versions = {ORIGINAL: row["caption"]}
    for name, kind in KINDS.items():
        texts = [text["text"] for text in row["negatives"] if text["kind"] == kind]
        if texts:
            versions[name] = texts[0]
    return versions


def _measure_recall(
    kind: str,
    texts: list[str],
    audio: Embeddings,
    vectors: TextEmbeddings,
    groups: Int[np.ndarray, " samples"],
    seed: int,
) -> dict[str, Metric]:
    """R@10 both ways; a text is right for every sample that it is a version of the caption of."""
    unique = list(dict.fromkeys(texts))
    correct = np.array(texts)[:, None] == np.array(unique)[None, :]
    similarity = audio @ np.stack([vectors[text] for text in unique]).T
    back = groups[correct.argmax(axis=0)]
    return {
        f"negation_{kind}_audio_to_text_{_K}": retrieval(similarity, correct, groups, seed)[_K],
        f"negation_{kind}_text_to_audio_{_K}": retrieval(similarity.T, correct.T, back, seed)[_K],
    }


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

    def measure(audio: Embeddings, vectors: TextEmbeddings) -> dict[str, Metric]:
        similarity = similarities(audio, vectors, pairs)
        return {"bat": bat(similarity, np.array(is_after), np.array(groups), settings.seed)}

    return TaskPlan(tuple(text for _, both in pairs for text in both), measure)


def find_exchanges(row: ManifestRow) -> Iterator[tuple[str, str]]:
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

    def measure(audio: Embeddings, vectors: TextEmbeddings) -> dict[str, Metric]:
        blocks = [
            audio[chosen] @ np.stack([vectors[rows[position]["caption"]] for position in chosen]).T
            for chosen in whole
        ]
        return {"triplets": triplet_accuracy(np.array(blocks), settings.seed)}

    texts = tuple(rows[position]["caption"] for chosen in whole for position in chosen)
    broken = {"groups without all three relations": len(groups) - len(whole)}
    return TaskPlan(texts, measure, broken)


@dataclass(frozen=True, slots=True)
class Block:
    """Two sounds and two captions; each caption is true of the sound at its place alone."""

    sounds: tuple[int, int]
    texts: tuple[str, str]
    group: str


def find_blocks(rows: Sequence[ManifestRow], edits: Collection[str]) -> list[Block]:
    """The blocks of some samples, in their order.

    A false caption and the true one that it stands against make a block where another sample of the
    group has the two the other way round.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        groups[row["group"]].append(number)
    return [
        block
        for name, members in groups.items()
        for block in _blocks_of_group(rows, name, members, edits)
    ]


def _blocks_of_group(
    rows: Sequence[ManifestRow], group: str, members: Sequence[int], edits: Collection[str]
) -> Iterator[Block]:
    at: dict[tuple[str, str, str], int] = {}
    for number in members:
        for text in rows[number]["negatives"]:
            if text["kind"] in edits:
                at[text["kind"], compared_with(text, rows[number]), text["text"]] = number
    for (kind, true, false), number in at.items():
        other = at.get((kind, false, true))
        # Each block is met from both of its sides.
        if other is not None and number < other:
            yield Block((number, other), (true, false), group)


def score_blocks(
    blocks: Sequence[Block],
    audio: Embeddings,
    vectors: TextEmbeddings,
    positions: Mapping[int, int],
) -> dict[str, Metric]:
    """`text`, `audio` and `group`, as `metrics.block_scores` tells them."""
    sounds = np.array([[positions[number] for number in block.sounds] for block in blocks])
    texts = np.stack([[vectors[text] for text in block.texts] for block in blocks])
    similarity = np.einsum("bid,bjd->bij", audio[sounds], texts)
    groups = np.unique([block.group for block in blocks], return_inverse=True)[1]
    return block_scores(similarity, groups.astype(np.int64))


@dataclass(frozen=True, slots=True)
class Instance:
    """Audios and their captions, two or three of each."""

    sounds: tuple[int, ...]
    captions: tuple[str, ...]


def plan_compa(instances: Sequence[Instance], settings: BenchSettings) -> TaskPlan:
    """`compa_pairs_*`, `compa_triplets_*` where there are any, and `compa_all_*`."""
    threefold = [number for number, instance in enumerate(instances) if len(instance.sounds) == 3]

    def block(instance: Instance, k: int, audio: Embeddings, vectors: TextEmbeddings) -> np.ndarray:
        texts = np.stack([vectors[text] for text in instance.captions[:k]])
        similarity: np.ndarray = audio[list(instance.sounds[:k])] @ texts.T
        return similarity

    def measure(audio: Embeddings, vectors: TextEmbeddings) -> dict[str, Metric]:
        pairs = np.array([block(instance, 2, audio, vectors) for instance in instances])
        triplets = [block(instances[number], 3, audio, vectors) for number in threefold]
        metrics = compa(
            pairs,
            np.array(triplets, dtype=np.float64).reshape(-1, 3, 3),
            np.array(threefold, dtype=np.int64),
            settings.seed,
        )
        return {f"compa_{name}": metric for name, metric in metrics.items() if metric.n}

    return TaskPlan(tuple(text for instance in instances for text in instance.captions), measure)


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

    def measure(audio: Embeddings, vectors: TextEmbeddings) -> dict[str, Metric]:
        similarity = similarities(audio, vectors, pairs)
        kind, group = np.array(kinds), np.array(groups)
        metrics = {"negatives": pair_accuracy(similarity, group, settings.seed)}
        for name in sorted(set(kinds)):
            chosen = kind == name
            metrics[f"negatives_{name}"] = pair_accuracy(
                similarity[chosen], group[chosen], settings.seed
            )
        return metrics

    without = {"samples without a false text": sum(not row["negatives"] for row in samples.rows)}
    return TaskPlan(tuple(text for _, both in pairs for text in both), measure, without)


@dataclass(frozen=True, slots=True)
class SoundQuestion:
    """A question about a sound.

    Args:
        texts: The question with each of its answers; as many for every question.
    """

    sound: int
    texts: tuple[str, ...]
    right: tuple[bool, ...]


def plan_questions(questions: Sequence[SoundQuestion], settings: BenchSettings) -> TaskPlan:
    """`questions`: how often the closest answer is a right one."""

    def measure(audio: Embeddings, vectors: TextEmbeddings) -> dict[str, Metric]:
        choices = [(question.sound, question.texts) for question in questions]
        similarity = similarities(audio, vectors, choices)
        right = np.array([question.right for question in questions])
        sounds = np.array([question.sound for question in questions])
        return {"questions": choose_one(similarity, right, sounds, settings.seed)}

    return TaskPlan(tuple(text for question in questions for text in question.texts), measure)
