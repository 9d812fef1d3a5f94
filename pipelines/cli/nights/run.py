"""`segue night run`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from pipelines.cli.common.options import (
    EngineOption,
    JsonOption,
    SpecArgument,
    StageOption,
    StoreOption,
    WorkersOption,
)
from pipelines.cli.common.progress_display import show_progress
from pipelines.cli.common.show import print_json, print_next, quieten_prefect
from pipelines.cli.common.source import resolve_destination
from pipelines.cli.make.build import choose_engine
from pipelines.cli.nights.schedule import NightlyOption
from pipelines.flows.nights.schedule import read_nightly, settings_beside
from pipelines.spec.file import read_spec
from synth.base.doors import make_console
from synth.base.progress import show_waiting


def run_command(
    spec: SpecArgument,
    nightly: NightlyOption = None,
    out: StoreOption = Path(),
    stage: StageOption = None,
    workers: WorkersOption = None,
    engine: EngineOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a corpus's night once: rebuild what changed, judge it, promote it if it passes.

    Ends with status 1 where a gate is not passed; `latest` then stays where it was, and the new
    version stays as it was built.

    Example: `segue night run corpora/acba.yaml --out /data/segue`
    """
    out = resolve_destination(out, stage)
    quieten_prefect()
    read_spec(spec)
    settings = nightly or settings_beside(spec)
    read_nightly(settings)
    with show_waiting("loading Prefect"):
        from pipelines.flows import nightly_with_prefect

    with show_progress(as_json) as observer:
        found = nightly_with_prefect(spec, out, choose_engine(engine, workers), settings, observer)
    if as_json:
        print_json(found)
    else:
        _print(found)


def _print(found: dict[str, Any]) -> None:
    console = make_console()
    console.print(
        f"[bold]{found['corpus']}[/] {found['version']}: {found['samples']:,} samples, "
        f"{found['rendered']:,} shards rendered, {found['skipped']:,} already there; promoted"
    )
    table = Table("gate", "found", "wanted")
    for gate in found["gates"]:
        table.add_row(gate["name"], gate["found"], gate["wanted"])
    make_console(soft_wrap=False).print(table)
    console.print(f"report  {found['report']}", markup=False)
    print_next(console, "segue", "inspect", found["paths"]["manifests"])
