"""The test results that lie in a run's folder, as `segue eval` and the nights leave them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, TypeAdapter, ValidationError

from synth.base.doors import read_json
from synth.base.errors import CorpusError
from train.bench.evaluate import WEIGHTS
from train.bench.metrics import Metric
from train.bench.report import FACTS_FILE, METRICS_FILE
from train.report.origin import read_weights


@dataclass(frozen=True, slots=True)
class Tested:
    """The results of one test.

    Args:
        name: Its folder or file, below the run's folder.
        facts: What was tested on what; empty where it is not told.
        left_out: How many items were passed over, by reason.
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


class _Facts(BaseModel):
    facts: dict[str, str] = {}
    left_out: dict[str, int] = {}


_METRICS: Final = TypeAdapter(dict[str, _Metric])
_NOT_TOLD: Final = _Facts()
_MEND: Final = "test again, or remove the file"


def read_evaluations(run: Path) -> tuple[Tested, ...]:
    """Every test in a run's folder, and in the folders in it, by name."""
    found = [*run.glob(f"*{METRICS_FILE}"), *run.glob(f"*/{METRICS_FILE}")]
    weights = read_weights(run) if found else ""
    return tuple(_read(path, run, weights) for path in sorted(found))


def _read(path: Path, run: Path, weights: str) -> Tested:
    beside = path.with_name(FACTS_FILE)
    told = _NOT_TOLD
    at = path
    try:
        metrics = _METRICS.validate_python(read_json(path, fix=_MEND))
        if path.name == METRICS_FILE and beside.is_file():
            at = beside
            told = _Facts.model_validate(read_json(beside, fix=_MEND))
    except ValidationError as error:
        raise CorpusError(f"{at}: not results of `segue eval`", fix=_MEND) from error
    below = path.relative_to(run)
    return Tested(
        name=str(below.parent) if below.parent.name else below.stem,
        metrics={name: _metric(one) for name, one in metrics.items()},
        facts=told.facts,
        left_out=told.left_out,
        other_weights=told.facts.get(WEIGHTS, weights) != weights,
    )


def _metric(one: _Metric) -> Metric:
    value, low, high, chance = (
        math.nan if each is None else each for each in (one.value, one.low, one.high, one.chance)
    )
    return Metric(value, low, high, chance, one.n)
