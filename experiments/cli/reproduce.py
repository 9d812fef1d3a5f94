"""`segue reproduce`: a paper's experiment, from the sounds to its table beside ours."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from pipelines.cli.common.options import WorkersOption
from pipelines.cli.common.show import say
from pipelines.cli.make.build import choose_worker_count
from synth.base.command import CommandResult
from synth.base.doors import make_console
from synth.base.progress import Observer

if TYPE_CHECKING:
    from experiments.harness.experiment import ExamSplit
    from experiments.harness.library import SoundLibrary
    from experiments.harness.runner import ExperimentOutcome


def reproduce_command(
    name: str,
    source: Annotated[str | None, typer.Option(metavar="NAME:PATH")] = None,
    scale: str = "tiny",
    split: str = "test",
    arm: list[str] | None = None,
    seeds: Annotated[int, typer.Option(min=1)] = 3,
    out: Annotated[Path, typer.Option(file_okay=False)] = Path("out/reproduce"),
    results: Annotated[Path, typer.Option(file_okay=False)] = Path("docs/results"),
    device: str = "cpu",
    workers: WorkersOption = None,
    *,
    observer: Observer,
) -> CommandResult:
    """Reproduce a paper's experiment, or run ours: build, train, test, and judge claims.

    Repeating the command resumes a killed run: finished work in --out is kept.

    Example: `segue reproduce acba --source esc10:/data/ESC-10 --scale tiny`

    Args:
        name: acba, triplets, scenes, negation, tag-captions, additions or together.
        source: Use these sounds, as NAME:PATH, not the embedded ones.
        scale: tiny: minutes on two cores; medium: hours; small: minutes on a GPU; paper: the
            paper's sizes.
        split: Split to test on: val to choose settings, test for results.
        arm: Train only this arm; repeatable.
        seeds: Training runs per arm.
        out: Folder for corpora and models.
        results: Folder for the table, plot and figures.
        device: cpu, cuda, cuda:1, ...
    """
    from experiments.harness.experiment import ExamSplit
    from experiments.harness.library import SoundLibrary
    from experiments.harness.results import to_json, write_results
    from experiments.harness.runner import Machine, carry_out
    from experiments.registry import find_experiment, parse_exam_split

    started = time.monotonic()
    library = SoundLibrary.parse(source) if source is not None else None
    exam_split = parse_exam_split(split)
    if library is not None and exam_split is ExamSplit.VAL:
        library = library.hold_out_val()
    experiment = find_experiment(name, scale, library)
    arms = arm or []
    if arms:
        experiment = experiment.select_arms(arms)
    machine = Machine(out, choose_worker_count(workers), device)
    outcome = carry_out(experiment, tuple(range(seeds)), machine, observer, exam_split)
    command = format_command(name, library, scale, seeds, exam_split, arms)
    paths = write_results(outcome, command, results)
    seconds = round(time.monotonic() - started, 1)
    files = {suffix: str(path) for suffix, path in paths.items()}
    times = {"seconds": outcome.seconds, "command_seconds": seconds}

    def show() -> None:
        _print(outcome)
        for path in files.values():
            say(f"wrote {path}")
        say(f"{seconds:.0f} s in all")

    return CommandResult(to_json(outcome, command) | {"files": files} | times, show)


def format_command(
    name: str,
    library: SoundLibrary | None,
    scale: str,
    seeds: int,
    split: ExamSplit,
    arms: Sequence[str] = (),
) -> str:
    """The command that makes the results again; where the sounds lie is the reader's affair."""
    words = ["segue", "reproduce", name, "--scale", scale, "--seeds", str(seeds)]
    if library is not None:
        words += ["--source", f"{library.name}:PATH" if library.settings else library.name]
    if split != "test":
        words += ["--split", split]
    for arm in arms:
        words += ["--arm", arm]
    return shlex.join(words)


def _print(outcome: ExperimentOutcome) -> None:
    from experiments.harness.results import (
        CLAIM_COLUMNS,
        COLUMNS,
        judge_all,
        make_claim_row,
        make_table_rows,
    )

    console = make_console(soft_wrap=False)
    shown = Table(*COLUMNS, title=outcome.experiment.title)
    for rows in make_table_rows(outcome):
        for row in rows:
            shown.add_row(*row)
        shown.add_section()
    console.print(shown)
    claims = Table(*CLAIM_COLUMNS, show_lines=True)
    for judgement in judge_all(outcome):
        claims.add_row(*make_claim_row(judgement))
    console.print(claims)
