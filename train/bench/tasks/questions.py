"""Multiple choice: which answer, read after its question, is closest to the sound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from train.bench.embedder import Embeddings, Said
from train.bench.metrics import Metric, choose_one
from train.bench.plan import TaskPlan
from train.bench.settings import BenchSettings
from train.bench.tasks.samples import similarities


@dataclass(frozen=True, slots=True)
class SoundQuestion:
    """A question about a sound.

    Args:
        sound: Number of the sound.
        texts: The question with each of its answers; as many for every question.
        right: Which of them are right.
    """

    sound: int
    texts: tuple[str, ...]
    right: tuple[bool, ...]


def plan_questions(questions: Sequence[SoundQuestion], settings: BenchSettings) -> TaskPlan:
    """`questions`: how often the closest answer is a right one."""

    def measure(audio: Embeddings, said: Said) -> dict[str, Metric]:
        similarity = similarities(audio, said, [(each.sound, each.texts) for each in questions])
        right = np.array([each.right for each in questions])
        sounds = np.array([each.sound for each in questions])
        return {"questions": choose_one(similarity, right, sounds, settings.seed)}

    return TaskPlan(tuple(text for each in questions for text in each.texts), measure)
