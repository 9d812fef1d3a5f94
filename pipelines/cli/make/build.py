"""`segue build`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pipelines.cli.common.options import (
    EngineOption,
    PrefectOption,
    StageOption,
    StoreOption,
    WorkersOption,
)
from pipelines.cli.common.show import (
    print_blocked,
    print_findings,
    print_next,
    print_note,
    quieten_prefect,
    say,
)
from pipelines.cli.make.rebuild import (
    DEFAULTS,
    RetriesOption,
    TimeoutOption,
    read_request,
    rebuild_version,
)
from pipelines.config.prefect_server import find_server
from pipelines.engines.engine import check_engine
from synth.base.atomic import format_count
from synth.base.command import CommandResult, Given, refuse_given
from synth.base.doors import make_console
from synth.base.errors import SpecError
from synth.base.processors import processors
from synth.base.progress import Observer
from synth.storage import format_place

if TYPE_CHECKING:
    from pipelines.builder.build import Summary
    from pipelines.builder.schedule import RenderSettings
    from pipelines.config.spec import Spec

LOCALLY: Final = "give --workers N alone; it is the same as --engine local:N"


def build_command(
    spec: Path,
    out: StoreOption = Path(),
    stage: StageOption = None,
    workers: WorkersOption = None,
    engine: EngineOption = None,
    prefect: PrefectOption = None,
    timeout: TimeoutOption = DEFAULTS.timeout_s,
    retries: RetriesOption = DEFAULTS.retries,
    version: str | None = None,
    *,
    given: Given = frozenset(),
    observer: Observer,
) -> CommandResult:
    """Build a corpus from a spec. Finished shards are kept.

    If --version names a finished version, it is rebuilt as with `segue rebuild`: if settings,
    clips, libraries and algorithms are unchanged, missing shards are rendered and every shard is
    compared with its receipt. Otherwise the differences are listed, nothing is changed, and the
    exit status is 1.

    Example: `segue build corpora/acba.yaml --out /data/segue --workers 8`

    Args:
        spec: The corpus spec, a YAML file.
        version: Name of the version. A finished version is rebuilt byte for byte.
    """
    from pipelines.builder.schedule import RenderSettings
    from synth.corpus.corpus import holds_corpus

    if holds_corpus(spec):
        place = format_place(spec)
        raise SpecError(
            f"{place}: expected a spec, got a corpus", fix=f"use `segue rebuild {place}`"
        )
    request, built, out = read_request(spec, version, out, stage)
    settings = RenderSettings(timeout_s=timeout, retries=retries)
    if built is not None:
        reason = f"version {version} is there, and is rebuilt in this process and its workers"
        refuse_given(given, {"--engine", *(["--prefect"] if prefect else [])}, reason)
        return rebuild_version(built, request, workers, settings, observer)
    summary = run_build(request, out, choose_engine(engine, workers), prefect, observer, settings)
    return CommandResult(summary.to_json(), partial(print_summary, summary))


def run_build(
    spec: Spec,
    out: Path,
    where: str | int,
    prefect: bool | None,
    observer: Observer,
    settings: RenderSettings = DEFAULTS,
) -> Summary:
    """Build with Prefect or without; the result is the same.

    Args:
        where: An engine's name, or a number of worker processes.
        prefect: Whether as a Prefect flow; None for a flow if a server is configured.
    """
    if not (find_server() if prefect is None else prefect):
        from pipelines.builder.build import build

        return build(spec, out, where, observer, settings)
    quieten_prefect()
    from pipelines.flows.local import build_with_prefect

    return build_with_prefect(spec, out, where, observer, settings)


def choose_engine(engine: str | None, workers: int | None) -> str | int:
    """The engine that is asked for, or so many local processes."""
    if engine is None:
        return choose_worker_count(workers)
    if workers is not None:
        raise SpecError("got both --engine and --workers: expected one", fix=LOCALLY)
    check_engine(engine)
    return engine


def choose_worker_count(workers: int | None) -> int:
    """As many workers as processors, unless told otherwise."""
    return processors() if workers is None else workers


def print_summary(summary: Summary) -> None:
    """What was made, skipped and quarantined, and what to do next."""
    make_console().print(
        f"[bold]{summary.corpus}[/] {summary.version}: {format_count(summary.samples, 'sample')}, "
        f"{summary.hours:.2f} h in {format_count(summary.shards, 'shard')}"
    )
    say(
        f"{format_count(summary.rendered, 'shard')} rendered, {summary.skipped:,} already there, "
        f"{format_count(summary.quarantined, 'clip')} quarantined, {summary.seconds:.1f} s"
    )
    manifests = summary.paths["manifests"]
    print_findings(summary.findings, manifests)
    print_blocked(summary.blocked)
    if summary.excerpts_of_captioned_clips:
        print_note(
            f"{summary.excerpts_of_captioned_clips:,} sounds are excerpts "
            "of captioned clips, but their captions describe whole clips; to keep clips whole, "
            "set `length: natural` or a longer exact length"
        )
    say(f"manifests  {manifests}")
    say(f"shards     {summary.paths['shards']}")
    print_next("segue", "inspect", manifests)
