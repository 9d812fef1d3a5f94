"""A split of a corpus of ours as a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from synth.corpus.corpus import Corpus
from train.bench.plan import Benchmark, DataKind, TaskPlan, TaskRefusal
from train.bench.settings import DEFAULTS, BenchSettings, Task
from train.bench.sounds import check_rate, corpus_sounds
from train.bench.tasks import choosing, localisation, recall, zste
from train.bench.tasks.samples import Samples
from train.config.run import AudioMode
from train.data.recordings import Recordings
from train.data.split import SplitData

_PLANNERS: Final = {
    Task.BAT: choosing.plan_bat,
    Task.TRIPLETS: choosing.plan_triplets,
    Task.RETRIEVAL: recall.plan_samples,
    Task.NEGATIVES: choosing.plan_negatives,
    Task.NEGATION: choosing.plan_negation,
    Task.ZERO_SHOT: zste.plan_zero_shot,
    Task.ZSTE: zste.plan_zste,
}


def corpus_benchmark(
    path: Path,
    split: str = "test",
    mode: AudioMode = AudioMode.SHARDS,
    settings: BenchSettings = DEFAULTS,
    sample_rate: int | None = None,
) -> Benchmark:
    """The tasks that a split's samples allow.

    Args:
        sample_rate: Of the model, in Hz; where it is given, another one is refused here.
    """
    opened = Corpus.open(path)
    if sample_rate is not None:
        check_rate(opened, sample_rate)
    data = SplitData(opened, split, mode)
    rows = data.rows(range(len(data)))
    samples = Samples(rows, str(opened.facts["recipe"]), split)
    answers: dict[Task, TaskPlan | TaskRefusal] = {
        task: planner(samples, settings) for task, planner in _PLANNERS.items()
    }
    answers[Task.LOCALISATION] = localisation.plan_samples(
        samples, opened.sample_rate, data.is_labelled, settings
    )
    facts = {
        "corpus": opened.name,
        "version": opened.version,
        "recipe": samples.recipe,
        "split": split,
    }
    name = f"split {split} of corpus {opened.name}"
    return Benchmark(
        DataKind.CORPUS,
        name,
        facts,
        corpus_sounds(data, rows),
        settings,
        answers,
        recordings=Recordings.of(data),
        corpus=opened,
    )
