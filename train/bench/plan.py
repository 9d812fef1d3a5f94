"""What a test is made of: tasks, the plan of each, and their data, heard in training or not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from synth.base.errors import SpecError
from synth.corpus.corpus import Corpus
from train.bench.embedder import Embeddings, TextEmbeddings
from train.bench.metrics import Metric
from train.bench.metrics.events import FrameScores
from train.bench.settings import BenchSettings, Task
from train.bench.sounds import SoundItem
from train.data.recordings import RECORDINGS_FILE, Recordings, load_recordings

Metrics: TypeAlias = dict[str, Metric]

_DIM: Final = 2
"""Of random embeddings."""


class DataKind(StrEnum):
    """What can be tested on."""

    CORPUS = "corpus"
    """A split of a corpus of ours."""
    COMPA = "CompA table"
    """CSV with pair_caption, reversed_pair_caption, pair_file, reversed_pair_file."""
    CAPTIONS = "caption table"
    """CSV of files and captions (AudioCaps, Clotho), or AudioTime's JSON."""
    QUESTIONS = "question table"
    """CSV with question, audio_path, optionA to optionD and correct (TREA)."""
    CLASSES = "class table"
    """CSV as ESC-50, UrbanSound8K, FSD50K and VGGSound have it."""
    PROBES = "probe set"
    """What `segue text probe` writes."""


@dataclass(frozen=True)
class TaskPlan:
    """One task over the data at hand, before anything is embedded.

    Args:
        measure: From the embeddings of all sounds of the data, in order, and of its texts.
        left_out: How many items the task passes over, by reason; 0 is not told.
        measure_frames: Of a task about time, which has nothing else to measure: from the scores of
            the frames of all sounds for its texts, in order. It runs only where it is asked for.
    """

    texts: tuple[str, ...]
    measure: Callable[[Embeddings, TextEmbeddings], Metrics]
    left_out: Mapping[str, int] = field(default_factory=dict)
    measure_frames: Callable[[Sequence[FrameScores]], Metrics] | None = None


@dataclass(frozen=True, slots=True)
class TaskRefusal:
    """A task that the data does not allow."""

    reason: str


@dataclass(frozen=True)
class Benchmark:
    """Data, and the tasks planned over it.

    Args:
        answers: The plan of each task that its kind knows, or why there is none.
        left_out: How many items of the data no task sees, by reason.
        recordings: What its sounds are made of; None where that is not told.
        corpus: Of which it is a split, whole; None of any other.
    """

    kind: DataKind
    name: str
    facts: Mapping[str, str]
    sounds: Sequence[SoundItem]
    settings: BenchSettings
    answers: Mapping[Task, TaskPlan | TaskRefusal]
    left_out: Mapping[str, int] = field(default_factory=dict)
    recordings: Recordings | None = None
    corpus: Corpus | None = None

    @property
    def allowed(self) -> tuple[Task, ...]:
        """The tasks that the data allows."""
        return tuple(task for task, answer in self.answers.items() if isinstance(answer, TaskPlan))

    def plans(self, tasks: Collection[Task] | None = None) -> dict[Task, TaskPlan]:
        """The plans of some tasks, by default of all that the data allows but those about time."""
        allowed = ", ".join(self.allowed)
        fix = f"it allows: {allowed}" if allowed else "give other data"
        for task in tasks or ():
            answer = self.answers.get(task)
            if not isinstance(answer, TaskPlan):
                reason = answer.reason if answer else f"not a task for a {self.kind}"
                raise SpecError(f"{self.name}: no {task} here: {reason}", fix=fix)
        if not self.allowed:
            reasons = "; ".join(
                f"{task}: {answer.reason}"
                for task, answer in self.answers.items()
                if isinstance(answer, TaskRefusal)
            )
            raise SpecError(f"{self.name}: nothing to test here: {reasons}", fix=fix)
        return {
            task: answer
            for task, answer in self.answers.items()
            if isinstance(answer, TaskPlan)
            and (answer.measure_frames is None if tasks is None else task in tasks)
        }

    def list_metrics(self, tasks: Collection[Task]) -> tuple[str, ...]:
        """The metrics that a test by these tasks gives, found without a model or a sound.

        Args:
            tasks: Some of those that the data allows, none of them about time.
        """
        rng = np.random.default_rng(0)
        sounds = rng.normal(size=(len(self.sounds), _DIM))
        metrics: Metrics = {}
        for plan in self.plans(tasks).values():
            vectors = {text: rng.normal(size=_DIM) for text in plan.texts}
            metrics |= plan.measure(sounds, vectors)
        return tuple(name for name, metric in metrics.items() if metric.n)


HEARD: Final = "heard in training"
"""The fact that tells how many recordings of a test the model was trained on."""
_UNKNOWN: Final = "not known"


def add_heard_fact(benchmark: Benchmark, model: Path) -> Benchmark:
    """The benchmark, with the fact of how many of its recordings a model was trained on."""
    fact = describe_heard(benchmark.recordings, f"a {benchmark.kind}", model)
    return replace(benchmark, facts={**benchmark.facts, HEARD: fact})


def describe_heard(recordings: Recordings | None, what: str, model: Path) -> str:
    """How many recordings of a test a model was trained on, in words.

    Args:
        model: Folder of a run; of any other model it is not known.
    """
    if recordings is None:
        return f"{_UNKNOWN}, {what} does not name its recordings"
    training = load_recordings(model)
    if training is None:
        return f"{_UNKNOWN}, there is no {RECORDINGS_FILE} in {model}"
    shared, all_ = recordings.count_shared(training), len(recordings.clips)
    return f"{shared:,} of {all_:,} recordings"


def heard_warning(facts: Mapping[str, str]) -> str:
    """One line for whoever reads the figures of a test; "" where nothing speaks against them."""
    fact = facts.get(HEARD, "0 ")
    if fact.startswith("0 "):
        return ""
    if fact.startswith(_UNKNOWN):
        return f"whether the model was trained on recordings of this test is {fact}"
    return f"{fact} of this test were heard in training, so its figures are too good"
