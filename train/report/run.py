"""The report of a training run: everything that its page shows. Who shows it renders the page."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synth.storage import format_place
from train.bench.heard import heard_warning
from train.bench.report import split_main_metrics
from train.bench.verdicts import explain_metrics, format_value, is_share, verdicts
from train.config.run import TrainConfig
from train.engine.run_folder import read_run_settings, require_regular_files
from train.report.evaluations import read_evaluations
from train.report.history import LOSS, Curves, collect_curves, read_history
from train.report.origin import find_learnt, read_outcome


@dataclass(frozen=True, slots=True)
class RunReport:
    """What the page of a training run shows.

    Args:
        name: Of the run, in letters that a file's name may have.
        values: All other values of the page's template, by name.
        facts: What a program wants to know of the run, as JSON values.
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
    name = folder.resolve().name
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
        "evaluate": _format_evaluation_command(folder, config),
        "format_value": format_value,
        "is_share": is_share,
        "split_main_metrics": split_main_metrics,
        "verdicts": verdicts,
        "heard_warning": heard_warning,
        "glossary": explain_metrics(name for each in tested for name in each.metrics),
    }
    facts: dict[str, Any] = {
        "run": name,
        "finished": outcome.finished,
        "step": history.last,
        "steps": config.steps,
        "evaluations": [each.name for each in tested],
        "of other weights": [each.name for each in tested if each.other_weights],
    }
    return RunReport(name, collect_curves(history, config), values, facts)


def _format_evaluation_command(folder: Path, config: TrainConfig) -> str:
    place = format_place(config.corpus)
    words = ["segue", "eval", str(folder), place, "--split", "test"]
    return shlex.join(words)
