"""Retrieval both ways: samples and their captions, or audio files with several captions each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synth.base.errors import SpecError
from train.bench.embedder import Embeddings, Said
from train.bench.metrics import Metric
from train.bench.plan import TaskPlan
from train.bench.settings import BenchSettings
from train.bench.tasks.samples import Samples, retrieval_both_ways
from train.data.meaning import meaning
from train.data.split import number_keys


def plan_samples(samples: Samples, settings: BenchSettings) -> TaskPlan:
    """Each different caption is one text; every sample whose claim means the same is right.

    A text counts to the group of the first sample that it is the caption of.
    """
    rows = samples.rows
    _check_subsets(len(rows), settings)
    groups = samples.groups
    first: dict[str, int] = {}
    for position, row in enumerate(rows):
        first.setdefault(row["caption"], position)

    def measure(audio: Embeddings, said: Said) -> dict[str, Metric]:
        heard = number_keys([meaning(row["claim"]) for row in rows]).numpy()
        said_by = list(first.values())
        correct = heard[:, None] == heard[said_by][None, :]
        similarity = audio @ np.stack([said[text] for text in first]).T
        return retrieval_both_ways(similarity, correct, groups, groups[said_by], settings)

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
        settings: Of the bench; say whether every caption is a query.
    """
    _check_subsets(sounds, settings)
    texts = {text: number for number, text in enumerate(dict.fromkeys(t for _, t in captions))}
    sound = np.array([each for each, _ in captions])
    text = np.array([texts[caption] for _, caption in captions])
    query = np.arange(len(captions)) if settings.every_caption else text

    def measure(audio: Embeddings, said: Said) -> dict[str, Metric]:
        correct = np.zeros((sounds, query.max() + 1), dtype=bool)
        correct[sound, query] = True
        similarity = audio @ np.stack([said[caption] for caption in texts]).T
        if settings.every_caption:
            # Taken from one product, so that equal captions tie exactly.
            similarity = similarity[:, text]
        return retrieval_both_ways(
            similarity, correct, np.arange(sounds), correct.argmax(axis=0), settings
        )

    merged = len(captions) - len(set(query.tolist()))
    return TaskPlan(
        tuple(texts), measure, {"captions that repeat another": merged} if merged else {}
    )


def _check_subsets(sounds: int, settings: BenchSettings) -> None:
    if settings.subset_size is not None and settings.subset_size > sounds:
        raise SpecError(
            f"subsets of {settings.subset_size} cannot be drawn from {sounds} sounds",
            fix=f"choose a subset_size of at most {sounds}, or none",
        )
