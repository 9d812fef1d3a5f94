"""What a run's folder tells: how it ended, which corpora it learnt from, how it was tested."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import torch
from pydantic import BaseModel, TypeAdapter, ValidationError

from synth.base.doors import read_json
from synth.base.errors import CorpusError, SegueError
from synth.corpus.corpus import CORPUS_FILE, Corpus
from synth.storage import format_place, local_place
from train.bench.evaluate import WEIGHTS
from train.bench.metrics import Metric
from train.bench.report import FACTS_FILE, METRICS_FILE
from train.config.run import TrainConfig
from train.engine.run_folder import CHECKPOINT_FILE, MODEL_FILE, load_tensors
from train.model.weights import weights_digest


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What the files of a run tell of it.

    Args:
        finished: Whether it has ended, and kept a model.
        parameters: Of the model; None where there are neither model nor checkpoint.
        digests: Of the corpus it learnt from, and of those mixed in; none where the checkpoint is
            gone.
    """

    finished: bool
    parameters: int | None
    digests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Learnt:
    """A corpus that a run learnt from.

    Args:
        place: Where the run was told that it lies.
        share: Of every batch; "" for the corpus that others are mixed into.
        digest: Of the version; "" where nobody knows.
        corpus: That version; None where it is not at hand.
    """

    place: str
    share: str
    digest: str
    corpus: Corpus | None

    @property
    def name(self) -> str:
        """The name of the corpus, or of its folder."""
        return Path(self.place).name if self.corpus is None else self.corpus.name


def read_outcome(folder: Path) -> RunOutcome:
    """The outcome of a run; its tensors' shapes are read, not kept."""
    saved = _load(folder / CHECKPOINT_FILE)
    kept = saved or _load(folder / MODEL_FILE)
    weights = kept.get("model")
    return RunOutcome(
        finished=(folder / MODEL_FILE).is_file(),
        parameters=None if weights is None else sum(weight.numel() for weight in weights.values()),
        digests=tuple(str(saved.get("origin", {}).get("corpus", "")).split()),
    )


def read_weights(folder: Path) -> str:
    """Digest of the weights that a run has kept; "" where it has kept none yet."""
    kept = _load(folder / MODEL_FILE, "cpu")
    return weights_digest(kept["model"]) if kept else ""


def _load(path: Path, device: str = "meta") -> Mapping[str, Any]:
    return load_tensors(path, torch.device(device)) if path.is_file() else {}


def find_learnt(config: TrainConfig, digests: Sequence[str]) -> list[Learnt]:
    """What a run learnt from: its corpus, then those mixed in.

    Args:
        digests: Of the versions it learnt from, in the same order; none where nobody knows.
    """
    places = [
        (config.corpus, ""),
        *((mix.corpus, f"{100 * mix.weight:g} %") for mix in config.mix),
    ]
    known = digests if len(digests) == len(places) else [""] * len(places)
    return [
        Learnt(format_place(place), share, digest, _find_corpus(place, digest))
        for (place, share), digest in zip(places, known, strict=True)
    ]


def _find_corpus(place: Path, digest: str) -> Corpus | None:
    """The version of a corpus that has a digest; `latest` may have moved since."""
    try:
        folder = local_place(place)
        above = (folder, *sorted(path.parent for path in folder.glob(f"*/{CORPUS_FILE}")))
        opened = [Corpus.open(path) for path in above if path.is_dir()]
    except (SegueError, OSError, ValueError):
        return None
    return next((corpus for corpus in opened if corpus.facts.get("digest") == digest), None)


@dataclass(frozen=True, slots=True)
class Tested:
    """The results of one test.

    Args:
        name: Its folder or file, below the run's folder.
        facts: What was tested on what; empty where it is not told.
        other_weights: Whether it is told to be of other weights than the run has now.
    """

    name: str
    metrics: Mapping[str, Metric]
    facts: Mapping[str, str]
    left_out: Mapping[str, int]
    other_weights: bool


class _Metric(BaseModel):
    value: float | None
    low: float | None
    high: float | None
    chance: float | None
    n: int
    text: float | None = None
    trivial: float | None = None
    prior: float | None = None


class _Facts(BaseModel):
    facts: dict[str, str] = {}
    left_out: dict[str, int] = {}


_METRICS: Final = TypeAdapter(dict[str, _Metric])
_NO_FACTS: Final = _Facts()
_MEND: Final = "test again, or remove the file"


def read_evaluations(run: Path) -> tuple[Tested, ...]:
    """Every test in a run's folder, and in the folders in it, by name."""
    paths = [*run.glob(f"*{METRICS_FILE}"), *run.glob(f"*/{METRICS_FILE}")]
    weights = read_weights(run) if paths else ""
    return tuple(_read(path, run, weights) for path in sorted(paths))


def _read(path: Path, run: Path, weights: str) -> Tested:
    beside = path.with_name(FACTS_FILE)
    notes = _NO_FACTS
    at = path
    try:
        metrics = _METRICS.validate_python(read_json(path, fix=_MEND))
        if path.name == METRICS_FILE and beside.is_file():
            at = beside
            notes = _Facts.model_validate(read_json(beside, fix=_MEND))
    except ValidationError as error:
        raise CorpusError(f"{at}: not results of `segue eval`", fix=_MEND) from error
    below = path.relative_to(run)
    return Tested(
        name=str(below.parent) if below.parent.name else below.stem,
        metrics={name: _metric(metric) for name, metric in metrics.items()},
        facts=notes.facts,
        left_out=notes.left_out,
        other_weights=notes.facts.get(WEIGHTS, weights) != weights,
    )


def _metric(metric: _Metric) -> Metric:
    figures = (metric.value, metric.low, metric.high, metric.chance)
    value, low, high, chance = (math.nan if figure is None else figure for figure in figures)
    measured = Metric(value, low, high, chance, metric.n)
    return replace(measured, text=metric.text, trivial=metric.trivial, prior=metric.prior)
