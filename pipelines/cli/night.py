"""`segue night run`, `segue night schedule` and `segue night deploy`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from pipelines.cli.common.options import (
    EngineOption,
    SpecArgument,
    StageOption,
    StoreOption,
    WorkersOption,
)
from pipelines.cli.common.show import print_next, quieten_prefect, say
from pipelines.cli.common.source import refuse_fleeting, resolve_destination
from pipelines.cli.make.build import choose_engine
from synth.base.command import CommandResult, Given, Tell, refuse_given
from synth.base.doors import make_console
from synth.base.errors import SpecError
from synth.base.progress import Observer, show_waiting

if TYPE_CHECKING:
    from pipelines.flows.schedule import Night, Times

CronOption = Annotated[
    str | None, typer.Option(help='When: minute, hour, day, month, weekday, as in "0 3 * * *".')
]
EveryOption = Annotated[str | None, typer.Option(help="Or an interval: 10s, 30m, 6h, 1d.")]
TimezoneOption = Annotated[str, typer.Option(help="Time zone of --cron, as in Europe/Berlin.")]
NightlyOption = Annotated[
    Path | None,
    typer.Option(help="Settings of the night; by default NAME.nightly.yaml beside NAME.yaml."),
]


def schedule_command(
    spec: SpecArgument,
    cron: CronOption = None,
    every: EveryOption = None,
    timezone: TimezoneOption = "UTC",
    now: bool = False,
    nightly: NightlyOption = None,
    out: StoreOption = Path(),
    workers: WorkersOption = None,
    engine: EngineOption = None,
    *,
    given: Given = frozenset(),
    tell: Tell,
) -> None:
    """Run a corpus's night on a schedule, in this process, until Ctrl-C.

    A night rebuilds what changed, checks the new version, and makes it the latest only if it
    passes. Without PREFECT_API_URL, the schedule starts its own server and prints the address. With
    PREFECT_API_URL set to that address, `prefect deployment` lists, pauses and starts nights.

    Example: `segue night schedule corpora/acba.yaml --cron "0 3 * * *"`

    Args:
        now: Start with a run at once.
    """
    from pipelines.flows.schedule import Times

    out = resolve_destination(out)
    quieten_prefect()
    if cron is None:
        refuse_given(given, {"--timezone"}, "needs --cron")
    times = Times.of(cron, every, timezone)
    night = make_night(spec, out, choose_engine(engine, workers), nightly, times)
    if not (cron or every or now):
        raise SpecError("expected a time", fix='give --cron "0 3 * * *", --every 6h or --now')
    with show_waiting("loading Prefect"):
        from pipelines.flows.serving import NightRun, serve

    def announce(address: str) -> None:
        def show() -> None:
            pages = address.removesuffix("/api")
            say(f"{night.corpus} is scheduled: {pages} (Ctrl-C stops it)")
            say(f"to list or pause it elsewhere: PREFECT_API_URL={address} prefect ...")

        tell(CommandResult({"corpus": night.corpus, "api": address}, show))

    def report(run: NightRun) -> None:
        def show() -> None:
            lasted = f" in {run.seconds:g} s: {run.message}" if run.message else ""
            begun = run.begun[:19].replace("T", " ")
            say(f"begun {begun} UTC  {run.name} {run.state}{lasted}")

        tell(CommandResult(asdict(run), show))

    serve(night, now, announce, report)


def make_night(
    spec: Path, out: Path, workers: str | int, nightly: Path | None, times: Times
) -> Night:
    """A night, its files read and checked."""
    from pipelines.config.file import read_spec
    from pipelines.flows.schedule import Night, read_nightly, settings_beside

    parsed = read_spec(spec)
    settings = nightly or settings_beside(spec)
    read_nightly(settings)
    return Night(parsed.corpus, spec, out, workers, settings, times)


# `segue night run`.


def run_command(
    spec: SpecArgument,
    nightly: NightlyOption = None,
    out: StoreOption = Path(),
    stage: StageOption = None,
    workers: WorkersOption = None,
    engine: EngineOption = None,
    *,
    observer: Observer,
) -> CommandResult:
    """Run a corpus's night once: rebuild what changed, check it, and promote it if it passes.

    If a gate fails, the exit status is 1, `latest` stays where it was, and the new version is kept.

    Example: `segue night run corpora/acba.yaml --out /data/segue`
    """
    from pipelines.config.file import read_spec
    from pipelines.flows.schedule import read_nightly, settings_beside

    out = resolve_destination(out, stage)
    quieten_prefect()
    read_spec(spec)
    settings = nightly or settings_beside(spec)
    read_nightly(settings)
    with show_waiting("loading Prefect"):
        from pipelines.flows.local import nightly_with_prefect

    facts = nightly_with_prefect(spec, out, choose_engine(engine, workers), settings, observer)
    return CommandResult(facts, partial(_print, facts))


def _print(facts: dict[str, Any]) -> None:
    make_console().print(
        f"[bold]{facts['corpus']}[/] {facts['version']}: {facts['samples']:,} samples, "
        f"{facts['rendered']:,} shards rendered, {facts['skipped']:,} already there; promoted"
    )
    table = Table("gate", "found", "wanted")
    for gate in facts["gates"]:
        table.add_row(gate["name"], gate["found"], gate["wanted"])
    make_console(soft_wrap=False).print(table)
    say(f"report  {facts['report']}")
    print_next("segue", "inspect", facts["paths"]["manifests"])


# `segue night deploy`.


def deploy_command(
    spec: SpecArgument,
    pool: Annotated[str, typer.Option()],
    cron: CronOption = None,
    every: EveryOption = None,
    timezone: TimezoneOption = "UTC",
    nightly: NightlyOption = None,
    file: Annotated[Path, typer.Option(dir_okay=False)] = Path("prefect.yaml"),
    no_register: bool = False,
    env: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE")] = None,
    out: StoreOption = Path(),
    workers: WorkersOption = None,
    engine: EngineOption = None,
    *,
    given: Given = frozenset(),
) -> CommandResult:
    """Have the workers of a Prefect work pool run a corpus's night.

    Paths are made absolute, and must exist on the workers' machines too.

    Example: `segue night deploy corpora/acba.yaml --pool nights --cron "0 3 * * *" --out /data`

    Args:
        pool: A process work pool, created if missing.
        file: The file to write.
        no_register: Only write the file; contact no server.
        env: An environment variable of the runs; repeatable. A value may name a block or a variable
            of Prefect: {{ prefect.blocks.secret.NAME }}, {{ prefect.variables.NAME }}.
    """
    from pipelines.flows.schedule import FLOW, Times, write_prefect_yaml

    quieten_prefect()
    if cron is None:
        refuse_given(given, {"--timezone"}, "needs --cron")
    times = Times.of(cron, every, timezone)
    refuse_fleeting(out)
    night = make_night(spec, out, choose_engine(engine, workers), nightly, times)
    night = replace(night, variables=_read_variables(env or ()))
    from pipelines.flows.serving import deployment_of, known_server, register

    deployment_of(night, pool)
    address = "http://HOST:4200/api"
    if not no_register:
        with known_server(out) as address:
            register(night, pool)
    write_prefect_yaml(file, night, pool)
    facts = {
        "deployment": f"{FLOW}/{night.corpus}",
        "pool": pool,
        "file": str(file),
        "registered": not no_register,
    }

    def show() -> None:
        plain = sorted(name for name, value in night.variables.items() if "{{" not in value)
        if plain:
            say(
                f"warning: {file} contains the values of {', '.join(plain)}; only its owner may "
                "read it. A secret is safer in a Prefect block: "
                "{{ prefect.blocks.secret.NAME }}",
                style="yellow",
            )
        make_console().print(f"[bold]{facts['deployment']}[/] for pool {pool}; written to {file}")
        say(
            f"next: PREFECT_API_URL={address} DO_NOT_TRACK=1 prefect worker start --pool {pool} "
            "--type process"
        )

    return CommandResult(facts, show)


def _read_variables(texts: Iterable[str]) -> dict[str, str]:
    variables: dict[str, str] = {}
    for number, text in enumerate(texts, start=1):
        name, equals, value = text.partition("=")
        if not (name.isidentifier() and equals):
            raise SpecError(
                f"--env number {number}: expected NAME=VALUE, with a name of letters, digits and _",
                fix="as in --env 'LLM_KEY={{ prefect.blocks.secret.llm-key }}'",
            )
        variables[name] = value
    return variables
