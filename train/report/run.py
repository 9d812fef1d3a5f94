"""The report of a training run: everything that its page shows. Who shows it renders the page."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from synth.storage import format_place
from train.bench.plan import heard_warning
from train.bench.report import split_main_metrics
from train.bench.verdicts import (
    explain_metrics,
    format_cells,
    format_value,
    is_share,
    list_columns,
    verdicts,
)
from train.config.run import TrainConfig
from train.engine.log import read_log
from train.engine.run_folder import read_run_settings, require_regular_files
from train.report.results import find_learnt, read_evaluations, read_outcome


@dataclass(frozen=True, slots=True)
class RunReport:
    """What the page of a training run shows.

    Args:
        name: Of the run, in letters that a file's name may have.
        values: All other values of the page's template, by name.
    """

    name: str
    curves: tuple[Curves, ...]
    values: Mapping[str, Any]
    facts: Mapping[str, Any]


def describe_run(folder: Path) -> RunReport:
    """Describe a training run, ended or not; equal files give equal reports."""
    require_regular_files(folder)
    config, sample_rate = read_run_settings(folder)
    history, outcome = read_history(folder), read_outcome(folder)
    tested = read_evaluations(folder)
    learnt = find_learnt(config, outcome.digests)
    losses = history.values.get(LOSS, ())
    name, place = folder.resolve().name, format_place(config.corpus)
    values = {
        "name": name,
        "config": config,
        "settings": json.dumps(config.model_dump(mode="json"), indent=2, ensure_ascii=False),
        "sample_rate": sample_rate,
        "history": history,
        "loss": losses[-1][1] if losses else None,
        "outcome": outcome,
        "tested": tested,
        "learnt": learnt,
        "evaluate": shlex.join(["segue", "eval", str(folder), place, "--split", "test"]),
        "format_value": format_value,
        "format_cells": format_cells,
        "list_columns": list_columns,
        "is_share": is_share,
        "split_main_metrics": split_main_metrics,
        "verdicts": verdicts,
        "heard_warning": heard_warning,
        "glossary": explain_metrics(name for test in tested for name in test.metrics),
    }
    facts: dict[str, Any] = {
        "run": name,
        "finished": outcome.finished,
        "step": history.last,
        "steps": config.steps,
        "evaluations": [test.name for test in tested],
        "of other weights": [test.name for test in tested if test.other_weights],
    }
    return RunReport(name, collect_curves(history, config), values, facts)


LOSS: Final = "loss"
VAL_LOSS: Final = "val_loss"
_STEP: Final = "step"
_TITLES: Final = {
    "lr": "Learning rate",
    "grad_norm": "Norm of the gradient",
    "scale": "Scale of the similarities",
    "samples_per_s": "Samples per second",
    "data_wait": "Share of the time spent waiting for data",
    "uncropped": "Sounds heard whole",
}


@dataclass(frozen=True, slots=True)
class Curves:
    """What one plot of a report shows.

    Args:
        points: Points (step, value) of each curve, by its name.
        rule: Name and value of a level to compare with; None for none.
        borders: Steps where one stage gives way to the next.
    """

    title: str
    points: Mapping[str, tuple[tuple[int, float], ...]]
    last: int
    rule: tuple[str, float] | None
    borders: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class History:
    """The log of a run.

    Args:
        values: Points (step, value) of each number that is logged, by its name.
    """

    values: Mapping[str, tuple[tuple[int, float], ...]]

    @property
    def last(self) -> int:
        """The last step that is logged; 0 where none is."""
        return max((points[-1][0] for points in self.values.values()), default=0)

    @property
    def best(self) -> tuple[int, float] | None:
        """Step and value of the lowest validation loss; None where nothing was validated."""
        points = self.values.get(VAL_LOSS, ())
        return min(points, key=lambda point: (point[1], point[0])) if points else None


def read_history(folder: Path) -> History:
    """The log of a run."""
    points: dict[str, list[tuple[int, float]]] = {}
    for _, facts in read_log(folder):
        step = int(facts.pop(_STEP))
        for name, value in facts.items():
            points.setdefault(name, []).append((step, value))
    return History({name: tuple(of_name) for name, of_name in points.items()})


def collect_curves(history: History, config: TrainConfig) -> tuple[Curves, ...]:
    """Every number over the steps, the losses in one plot; nothing where nothing is logged.

    Numbers that are not finite are left out, and counted in the name of the curve.
    """
    if not history.last:
        return ()
    borders = [sum(stage.steps for stage in config.stages[:at]) for at in range(len(config.stages))]
    reached = tuple(step for step in borders[1:] if step < history.last)
    # What equal similarities give among the captions of a full batch.
    chance = (f"ln {config.batch}, equal similarities:", math.log(config.batch))
    losses = _select_finite(history, {LOSS: "training", VAL_LOSS: "validation"})
    drawn = [Curves("Loss, in nats", losses, history.last, chance, reached)] if losses else []
    others = [name for name in history.values if name not in (LOSS, VAL_LOSS)]
    for name in others:
        title = _TITLES.get(name, name)
        curve = _select_finite(history, {name: title})
        drawn += [Curves(title, curve, history.last, None, reached)] if curve else []
    return tuple(drawn)


def _select_finite(
    history: History, names: Mapping[str, str]
) -> dict[str, tuple[tuple[int, float], ...]]:
    """The points that can be drawn of each number, by the name of its curve."""
    curves = {}
    for name, title in names.items():
        points = history.values.get(name, ())
        finite = tuple(point for point in points if math.isfinite(point[1]))
        missing = len(points) - len(finite)
        if finite:
            curves[f"{title} ({missing:,} not finite)" if missing else title] = finite
    return curves
