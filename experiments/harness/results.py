"""What an experiment gave, written out: JSON for programs, Markdown for people."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.harness.estimate import INTERVAL, Judgement, estimate_metric, judge
from experiments.harness.experiment import CorpusView, ExamSplit, Line, keep
from experiments.harness.runner import ExperimentOutcome
from pipelines.engines.cluster import library_versions
from synth.base.atomic import replacing, write_text
from train.bench.verdicts import format_baseline, format_value, is_share

COLUMNS: Final = (
    *("measure", "arm", "ours", "95 % interval", "paper"),
    *("chance", "text alone", "trivial audio", "n"),
)
CLAIM_COLUMNS: Final = ("claim", "that is", "found", "95 % interval", "verdict")
_LETTERS: Final = 12
_WARNING: Final = "**Tested on split `val`, to choose settings: these are no results.**"
_MODELLING: Final = ("segue-audio", "torch", "transformers", "scipy")


def write_results(outcome: ExperimentOutcome, command: str, folder: Path) -> dict[str, Path]:
    """Write `NAME-SCALE-SOURCE.json`, `.md` and `.svg`; equal outcomes give equal bytes.

    Args:
        command: That makes it again.
        folder: Made where it is not there; older files of the same names are replaced.

    Returns:
        The files by suffix.
    """
    paths = {suffix: folder / f"{outcome.label}.{suffix}" for suffix in ("json", "md", "svg")}
    text = json.dumps(to_json(outcome, command), indent=1, ensure_ascii=False, allow_nan=False)
    write_text(paths["json"], text + "\n")
    write_text(paths["md"], render_markdown(outcome, command))
    draw(outcome, paths["svg"])
    return paths


def judge_all(outcome: ExperimentOutcome) -> list[Judgement]:
    """Every claim of the experiment, judged."""
    return [judge(claim, outcome.metrics) for claim in outcome.experiment.claims]


def to_json(outcome: ExperimentOutcome, command: str) -> dict[str, Any]:
    """Everything that was used and found."""
    experiment = outcome.experiment
    return {
        "experiment": experiment.name,
        "paper": experiment.title,
        "scale": experiment.scale.value,
        "source": experiment.source,
        "split": outcome.split.value,
        "command": command,
        "seeds": list(outcome.seeds),
        "interval": INTERVAL,
        "metrics": {
            arm: {
                name: estimate_metric(seeds).to_json()
                | {"chance": round(seeds[0].chance, 6), "n": seeds[0].n}
                | {
                    baseline: round(value, 6)
                    for baseline in ("text", "trivial")
                    if (value := seeds[0].to_json().get(baseline)) is not None
                }
                for name, seeds in metrics.items()
            }
            for arm, metrics in outcome.metrics.items()
        },
        "paper_values": {line.metric: dict(line.paper) for line in experiment.lines if line.paper},
        "claims": [
            {
                "claim": judgement.claim.text,
                "bounds": judgement.claim.bounds,
                **judgement.estimate.to_json(),
                "verdict": judgement.verdict.value,
            }
            for judgement in judge_all(outcome)
        ],
        "corpora": {name: _corpus_to_json(outcome, name) for name in experiment.corpora},
        "arms": {
            arm.name: {
                "corpus": arm.corpus,
                **({"mixed": dict(arm.mixed)} if arm.mixed else {}),
                "runs": {str(run.seed): run.digest for run in outcome.runs if run.arm == arm},
                "settings": arm.config.model_dump(
                    mode="json", exclude_defaults=True, exclude={"corpus", "out", "tensorboard"}
                ),
            }
            for arm in experiment.arms
        },
        "versions": _list_versions(),
    }


def _corpus_to_json(outcome: ExperimentOutcome, name: str) -> dict[str, Any]:
    facts, corpus = outcome.corpora[name], outcome.experiment.corpora[name]
    entry: dict[str, Any] = {
        "digest": facts["digest"],
        "samples": {split: part["samples"] for split, part in facts["splits"].items()},
    }
    if isinstance(corpus, CorpusView):
        entry |= {"view_of": list(corpus.parts), "reworded_by": corpus.reworded_by}
        return entry if corpus.clip is keep else entry | {"clips_by": corpus.clip.__name__}
    # Where a library lies says nothing of what it holds, which is in the digest.
    spec = corpus.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    spec["source"] = {
        source: {key: value for key, value in settings.items() if key not in ("root", "audio")}
        for source, settings in spec["source"].items()
    }
    return entry | {"spec": spec}


def _list_versions() -> dict[str, str]:
    """Of Python and of the libraries that make audio, models and numbers."""
    return {
        "python": platform.python_version(),
        **library_versions(),
        **{name: version(name) for name in _MODELLING},
    }


def render_markdown(outcome: ExperimentOutcome, command: str) -> str:
    """The plot, the table, the claims, and how they came about."""
    experiment = outcome.experiment
    lines = [
        f"# {experiment.name}, {experiment.scale}, {experiment.source}",
        "",
        f"{experiment.title}.",
        "",
        experiment.setup,
        "",
        f"    {command}",
        "",
        *((_WARNING, "") if outcome.split is ExamSplit.VAL else ()),
        f"Mean over seeds {', '.join(map(str, outcome.seeds))}. Interval, {INTERVAL}.",
        "",
        f"![The table below as a plot]({outcome.label}.svg)",
        "",
        *_render_rows(COLUMNS, (row for rows in make_table_rows(outcome) for row in rows)),
        "",
        *_render_rows(CLAIM_COLUMNS, map(make_claim_row, judge_all(outcome))),
        "",
        "Corpora:",
        "",
    ]
    for name, facts in outcome.corpora.items():
        counts = ", ".join(
            f"{part['samples']:,} {split}" for split, part in facts["splits"].items()
        )
        lines.append(f"- `{name}` {facts['digest'][:_LETTERS]}: {counts}")
    versions = ", ".join(f"{name} {number}" for name, number in _list_versions().items())
    lines += [
        "",
        f"Specs, settings, digests of the runs and every metric: `{outcome.label}.json`.",
        f"Made with {versions}.",
    ]
    return "\n".join(lines) + "\n"


def make_table_rows(outcome: ExperimentOutcome) -> Iterator[list[tuple[str, ...]]]:
    """The table, line by line: a row an arm, with the columns `COLUMNS`."""
    for line in outcome.experiment.lines:
        rows: list[tuple[str, ...]] = []
        for arm in outcome.experiment.arms:
            measured = outcome.metrics[arm.name][line.metric]
            estimate, metric = estimate_metric(measured), measured[0]
            value, low, high, chance = (
                format_value(line.metric, number)
                for number in (estimate.value, estimate.low, estimate.high, metric.chance)
            )
            paper = (
                format_value(line.metric, line.paper[arm.name]) if arm.name in line.paper else ""
            )
            title = "" if rows else line.title
            beside = (format_baseline(line.metric, base) for base in (metric.text, metric.trivial))
            row = (title, arm.name, value, f"{low} to {high}", paper, chance, *beside)
            rows.append((*row, f"{metric.n:,}"))
        yield rows


def make_claim_row(judgement: Judgement) -> tuple[str, ...]:
    """A claim with the columns `CLAIM_COLUMNS`."""
    claim, estimate = judgement.claim, judgement.estimate
    name = claim.cell.metric
    figures = (estimate.value, estimate.low, estimate.high)
    value, low, high = (format_value(name, figure) for figure in figures)
    return claim.text, claim.bounds, value, f"{low} to {high}", judgement.verdict.value


def _render_rows(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table in Markdown."""
    yield f"| {' | '.join(header)} |"
    yield "|---" * len(header) + "|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


# The plot of an experiment: a bar an arm, its interval, chance, and the paper's value.


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
        first = outcome.metrics[outcome.experiment.arms[0].name]
        axes.vlines(
            [100 * first[line.metric][0].chance for line in lines],
            [k - _BAR / 2 for k in range(len(lines))],
            [k + _BAR / 2 for k in range(len(lines))],
            colors=_INK,
            linestyles="dotted",
            label="chance",
        )
        axes.set_yticks(range(len(lines)), [line.title for line in lines])
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xlabel("percent")
        figure.legend(loc="outside upper center", ncols=2, frameon=False)
        figure.savefig(partial, format="svg", metadata={"Date": None, "Creator": None})


def _draw_arm(
    axes: Axes, outcome: ExperimentOutcome, lines: list[Line], arm: str, number: int
) -> None:
    thickness = _BAR / len(outcome.experiment.arms)
    shift = -_BAR / 2 + thickness * (number + 0.5)
    measured = outcome.metrics[arm]
    estimates = [estimate_metric(measured[line.metric]) for line in lines]
    places = [k + shift for k in range(len(lines))]
    values = [100 * estimate.value for estimate in estimates]
    spread = [
        [100 * (estimate.value - estimate.low) for estimate in estimates],
        [100 * (estimate.high - estimate.value) for estimate in estimates],
    ]
    cycle, colour = divmod(number, len(_COLOURS))
    axes.barh(
        places,
        values,
        height=0.9 * thickness,
        color=_COLOURS[colour],
        hatch="/////" if cycle else None,
        edgecolor="white" if cycle else None,
        label=arm,
    )
    axes.errorbar(values, places, xerr=spread, fmt="none", ecolor="#555555", capsize=2)
    dots = [(k + shift, 100 * line.paper[arm]) for k, line in enumerate(lines) if arm in line.paper]
    axes.plot(
        [value for _, value in dots],
        [place for place, _ in dots],
        linestyle="none",
        marker="D",
        markersize=4,
        color="white",
        markeredgecolor=_INK,
        label="the paper's" if number == 0 else None,
    )
