"""Windows that a model predicts for queries, scored against those of `segue export --to moments`.

Both are files of JSON lines as Lighthouse and QVHighlights have them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, Self, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from synth.base.doors import read_json_lines
from synth.base.errors import CorpusError, SpecError, nearest
from synth.export.moments import ABSENT
from train.bench.evaluate import Evaluation
from train.bench.metrics import RESAMPLES, Metric
from train.bench.metrics.measure import number_keys
from train.bench.metrics.moments import (
    MOST_PREDICTED,
    ScoredWindows,
    Windows,
    absence,
    moment_retrieval,
    overlap,
)
from train.bench.settings import QUERIES

ABSENT_FACT: Final = "absent sounds"
PRIOR: Final = "prior"
"""Stands for the windows that are most frequent where a model could have learnt them."""
_MOST_LEARNT: Final = 4096
_ASKED: Final = "give SPLIT.jsonl of `segue export --to moments`"
_ANSWERED: Final = (
    'give a file of predictions: JSON lines as in {"qid": "7", "pred_relevant_windows": '
    "[[1.5, 4.0, 0.9]]}"
)

_Line = TypeVar("_Line", bound="_JsonLine")


class _JsonLine(BaseModel):
    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True, allow_inf_nan=False)
    qid: str


class Query(_JsonLine):
    """What is asked of the recording `vid`, which lasts so many seconds.

    Args:
        relevant_windows: When the sound is heard; none where it is absent.
        group: Of recordings that share sounds.
    """

    duration: Annotated[float, Field(ge=1e-3, le=1e6)]
    relevant_windows: list[tuple[float, float]]
    vid: str
    group: str = ""

    @model_validator(mode="after")
    def _check_windows(self) -> Self:
        times = [0.0, *(at for window in sorted(self.relevant_windows) for at in window)]
        if (
            times != sorted(times)
            or times[-1] > self.duration
            or not all(start < end for start, end in self.relevant_windows)
        ):
            raise ValueError("expected windows in the recording that are apart")
        return self

    @property
    def windows(self) -> Windows:
        """As an array."""
        return np.array(self.relevant_windows, dtype=np.float64).reshape(-1, 2)


_MOST_SECONDS: Final = 1e9


class Prediction(_JsonLine):
    """What a model predicts for a query: start, end and score of windows."""

    pred_relevant_windows: list[tuple[float, float, float]]

    @model_validator(mode="after")
    def _check_windows(self) -> Self:
        for number, (start, end, _) in enumerate(self.pred_relevant_windows, start=1):
            if end < start:
                raise ValueError(f"window {number} ends at {end:g} s, before it starts")
        return self

    @property
    def windows(self) -> ScoredWindows:
        """As an array, the highest score first; no sum of times overflows."""
        windows = np.array(self.pred_relevant_windows, dtype=np.float64).reshape(-1, 3)
        windows[:, :2] = windows[:, :2].clip(-_MOST_SECONDS, _MOST_SECONDS)
        return windows[np.argsort(-windows[:, 2], kind="stable")]


def score_moments(
    predictions: Path, data: Path, threshold: float = 0.5, seed: int = 0
) -> Evaluation:
    """Every metric of some predictions, with what the most frequent windows give.

    Args:
        predictions: A file, or `prior`.
        data: The queries; those for absent sounds are in the file beside it, if there is one.
        threshold: A query has a window if one has a higher score.
    """
    if not math.isfinite(threshold):
        raise SpecError(f"--threshold {threshold}: expected a number", fix="such as 0.5")
    if seed < 0:
        raise SpecError(f"--seed {seed}: expected a seed", fix="give 0 or more")
    queries = _read(data, Query)
    beside = data.with_name(f"{data.stem}{ABSENT}{data.suffix}")
    if beside.is_file():
        queries += _read(beside, Query)
        if len({query.qid for query in queries}) < len(queries):
            raise CorpusError(f"{beside}: a qid stands in {data.name}, too", fix=_ASKED)
    if not any(query.relevant_windows for query in queries):
        raise CorpusError(f"{data}: no query has a window", fix="give a file with windows")
    prior, origin = _predict_prior(queries, data)
    predicted, left_out = prior, {}
    if predictions.is_dir():
        raise SpecError(f"{predictions}: a run or model predicts no windows", fix=_ANSWERED)
    if str(predictions) != PRIOR:
        predicted = {line.qid: line.windows for line in _read(predictions, Prediction)}
        if unknown := predicted.keys() - {query.qid for query in queries}:
            raise CorpusError(
                f"{predictions}: qid {min(unknown)} is neither in {data.name} nor in {beside.name}",
                fix=f"leave it out, or keep {beside.name} beside {data}",
            )
        missing = [query for query in queries if query.qid not in predicted]
        present = [query for query in queries if query.relevant_windows]
        if missing and missing == [query for query in queries if not query.relevant_windows]:
            left_out = {"moments: queries for absent sounds, without predictions": len(missing)}
            queries = present
        elif missing:
            raise CorpusError(
                f"{predictions}: no line for {len(missing):,} of {len(queries):,} queries, such as "
                f"qid {missing[0].qid}",
                fix="predict windows for each query; an empty list says that it is not heard",
            )
    baseline = _measure(queries, prior, threshold, seed)
    metrics = {
        name: replace(metric, prior=baseline[name].value)
        for name, metric in _measure(queries, predicted, threshold, seed).items()
    }
    facts = {
        "model": str(predictions),
        "benchmark": str(data),
        "windows alone": f"the {MOST_PREDICTED} most frequent windows of {origin}",
        "threshold": f"{threshold:g}",
        "seed": str(seed),
        "interval": f"95 %, {RESAMPLES} bootstrap draws of whole groups",
    }
    if all(query.relevant_windows for query in queries) and not left_out:
        facts[ABSENT_FACT] = f"absent sounds are not scored: {beside} is missing"
    return Evaluation(metrics, facts, left_out)


def _measure(
    queries: Sequence[Query], predicted: dict[str, ScoredWindows], threshold: float, seed: int
) -> dict[str, Metric]:
    present = [query for query in queries if query.relevant_windows]
    metrics = moment_retrieval(
        [predicted[query.qid] for query in present],
        [query.windows for query in present],
        np.array([query.duration for query in present]),
        _number_groups(present),
        seed,
    )
    if len(present) < len(queries):
        best = [predicted[query.qid][:, 2].max(initial=-math.inf) for query in queries]
        absent = np.array([not query.relevant_windows for query in queries])
        metrics |= absence(np.array(best), absent, threshold, _number_groups(queries), seed)
    return {f"moments_{name}": metric for name, metric in metrics.items()}


def _number_groups(queries: Sequence[Query]) -> np.ndarray:
    return number_keys([query.group or query.vid for query in queries])


def _read(path: Path, kind: type[_Line]) -> list[_Line]:
    """The lines of a file, each of another query."""
    fix = _ASKED if kind is Query else _ANSWERED
    lines: dict[str, _Line] = {}
    try:
        for where, value in read_json_lines(path, fix=fix):
            line = kind.model_validate(value)
            if lines.setdefault(line.qid, line) is not line:
                raise CorpusError(f"{where}: qid {line.qid} again", fix="leave one of them out")
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False)
        place = ".".join(map(str, first["loc"]))
        reason = first["msg"].removeprefix("Value error, ")
        if first["type"] == "missing" and len(first["loc"]) == 1:
            reason = f"is missing among {', '.join(value)}"
            near = nearest(place, value.keys() - kind.model_fields.keys())
            fix = f"rename {near!r} to {place!r}" if near else fix
        raise CorpusError(": ".join(filter(None, (where, place, reason))), fix=fix) from error
    return [*lines.values()]


# The prior: no audio, no words.


def learn_prior(queries: Sequence[Query]) -> ScoredWindows:
    """The most frequent windows, as shares of a recording: those that most others half overlap.

    What one of them overlaps counts for none of the later ones.
    """
    shares = [query.windows / query.duration for query in queries if query.relevant_windows]
    windows = np.concatenate(shares)[:_MOST_LEARNT] if shares else np.zeros((0, 2))
    meets = overlap(windows, windows) >= 0.5
    left = np.full(len(windows), True)
    chosen: list[tuple[float, float, float]] = []
    while left.any() and len(chosen) < MOST_PREDICTED:
        counts = (meets & left).sum(axis=1)
        best = int(counts.argmax())
        chosen.append((*windows[best], counts[best] / len(windows)))
        left &= ~meets[best]
    return np.array(chosen).reshape(-1, 3)


def _predict_prior(queries: Sequence[Query], data: Path) -> tuple[dict[str, ScoredWindows], str]:
    """The prior's windows by query, and what it learnt them from.

    That is the training part beside the file; where there is none, of each half of the groups the
    other half.
    """
    training = data.with_name(f"train{QUERIES}")
    halves = _number_groups(queries) % 2
    if training.is_file() and training.name != data.name:
        origin, priors = str(training), [learn_prior(_read(training, Query))] * 2
    else:
        origin = "the other half of the groups"
        priors = [
            learn_prior([query for query, half in zip(queries, halves, strict=True) if half != own])
            for own in (0, 1)
        ]
    scale = np.array([1.0, 1.0, 0.0])
    return {
        query.qid: priors[half] * (scale * query.duration + 1 - scale)
        for query, half in zip(queries, halves.tolist(), strict=True)
    }, origin
