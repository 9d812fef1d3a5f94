"""`segue compare`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from synth.base.command import CommandResult
from synth.base.doors import make_console
from synth.base.errors import CorpusError, SpecError
from synth.corpus.kinds import PathKind, expect

if TYPE_CHECKING:
    from train.bench.metrics import Metric
    from train.report.results import Tested


def compare_command(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Folders of trained models, two or more.", show_default=False),
    ],
    test: Annotated[
        str | None, typer.Option(help="Compare only this test; by default all that two runs share.")
    ] = None,
) -> CommandResult:
    """Compare trained models by the results that `segue eval` left in their folders.

    Every metric has its chance level, every value its 95 % interval. This command tests no model:
    `segue eval RUN DATA` does, and `segue bench run` on frozen test sets.

    Example: `segue compare runs/baseline runs/hard-negatives`
    """
    from train.report.results import read_evaluations  # torch takes a while

    if len({run.resolve() for run in runs}) < 2:
        raise SpecError("expected two runs or more, got one", fix="give another run")
    for run in runs:
        if not run.exists():
            raise CorpusError(f"{run}: no such folder", fix="give the folders of trained models")
        expect(run, PathKind.RUN, PathKind.OTHER)
    tests = {run: {tested.name: tested for tested in read_evaluations(run)} for run in runs}
    for run, tested in tests.items():
        if not tested:
            raise CorpusError(f"{run}: has no test results", fix=f"run `segue eval {run} DATA`")
    names = list(dict.fromkeys(name for tested in tests.values() for name in tested))
    shared = [name for name in names if sum(name in tested for tested in tests.values()) > 1]
    chosen = shared if test is None else [name for name in names if name == test]
    if not chosen:
        raise CorpusError(
            f"no test {'that two runs share' if test is None else test}",
            fix=f"test the runs on the same data; tests found: {', '.join(names)}",
        )
    results = {
        name: {run: tested[name] for run, tested in tests.items() if name in tested}
        for name in chosen
    }
    facts = {
        name: {
            str(run): {metric: value.to_json() for metric, value in tested.metrics.items()}
            for run, tested in of_runs.items()
        }
        for name, of_runs in results.items()
    }
    return CommandResult({"tests": facts}, partial(_print, results))


def _print(results: Mapping[str, Mapping[Path, Tested]]) -> None:
    from train.bench.verdicts import format_value

    console = make_console(soft_wrap=False)
    for name, of_runs in results.items():
        titles = _shorten([*of_runs])
        table = Table(escape(name), "chance", *map(escape, titles))
        metrics = dict.fromkeys(metric for tested in of_runs.values() for metric in tested.metrics)
        for metric in metrics:
            values = [tested.metrics.get(metric) for tested in of_runs.values()]
            chances = (format_value(metric, value.chance) for value in values if value is not None)
            table.add_row(
                Text(metric),
                ", ".join(dict.fromkeys(chances)),
                *(_format(metric, value) for value in values),
            )
        console.print(table)
        for difference in _find_differences(of_runs):
            console.print(f"[yellow]note[/]: {escape(difference)}")
        for run, tested in of_runs.items():
            if tested.other_weights:
                console.print(
                    f"[yellow]note[/]: the weights of {run} have changed since it was tested"
                )


def _find_differences(of_runs: Mapping[Path, Tested]) -> Iterator[str]:
    """What tests of one name differ in, but for what is of the models."""
    from train.bench.evaluate import WEIGHTS
    from train.bench.plan import HEARD

    facts = {run: tested.facts for run, tested in of_runs.items() if tested.facts}
    for fact in dict.fromkeys(fact for told in facts.values() for fact in told):
        values = {run: told.get(fact, "not told") for run, told in facts.items()}
        if fact not in ("model", WEIGHTS, HEARD) and len(set(values.values())) > 1:
            details = ", ".join(f"{value} for {run}" for run, value in values.items())
            yield f"the tests may differ; {fact}: {details}"
    for run in of_runs:
        if run not in facts:
            yield f"nobody knows what {run} was tested on"


def _format(name: str, metric: Metric | None) -> str:
    from train.bench.verdicts import format_whole

    return "-" if metric is None else format_whole(name, metric)


def _shorten(runs: Sequence[Path]) -> list[str]:
    """The runs' names, without the folder that all lie in."""
    places = [run.resolve() for run in runs]
    shared = os.path.commonpath([place.parent for place in places])
    return [str(place.relative_to(shared)) for place in places]
