"""What a test found, written out: JSON for programs, Markdown and a plot for people."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from synth.base.atomic import replacing, write_text
from train.bench.evaluate import Evaluation
from train.bench.metrics import Metric
from train.bench.plan import heard_warning
from train.bench.verdicts import (
    MAIN,
    explain_metrics,
    format_cells,
    is_share,
    list_columns,
    verdicts,
)

METRICS_FILE: Final = "metrics.json"
FACTS_FILE: Final = "facts.json"
REPORT_FILE: Final = "report.md"
PLOT_FILE: Final = "report.png"
_TITLE: Final = ("model", "corpus", "table", "set", "split", "fold")
_TITLE_WIDTH: Final = 90
_IN_FRONT: Final = 3  # of the frame, which would hide what lies at 0 and 100 %


def write_report(evaluation: Evaluation, folder: Path, plot: bool = True) -> dict[str, Path]:
    """Write a test's results into a folder; equal results give equal JSON and Markdown.

    Args:
        folder: Made where it is not there; older files of the same names are replaced.

    Returns:
        The files by name: metrics.json ({metric: {value, low, high, chance, n}}), facts.json (what
        was tested on what, and what was left out), report.md and report.png.
    """
    facts = {"facts": dict(evaluation.facts), "left_out": dict(evaluation.left_out)}
    metrics = {name: metric.to_json() for name, metric in evaluation.metrics.items()}
    texts = {
        METRICS_FILE: _json(metrics),
        FACTS_FILE: _json(facts),
        REPORT_FILE: format_markdown(evaluation),
    }
    for name, text in texts.items():
        write_text(folder / name, text)
    if plot:
        draw(evaluation, folder / PLOT_FILE)
    names = [*texts, *([PLOT_FILE] if plot else [])]
    return {name: folder / name for name in names}


def format_markdown(evaluation: Evaluation) -> str:
    """What the results say, the results as tables, what they are of, and what was left out."""
    lines = ["# Evaluation", ""]
    lines += [", ".join(f"{name}: {_cell(value)}" for name, value in evaluation.facts.items()), ""]
    if warning := heard_warning(evaluation.facts):
        lines += [f"**{_cell(warning)}**", ""]
    if findings := verdicts(evaluation.metrics):
        lines += [*(f"- {line}" for line in findings), ""]
    main, others = split_main_metrics(evaluation.metrics)
    lines += metric_lines(main)
    if others:
        lines += ["", "## Other tests", "", *metric_lines(others)]
    if evaluation.left_out:
        lines += ["", "Left out:", ""]
        lines += [f"- {_cell(reason)}: {count:,}" for reason, count in evaluation.left_out.items()]
    if glossary := explain_metrics(evaluation.metrics):
        lines += ["", "What they are:", ""]
        lines += [f"- `{name}`: {line}" for name, line in glossary.items()]
    return "\n".join(lines) + "\n"


def split_main_metrics(
    metrics: Mapping[str, Metric],
) -> tuple[Mapping[str, Metric], Mapping[str, Metric]]:
    """The main metrics and the others; all in the first where none is a main one."""
    main = {name: metric for name, metric in metrics.items() if MAIN.fullmatch(name)}
    if not main:
        return metrics, {}
    return main, {name: metric for name, metric in metrics.items() if name not in main}


def metric_lines(metrics: Mapping[str, Metric]) -> list[str]:
    """Metrics as the lines of a Markdown table."""
    columns = list_columns(metrics.values())
    lines = [f"| metric | {' | '.join(columns.values())} |", f"|---{'|---:' * len(columns)}|"]
    for name, metric in metrics.items():
        cells = format_cells(name, metric)
        lines.append(f"| {' | '.join([_cell(name), *(cells[key] for key in columns)])} |")
    return lines


def draw(evaluation: Evaluation, path: Path) -> None:
    """A bar a metric with its interval and a mark at chance; median ranks are not drawn."""
    # Its figure draws with Agg and needs no display.
    from matplotlib.figure import Figure  # takes a while to import

    metrics, facts = evaluation.metrics, evaluation.facts
    drawn = {name: metric for name, metric in metrics.items() if is_share(name, metric.value)}
    summary = ", ".join(f"{name}: {facts[name]}" for name in _TITLE if name in facts)
    title = textwrap.wrap(summary, _TITLE_WIDTH)
    height = 1.2 + 0.2 * len(title) + 0.3 * max(len(drawn), 1)
    figure = Figure(figsize=(8, height), layout="constrained")
    # A path may hold dollar signs, which are no formula.
    figure.suptitle("\n".join(title), fontsize="medium", parse_math=False)
    axes = figure.add_subplot()
    places = list(range(len(drawn)))
    values = [100 * metric.value for metric in drawn.values()]
    below = [100 * max(metric.value - metric.low, 0) for metric in drawn.values()]
    above = [100 * max(metric.high - metric.value, 0) for metric in drawn.values()]
    axes.barh(places, values, height=0.6, color="#7aa6c2", label="value")
    intervals = axes.errorbar(
        values,
        places,
        xerr=[below, above],
        fmt="none",
        ecolor="#1f3a4d",
        capsize=4,
        capthick=2,
        zorder=_IN_FRONT,
        label="95 % interval",
    )
    for line in intervals.get_children():
        line.set_clip_on(False)
    axes.plot(
        [100 * metric.chance for metric in drawn.values()],
        places,
        linestyle="none",
        marker="|",
        markersize=12,
        markeredgewidth=2,
        color="#c0392b",
        clip_on=False,
        zorder=_IN_FRONT,
        label="chance",
    )
    axes.set_yticks(places, list(drawn))
    axes.margins(y=0.01)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("percent")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
    with replacing(path) as partial:
        # The software's version would make bytes differ between machines.
        figure.savefig(partial, format="png", dpi=120, metadata={"Software": None})


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
