"""`segue night schedule`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.common.options import (
    EngineOption,
    JsonOption,
    SpecArgument,
    StoreOption,
    WorkersOption,
)
from pipelines.cli.common.show import print_json, quieten_prefect
from pipelines.cli.common.source import resolve_destination
from pipelines.cli.make.build import choose_engine
from pipelines.flows.nights.schedule import Night, Times, read_nightly, settings_beside
from pipelines.spec.file import read_spec
from synth.base.doors import make_console
from synth.base.errors import SpecError
from synth.base.progress import show_waiting

CronOption = Annotated[
    str | None, typer.Option(help='When: minute, hour, day, month, weekday, as in "0 3 * * *".')
]
EveryOption = Annotated[str | None, typer.Option(help="Or every 10s, 30m, 6h, 1d.")]
TimezoneOption = Annotated[str, typer.Option(help="Of --cron, as in Europe/Berlin.")]
NightlyOption = Annotated[
    Path | None,
    typer.Option(help="Settings of the night; by default NAME.nightly.yaml beside NAME.yaml."),
]


def schedule_command(
    spec: SpecArgument,
    cron: CronOption = None,
    every: EveryOption = None,
    timezone: TimezoneOption = "UTC",
    now: Annotated[bool, typer.Option("--now", help="Begin with a run at once.")] = False,
    nightly: NightlyOption = None,
    out: StoreOption = Path(),
    workers: WorkersOption = None,
    engine: EngineOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a corpus's night on a schedule, from this process, until Ctrl-C.

    A night rebuilds what changed, judges it, and points `latest` to it only if it passes. The
    server is the one that PREFECT_API_URL names, or one of this schedule's own. `segue night list`
    and the other commands of the group find it by the same --out.

    Example: `segue night schedule corpora/acba.yaml --cron "0 3 * * *"`
    """
    out = resolve_destination(out)
    quieten_prefect()
    times = Times.of(cron, every, timezone)
    night = make_night(spec, out, choose_engine(engine, workers), nightly, times)
    if not (cron or every or now):
        raise SpecError("no time given", fix='give --cron "0 3 * * *", --every 6h or --now')
    with show_waiting("loading Prefect"):
        from pipelines.flows.serving import NightRun, serve

    def announce(address: str) -> None:
        if as_json:
            print_json({"corpus": night.corpus, "api": address})
        else:
            pages = address.removesuffix("/api")
            make_console().print(f"{night.corpus} is scheduled: {pages} (Ctrl-C stops it)")

    def report(run: NightRun) -> None:
        if as_json:
            print_json(run.to_json())
        else:
            lasted = f" in {run.seconds:g} s" if run.message else ""
            message = f": {run.message}" if run.message else ""
            make_console().print(f"{run.begun} {run.name} {run.state}{lasted}{message}")

    serve(night, now, announce, report)


def make_night(
    spec: Path, out: Path, workers: str | int, nightly: Path | None, times: Times
) -> Night:
    """A night, its files read and checked."""
    parsed = read_spec(spec)
    settings = nightly or settings_beside(spec)
    read_nightly(settings)
    return Night(parsed.corpus, spec, out, workers, settings, times)
