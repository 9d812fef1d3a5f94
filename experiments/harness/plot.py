"""The plot of an experiment: a bar an arm, its interval, chance, and the paper's value."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.harness.estimate import estimate_metric
from experiments.harness.experiment import Line
from experiments.harness.runner import ExperimentOutcome
from synth.base.atomic import replacing
from train.bench.figures import is_share

_COLOURS: Final = ("#1f3a4d", "#7aa6c2", "#c08a3e", "#e3c38f", "#6b8f71", "#a8a8a8", "#8d5a97")
_INK: Final = "#c0392b"
_BAR: Final = 0.8
_PLAIN: Final = {"svg.hashsalt": "segue", "svg.fonttype": "none"}
"""Makes equal plots equal files."""


def draw(outcome: ExperimentOutcome, path: Path) -> None:
    """Draw the lines of the table as SVG; median ranks, which are no shares, are left out."""
    lines = [line for line in outcome.experiment.lines if is_share(line.metric, 0.0)]
    arms = [arm.name for arm in outcome.experiment.arms]
    height = 1.4 + 0.22 * len(lines) * len(arms)
    with matplotlib.rc_context(_PLAIN), replacing(path) as partial:
        figure = Figure(figsize=(8, height), layout="constrained")
        axes = figure.add_subplot()
        for number, arm in enumerate(arms):
            _draw_arm(axes, outcome, lines, arm, number)
        _draw_chance(axes, outcome, lines)
        axes.set_yticks(range(len(lines)), [line.title for line in lines])
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xlabel("percent")
        figure.legend(loc="outside upper center", ncols=2, frameon=False)
        figure.savefig(partial, format="svg", metadata={"Date": None, "Creator": None})


def _draw_arm(
    axes: Axes, outcome: ExperimentOutcome, lines: list[Line], arm: str, number: int
) -> None:
    thick = _BAR / len(outcome.experiment.arms)
    shift = -_BAR / 2 + thick * (number + 0.5)
    measured = outcome.metrics[arm]
    found = [estimate_metric(measured[one.metric]) for one in lines]
    places = [k + shift for k in range(len(lines))]
    values = [100 * each.value for each in found]
    spread = [
        [100 * (each.value - each.low) for each in found],
        [100 * (each.high - each.value) for each in found],
    ]
    again, colour = divmod(number, len(_COLOURS))
    axes.barh(
        places,
        values,
        height=0.9 * thick,
        color=_COLOURS[colour],
        hatch="/////" if again else None,
        edgecolor="white" if again else None,
        label=arm,
    )
    axes.errorbar(values, places, xerr=spread, fmt="none", ecolor="#555555", capsize=2)
    paper = [(k + shift, 100 * one.paper[arm]) for k, one in enumerate(lines) if arm in one.paper]
    axes.plot(
        [value for _, value in paper],
        [place for place, _ in paper],
        linestyle="none",
        marker="D",
        markersize=4,
        color="white",
        markeredgecolor=_INK,
        label="the paper's" if number == 0 else None,
    )


def _draw_chance(axes: Axes, outcome: ExperimentOutcome, lines: list[Line]) -> None:
    first = outcome.metrics[outcome.experiment.arms[0].name]
    axes.vlines(
        [100 * first[one.metric][0].chance for one in lines],
        [k - _BAR / 2 for k in range(len(lines))],
        [k + _BAR / 2 for k in range(len(lines))],
        colors=_INK,
        linestyles="dotted",
        label="chance",
    )
