"""When each sound is heard: every sound of the split, asked of every frame of every sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Bool

from synth.corpus.schema import read_timeline
from synth.truth.frames import frame_length, label_frames
from train.bench.embedder import Embeddings, Said
from train.bench.frames import FrameScores
from train.bench.metrics import Metric
from train.bench.metrics.events import FrameStates, localisation
from train.bench.plan import TaskPlan, TaskRefusal
from train.bench.settings import BenchSettings
from train.bench.tasks.samples import Samples
from train.data.frames import text_of

_UNLABELLED: Final = "samples whose sounds have no labels with times"


def plan_samples(
    samples: Samples, rate: int, labelled: Bool[np.ndarray, " samples"], settings: BenchSettings
) -> TaskPlan | TaskRefusal:
    """`localisation_*`: the labels of the split as texts ("a dog barks").

    Args:
        rate: Their sample rate in Hz.
        labelled: Which of them have labels with times.
        settings: Hold the seed.
    """
    chosen: list[int] = np.flatnonzero(labelled).tolist()
    if not chosen:
        return TaskRefusal("no sample has labels with times")
    named = sorted({label for number in chosen for label in samples.rows[number]["labels"]})

    def measure(audio: Embeddings, said: Said) -> dict[str, Metric]:
        return {}

    def measure_frames(scores: Sequence[FrameScores]) -> dict[str, Metric]:
        states = [_states(samples.rows[number], named, rate) for number in chosen]
        kept = [scores[number] for number in chosen]
        return localisation(kept, states, samples.groups[chosen], settings.seed)

    left = len(samples.rows) - len(chosen)
    return TaskPlan(
        tuple(map(text_of, named)),
        measure,
        {_UNLABELLED: left} if left else {},
        measure_frames,
    )


def _states(row: dict[str, object], named: Sequence[str], rate: int) -> FrameStates:
    heard, length = read_timeline(row), row["frames"]
    assert isinstance(length, int)
    columns = [label_frames(label, heard, length, frame_length(rate)) for label in named]
    return np.stack(columns, axis=1)
