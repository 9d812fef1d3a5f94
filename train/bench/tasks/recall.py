"""Retrieval both ways: of samples, of captioned files, and of ACBA's probes (section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synth.base.errors import SpecError
from train.bench.embedder import Embeddings, TextEmbeddings
from train.bench.metrics import Metric, bat, retrieval
from train.bench.metrics.measure import number_keys
from train.bench.plan import TaskPlan, TaskRefusal
from train.bench.settings import BenchSettings
from train.bench.tasks.choosing import AFTER, BEFORE
from train.bench.tasks.samples import Samples, retrieval_both_ways, similarities
from train.data.meaning import find_meaning


def plan_samples(samples: Samples, settings: BenchSettings) -> TaskPlan:
    """Each different caption is one text; every sample whose caption says the same is right.

    A text counts to the group of the first sample that it is the caption of.
    """
    rows = samples.rows
    _check_subsets(len(rows), settings)
    groups = samples.groups
    first: dict[str, int] = {}
    for position, row in enumerate(rows):
        first.setdefault(row["caption"], position)

    def measure(audio: Embeddings, vectors: TextEmbeddings) -> dict[str, Metric]:
        meanings = number_keys([find_meaning(row["caption"], row["claim"]) for row in rows])
        positions = list(first.values())
        correct = meanings[:, None] == meanings[positions][None, :]
        similarity = audio @ np.stack([vectors[text] for text in first]).T
        return retrieval_both_ways(similarity, correct, groups, groups[positions], settings)

    return TaskPlan(tuple(first), measure)


def plan_captions(
    captions: Sequence[tuple[int, str]], sounds: int, settings: BenchSettings
) -> TaskPlan:
    """Each different caption is one query, right for every audio that bears it.

    Where two audios bear one caption word for word, nothing in it tells them apart, so both are
    right; each other caption has one right audio. With `every_caption` each row of the table is a
    query of its own, and right for its own audio alone. Audio to text: the best-ranked right
    caption.

    Args:
        captions: Number of the sound and the caption, as the table gives them.
        sounds: How many sounds there are; each has a caption.
    """
    _check_subsets(sounds, settings)
    texts = {text: number for number, text in enumerate(dict.fromkeys(t for _, t in captions))}
    sound = np.array([sound for sound, _ in captions])
    text = np.array([texts[caption] for _, caption in captions])
    query = np.arange(len(captions)) if settings.every_caption else text

    def measure(audio: Embeddings, vectors: TextEmbeddings) -> dict[str, Metric]:
        correct = np.zeros((sounds, query.max() + 1), dtype=bool)
        correct[sound, query] = True
        similarity = audio @ np.stack([vectors[caption] for caption in texts]).T
        if settings.every_caption:
            # Taken from one product, so that equal captions tie exactly.
            similarity = similarity[:, text]
        return retrieval_both_ways(
            similarity, correct, np.arange(sounds), correct.argmax(axis=0), settings
        )

    merged = len(captions) - len(set(query.tolist()))
    return TaskPlan(tuple(texts), measure, {"captions that repeat another": merged})


def _check_subsets(sounds: int, settings: BenchSettings) -> None:
    if settings.subset_size is not None and settings.subset_size > sounds:
        raise SpecError(
            f"subsets of {settings.subset_size} cannot be drawn from {sounds} sounds",
            fix=f"choose a subset_size of at most {sounds}, or none",
        )


AS = "as"
THEN = "then"
_OTHER = {AS: THEN, THEN: AS}


@dataclass(frozen=True, slots=True)
class ProbedSentence:
    """A caption and what a probe made of it."""

    sound: int
    caption: str
    swapped: str
    connective: str


def plan_pte(
    sentences: Sequence[ProbedSentence], settings: BenchSettings
) -> TaskPlan | TaskRefusal:
    """`pte_original_r1` and `pte_swapped_r1`, and the same of the sentences of each connective.

    A sentence, as written or with its sides exchanged, looks for its sound among the sounds of the
    whole set. A model that hears order finds fewer by the exchanged ones. Chance: one over the
    number of sounds.
    """
    if not sentences:
        return TaskRefusal("no sentence was made")

    def measure(audio: Embeddings, vectors: TextEmbeddings) -> dict[str, Metric]:
        sounds = sorted({sentence.sound for sentence in sentences})
        words = sorted({sentence.connective for sentence in sentences})
        metrics = _measure_versions("pte", "r1", sentences, sounds, audio, vectors, settings.seed)
        for word in words if len(words) > 1 else ():
            chosen = [sentence for sentence in sentences if sentence.connective == word]
            name = f"pte_{word.replace(' ', '_')}"
            metrics |= _measure_versions(name, "r1", chosen, sounds, audio, vectors, settings.seed)
        return metrics

    return TaskPlan(_list_texts(sentences), measure)


def plan_bat(
    sentences: Sequence[ProbedSentence], settings: BenchSettings
) -> TaskPlan | TaskRefusal:
    """`bat`: how often the caption is closer to its sound than with the word exchanged."""
    kept = [sentence for sentence in sentences if sentence.connective in (BEFORE, AFTER)]
    if not kept:
        return TaskRefusal("no sentence with before or after was made")

    def measure(audio: Embeddings, vectors: TextEmbeddings) -> dict[str, Metric]:
        pairs = [(sentence.sound, (sentence.caption, sentence.swapped)) for sentence in kept]
        is_after = np.array([sentence.connective == AFTER for sentence in kept])
        sounds = np.array([sentence.sound for sentence in kept])
        return {"bat": bat(similarities(audio, vectors, pairs), is_after, sounds, settings.seed)}

    return TaskPlan(_list_texts(kept), measure, _count_passed_over(sentences, kept))


def plan_as_then(
    sentences: Sequence[ProbedSentence], settings: BenchSettings
) -> TaskPlan | TaskRefusal:
    """R@10 among the sounds of sentences with the same word, as written and exchanged.

    `as_original_r10`, `as_swapped_r10` (said with then), and the same of `then`.
    """
    kept = [sentence for sentence in sentences if sentence.connective in _OTHER]
    if not kept:
        return TaskRefusal("no sentence with as or then was made")

    def measure(audio: Embeddings, vectors: TextEmbeddings) -> dict[str, Metric]:
        metrics: dict[str, Metric] = {}
        for word in _OTHER:
            chosen = [sentence for sentence in kept if sentence.connective == word]
            if not chosen:
                continue
            sounds = sorted({sentence.sound for sentence in chosen})
            metrics |= _measure_versions(word, "r10", chosen, sounds, audio, vectors, settings.seed)
        return metrics

    return TaskPlan(_list_texts(kept), measure, _count_passed_over(sentences, kept))


def _measure_versions(
    name: str,
    metric: str,
    sentences: Sequence[ProbedSentence],
    sounds: Sequence[int],
    audio: Embeddings,
    vectors: TextEmbeddings,
    seed: int,
) -> dict[str, Metric]:
    """Recall of the sound of each sentence, by its caption and by what the probe made of it."""
    owners = np.array([sentence.sound for sentence in sentences])
    correct = owners[:, None] == np.array(sounds)[None, :]
    metrics = {}
    for version, texts in (
        ("original", [sentence.caption for sentence in sentences]),
        ("swapped", [sentence.swapped for sentence in sentences]),
    ):
        similarity = np.stack([vectors[text] for text in texts]) @ audio[list(sounds)].T
        # Sentences about one sound are not independent.
        metrics[f"{name}_{version}_{metric}"] = retrieval(similarity, correct, owners, seed)[metric]
    return metrics


def _list_texts(sentences: Sequence[ProbedSentence]) -> tuple[str, ...]:
    return tuple(text for sentence in sentences for text in (sentence.caption, sentence.swapped))


def _count_passed_over(
    sentences: Sequence[ProbedSentence], kept: Sequence[ProbedSentence]
) -> dict[str, int]:
    return {"sentences with another connective": len(sentences) - len(kept)}
