"""Carry out an experiment: build, train, test; what was done before is not done again."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import Any, Final

from experiments.harness.experiment import Arm, CorpusView, ExamSplit, Experiment, Folders
from experiments.harness.views import write_view
from pipelines.builder.build import build
from pipelines.config.spec import Spec
from synth.base.atomic import GOES_ON
from synth.base.errors import SegueError, SpecError
from synth.base.progress import Observer, track
from synth.base.rng import digest
from synth.corpus.corpus import Corpus
from train.bench.evaluate import assess
from train.bench.metrics import Metric
from train.bench.opening import open_embedder
from train.bench.plan import Benchmark
from train.config.run import Mix, TrainConfig
from train.engine.log import PHASE
from train.engine.loop import train
from train.engine.run_folder import MODEL_FILE
from train.model.device import torch_device

VIEWS: Final = "views"
RUNS: Final = "runs"
MODELS: Final = "models"
VIEWING: Final = "views"
PLANNING: Final = "plan tests"
TRAINING: Final = "train"
TESTING: Final = "test"
SOME: Final = "some-arms"
_LETTERS: Final = 12


@dataclass(frozen=True, slots=True)
class Machine:
    """Where an experiment is carried out; nothing of it decides what comes out.

    Args:
        out: Holds banks, shards, manifests, views, runs, and links to these by name (`models`).
    """

    out: Path
    workers: int = 0
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class ArmRun:
    """One arm with one seed.

    Args:
        digest: Of the settings, the seed and the corpus.
    """

    arm: Arm
    seed: int
    config: TrainConfig
    digest: str

    @property
    def trained(self) -> bool:
        """Whether it has ended."""
        return (self.config.out / MODEL_FILE).is_file()


@dataclass(frozen=True)
class ExperimentOutcome:
    """What an experiment gave.

    Args:
        corpora: What `corpus.json` says of each corpus, by name.
        metrics: By arm and metric, one measurement a seed.
        seconds: How long this command trained each run that it trained, by arm and seed.
    """

    experiment: Experiment
    seeds: tuple[int, ...]
    split: ExamSplit
    corpora: Mapping[str, Mapping[str, Any]]
    runs: tuple[ArmRun, ...]
    metrics: Mapping[str, Mapping[str, tuple[Metric, ...]]]
    seconds: Mapping[str, Mapping[int, float]]

    @property
    def label(self) -> str:
        """The name of its result files."""
        parts = [self.experiment.name, self.experiment.scale, self.experiment.source]
        parts += [] if self.split is ExamSplit.TEST else [self.split]
        return "-".join(parts if self.experiment.whole else [*parts, SOME])


def carry_out(
    experiment: Experiment,
    seeds: tuple[int, ...],
    machine: Machine,
    observer: Observer,
    split: ExamSplit = ExamSplit.TEST,
) -> ExperimentOutcome:
    """Build the corpora, train every arm with every seed, and test them all.

    Corpora and runs lie below `machine.out` under digests of all that determines them. Finished
    ones are taken as they are, a run that was killed goes on from its last checkpoint, and a
    changed setting makes anew what depends on it. A seed changes weights, order and dropout; the
    corpora and the tests are the same for all.

    Args:
        observer: Told of the progress: builds, views, planning, training in steps, tests in runs.
    """
    torch_device(machine.device)  # refuses one that is not there
    folders = build_corpora(experiment, machine, observer)
    benchmarks = _plan_tests(experiment, folders, split, observer)
    runs = tuple(
        place_run(arm, seed, folders, machine) for arm in experiment.arms for seed in seeds
    )
    seconds = _train_all(runs, observer)
    outcome = ExperimentOutcome(
        experiment,
        seeds,
        split,
        {name: Corpus.open(folder).facts for name, folder in folders.items()},
        runs,
        _test_all(experiment, runs, benchmarks, machine, observer),
        seconds,
    )
    # Links that call each run by its experiment, arm and seed, as a page of scores shows them.
    for run in outcome.runs:
        plain = re.sub(r"[^A-Za-z0-9]+", "-", run.arm.name).strip("-")
        link = machine.out / MODELS / outcome.label / f"{plain}-seed-{run.seed}"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(relpath(run.config.out, link.parent), target_is_directory=True)
    return outcome


def build_corpora(experiment: Experiment, machine: Machine, observer: Observer) -> dict[str, Path]:
    """The manifest folder of every corpus; what is built already is not made again."""
    folders: dict[str, Path] = {}
    for name, corpus in experiment.corpora.items():
        if isinstance(corpus, Spec):
            summary = build(corpus, machine.out, machine.workers, observer)
            folders[name] = Path(summary.paths["manifests"])
    views = [
        (name, view) for name, view in experiment.corpora.items() if isinstance(view, CorpusView)
    ]
    for name, view in track(views, observer, VIEWING, "corpora"):
        folders[name] = write_view(f"{experiment.name}-{name}", view, folders, machine.out / VIEWS)
    return folders


def place_run(arm: Arm, seed: int, folders: Folders, machine: Machine) -> ArmRun:
    """The arm on its corpora with a seed, in a folder that its digest names."""
    corpora = [folders[name] for name in (arm.corpus, *arm.mixed)]
    mixed = [str(share) for share in arm.mixed.values()]
    digests = [str(Corpus.open(folder).facts["digest"]) for folder in corpora]
    key = digest(*digests, *mixed, arm.config.model_dump_json(), str(seed))
    places = {
        "corpus": corpora[0],
        "mix": tuple(Mix(corpus=folders[name], weight=share) for name, share in arm.mixed.items()),
        "out": machine.out / RUNS / key[:_LETTERS],
        "seed": seed,
        "device": machine.device,
    }
    return ArmRun(arm, seed, arm.config.model_copy(update=places), key)


def _plan_tests(
    experiment: Experiment, folders: Folders, split: ExamSplit, observer: Observer
) -> dict[str, Benchmark]:
    """The test of each exam; refuses to train for what none of them would measure."""
    benchmarks: dict[str, Benchmark] = {}
    measured: set[str] = set()
    for exam in track(experiment.exams, observer, PLANNING, "tests"):
        benchmarks[exam.name] = exam.benchmark(folders, split)
        metrics = benchmarks[exam.name].list_metrics(exam.tasks)
        measured |= {f"{exam.name}.{metric}" for metric in metrics}
    needed = {line.metric for line in experiment.lines}
    needed |= {cell.metric for claim in experiment.claims for cell in claim.cells}
    if missing := sorted(needed - measured):
        raise SpecError(
            f"{experiment.name}: its tests lack {', '.join(missing)}",
            fix=f"give a library with more recordings in split {split}, or correct the experiment: "
            f"its tests give {', '.join(sorted(measured))}",
        )
    return benchmarks


def _train_all(runs: tuple[ArmRun, ...], observer: Observer) -> dict[str, dict[int, float]]:
    seconds: dict[str, dict[int, float]] = {}
    left = [run for run in runs if not run.trained]
    total = sum(run.config.steps for run in runs)
    done = total - sum(run.config.steps for run in left)
    observer.start(TRAINING, total, "steps", done=done)
    for run in left:
        begun = time.monotonic()
        steps = _Steps(observer, f"{run.arm.name}, seed {run.seed}")
        result = train(run.config, steps, resume=run.config.out.is_dir())
        if not result.finished:
            raise SegueError(
                f"{run.arm.name}, seed {run.seed}: stopped after step {result.step}", fix=GOES_ON
            )
        steps.reach(run.config.steps)
        seconds.setdefault(run.arm.name, {})[run.seed] = round(time.monotonic() - begun, 1)
    observer.finish(TRAINING, f"{len(runs)} runs")
    return seconds


def _test_all(
    experiment: Experiment,
    runs: tuple[ArmRun, ...],
    benchmarks: Mapping[str, Benchmark],
    machine: Machine,
    observer: Observer,
) -> dict[str, dict[str, tuple[Metric, ...]]]:
    metrics_of: dict[str, dict[str, tuple[Metric, ...]]] = {}
    observer.start(TESTING, len(runs), "runs")
    for run in runs:
        embedder = open_embedder(run.config.out, machine.device)
        metrics = metrics_of.setdefault(run.arm.name, {})
        for exam in experiment.exams:
            benchmark = benchmarks[exam.name]
            measured = assess(embedder, benchmark, exam.tasks, baselines=True).metrics
            for name, metric in measured.items():
                key = f"{exam.name}.{name}"
                metrics[key] = (*metrics.get(key, ()), metric)
        observer.advance(TESTING)
    observer.finish(TESTING)
    return metrics_of


class _Steps:
    """Observes one run's training, and tells of its steps as of some of all runs'."""

    def __init__(self, observer: Observer, note: str) -> None:
        self._observer = observer
        self._note = note
        self._told = 0
        self._read = 0

    def start(self, phase: str, total: int, unit: str, done: int | None = None) -> None:
        """Steps that an earlier command did are done."""
        if phase == PHASE:
            self.advance(phase, done or 0)

    def advance(self, phase: str, units: int = 1, note: str = "") -> None:
        """Reading the corpus, which comes first, is no step: only the note tells of it."""
        if phase == PHASE:
            self._told += units
            self._observer.advance(TRAINING, units, self._note)
        else:
            self._read += units
            self._observer.advance(TRAINING, 0, f"{self._note}: {self._read:,} samples read")

    def finish(self, phase: str, note: str = "") -> None:
        """The next run begins."""

    def reach(self, done: int) -> None:
        """`done` steps are done, those among them that stopping early left out."""
        self._observer.advance(TRAINING, done - self._told)
