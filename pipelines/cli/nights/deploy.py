"""`segue night deploy`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
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
from pipelines.cli.common.source import refuse_fleeting
from pipelines.cli.make.build import choose_engine
from pipelines.cli.nights.schedule import (
    CronOption,
    EveryOption,
    NightlyOption,
    TimezoneOption,
    make_night,
)
from pipelines.flows.nights.schedule import FLOW, Times, write_prefect_yaml
from synth.base.doors import make_console
from synth.base.errors import SpecError


def deploy_command(
    spec: SpecArgument,
    pool: Annotated[
        str, typer.Option(help="A process work pool; made if it is not there.", show_default=False)
    ],
    cron: CronOption = None,
    every: EveryOption = None,
    timezone: TimezoneOption = "UTC",
    nightly: NightlyOption = None,
    file: Annotated[Path, typer.Option(help="The file to write.", dir_okay=False)] = Path(
        "prefect.yaml"
    ),
    no_register: Annotated[
        bool, typer.Option("--no-register", help="Write the file, and tell no server.")
    ] = False,
    env: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="An environment variable of its runs; may be given several times. A value may "
            "name a block or a variable of Prefect: {{ prefect.blocks.secret.NAME }}, "
            "{{ prefect.variables.NAME }}.",
        ),
    ] = None,
    out: StoreOption = Path(),
    workers: WorkersOption = None,
    engine: EngineOption = None,
    as_json: JsonOption = False,
) -> None:
    """Have a corpus's night run by the workers of a Prefect work pool.

    Paths are made absolute: spec and --out must lie there on the workers' machines too.

    Example: `segue night deploy corpora/acba.yaml --pool nights --cron "0 3 * * *" --out /data`
    """
    quieten_prefect()
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
    if as_json:
        print_json(facts)
        return
    console = make_console()
    if written := sorted(name for name, value in night.variables.items() if "{{" not in value):
        console.print(
            f"warning: {file} holds the values of {', '.join(written)}, and only its owner may "
            "read it; a secret is safer in a block of Prefect: {{ prefect.blocks.secret.NAME }}",
            style="yellow",
            markup=False,
        )
    console.print(f"[bold]{facts['deployment']}[/] for pool {pool}; written to {file}")
    console.print(
        f"next: PREFECT_API_URL={address} DO_NOT_TRACK=1 prefect worker start --pool {pool} "
        "--type process",
        markup=False,
    )


def _read_variables(given: Iterable[str]) -> dict[str, str]:
    variables: dict[str, str] = {}
    for number, text in enumerate(given, start=1):
        name, equals, value = text.partition("=")
        if not (name.isidentifier() and equals):
            raise SpecError(
                f"--env number {number}: expected NAME=VALUE, and a name of letters, digits and _",
                fix="as in --env 'LLM_KEY={{ prefect.blocks.secret.llm-key }}'",
            )
        variables[name] = value
    return variables
