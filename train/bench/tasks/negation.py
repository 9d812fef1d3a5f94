"""Negation (Vasilakis et al., section 3): captions with none, half or all of their tags denied."""

from __future__ import annotations

from itertools import combinations
from typing import Final

import numpy as np
from jaxtyping import Int

from synth.base.rng import Randomness
from train.bench.embedder import Embeddings, Said
from train.bench.metrics import Metric, pair_accuracy, retrieval
from train.bench.plan import TaskPlan, TaskRefusal
from train.bench.settings import BenchSettings
from train.bench.tasks.samples import Samples, similarities
from train.data.rows import Row

ORIGINAL: Final = "original"
KINDS: Final = {"half": "negate-half", "full": "negate-full"}
_K: Final = "r10"


def plan_negation(samples: Samples, settings: BenchSettings) -> TaskPlan | TaskRefusal:
    """R@10 both ways of each kind of caption, and triplet accuracy between each two kinds.

    All are over the same samples, those that have every kind of caption the split has; of these at
    most `negation_sample`, drawn at random.
    """
    said_of = [_find_versions(row) for row in samples.rows]
    kinds = [kind for kind in (ORIGINAL, *KINDS) if any(kind in each for each in said_of)]
    if kinds == [ORIGINAL] or not kinds:
        return TaskRefusal("no false text denies half or all of a caption's tags")
    whole = [number for number, each in enumerate(said_of) if len(each) == len(kinds)]
    if not whole:
        return TaskRefusal("no sample has its caption with half and with all of its tags denied")
    chosen = _draw_samples(whole, settings)
    versions = {kind: [said_of[number][kind] for number in chosen] for kind in kinds}

    def measure(audio: Embeddings, said: Said) -> dict[str, Metric]:
        groups = samples.groups[chosen]
        found: dict[str, Metric] = {}
        for kind in kinds:
            found |= _measure_recall(
                kind, versions[kind], audio[chosen], said, groups, settings.seed
            )
        for truer, falser in combinations(kinds, 2):
            pairs = list(zip(versions[truer], versions[falser], strict=True))
            similarity = similarities(audio, said, list(zip(chosen, pairs, strict=True)))
            found[f"negation_{truer}_{falser}"] = pair_accuracy(similarity, groups, settings.seed)
        return found

    left_out = {
        "samples that lack a negated caption": len(samples.rows) - len(whole),
        "samples not drawn": len(whole) - len(chosen),
    }
    return TaskPlan(
        tuple(text for texts in versions.values() for text in texts),
        measure,
        {reason: count for reason, count in left_out.items() if count},
    )


def _find_versions(row: Row) -> dict[str, str]:
    """The caption, and its first half and fully negated version where there is one."""
    found = {ORIGINAL: row["caption"]}
    for name, kind in KINDS.items():
        texts = [text["text"] for text in row["negatives"] if text["kind"] == kind]
        if texts:
            found[name] = texts[0]
    return found


def _draw_samples(whole: list[int], settings: BenchSettings) -> list[int]:
    most = settings.negation_sample
    if most is None or len(whole) <= most:
        return whole
    order = Randomness(settings.seed).at("bench/negation", 0).permutation(len(whole))
    return [whole[place] for place in sorted(order[:most].tolist())]


def _measure_recall(
    kind: str,
    texts: list[str],
    audio: Embeddings,
    said: Said,
    groups: Int[np.ndarray, " samples"],
    seed: int,
) -> dict[str, Metric]:
    """R@10 both ways; a text is right for every sample that it is a version of the caption of."""
    unique = list(dict.fromkeys(texts))
    correct = np.array(texts)[:, None] == np.array(unique)[None, :]
    similarity = audio @ np.stack([said[text] for text in unique]).T
    back = groups[correct.argmax(axis=0)]
    return {
        f"negation_{kind}_audio_to_text_{_K}": retrieval(similarity, correct, groups, seed)[_K],
        f"negation_{kind}_text_to_audio_{_K}": retrieval(similarity.T, correct.T, back, seed)[_K],
    }
