"""ACBA's probes of free captions (section 3.2): PTe, BAT, and as against then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from train.bench.embedder import Embeddings, Said
from train.bench.metrics import Metric, bat, retrieval
from train.bench.plan import TaskPlan, TaskRefusal
from train.bench.settings import BenchSettings
from train.bench.tasks.choosing import AFTER, BEFORE
from train.bench.tasks.samples import similarities

AS = "as"
THEN = "then"
_OTHER = {AS: THEN, THEN: AS}


@dataclass(frozen=True, slots=True)
class ProbedSentence:
    """A caption and what a probe made of it.

    Args:
        sound: Number of its sound.
        caption: As written.
        swapped: As the probe has it.
        connective: The word that the caption turned on.
    """

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

    def measure(audio: Embeddings, said: Said) -> dict[str, Metric]:
        sounds = sorted({each.sound for each in sentences})
        words = sorted({each.connective for each in sentences})
        found = _measure_versions("pte", "r1", sentences, sounds, audio, said, settings.seed)
        for word in words if len(words) > 1 else ():
            chosen = [each for each in sentences if each.connective == word]
            name = f"pte_{word.replace(' ', '_')}"
            found |= _measure_versions(name, "r1", chosen, sounds, audio, said, settings.seed)
        return found

    return TaskPlan(_list_texts(sentences), measure)


def plan_bat(
    sentences: Sequence[ProbedSentence], settings: BenchSettings
) -> TaskPlan | TaskRefusal:
    """`bat`: how often the caption is closer to its sound than with the word exchanged."""
    kept = [each for each in sentences if each.connective in (BEFORE, AFTER)]
    if not kept:
        return TaskRefusal("no sentence with before or after was made")

    def measure(audio: Embeddings, said: Said) -> dict[str, Metric]:
        pairs = [(each.sound, (each.caption, each.swapped)) for each in kept]
        is_after = np.array([each.connective == AFTER for each in kept])
        sounds = np.array([each.sound for each in kept])
        return {"bat": bat(similarities(audio, said, pairs), is_after, sounds, settings.seed)}

    return TaskPlan(_list_texts(kept), measure, _count_passed_over(sentences, kept))


def plan_as_then(
    sentences: Sequence[ProbedSentence], settings: BenchSettings
) -> TaskPlan | TaskRefusal:
    """R@10 among the sounds of sentences with the same word, as written and exchanged.

    `as_original_r10`, `as_swapped_r10` (said with then), and the same of `then`.
    """
    kept = [each for each in sentences if each.connective in _OTHER]
    if not kept:
        return TaskRefusal("no sentence with as or then was made")

    def measure(audio: Embeddings, said: Said) -> dict[str, Metric]:
        found: dict[str, Metric] = {}
        for word in _OTHER:
            chosen = [each for each in kept if each.connective == word]
            if chosen:
                sounds = sorted({each.sound for each in chosen})
                found |= _measure_versions(word, "r10", chosen, sounds, audio, said, settings.seed)
        return found

    return TaskPlan(_list_texts(kept), measure, _count_passed_over(sentences, kept))


def _measure_versions(
    name: str,
    metric: str,
    sentences: Sequence[ProbedSentence],
    sounds: Sequence[int],
    audio: Embeddings,
    said: Said,
    seed: int,
) -> dict[str, Metric]:
    """Recall of the sound of each sentence, by its caption and by what the probe made of it."""
    own = np.array([each.sound for each in sentences])
    correct = own[:, None] == np.array(sounds)[None, :]
    found = {}
    for version, texts in (
        ("original", [each.caption for each in sentences]),
        ("swapped", [each.swapped for each in sentences]),
    ):
        similarity = np.stack([said[text] for text in texts]) @ audio[list(sounds)].T
        # Sentences about one sound are not independent.
        found[f"{name}_{version}_{metric}"] = retrieval(similarity, correct, own, seed)[metric]
    return found


def _list_texts(sentences: Sequence[ProbedSentence]) -> tuple[str, ...]:
    return tuple(text for each in sentences for text in (each.caption, each.swapped))


def _count_passed_over(
    sentences: Sequence[ProbedSentence], kept: Sequence[ProbedSentence]
) -> dict[str, int]:
    count = len(sentences) - len(kept)
    return {"sentences with another connective": count} if count else {}
