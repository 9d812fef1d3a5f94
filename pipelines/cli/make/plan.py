"""`segue plan`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pipelines.checks.preflight.training import LoaderKind, Training
from pipelines.cli.common.options import SpecArgument, StageOption, StoreOption
from pipelines.cli.common.show import print_blocked, print_findings, print_next, say
from pipelines.cli.common.source import print_index, resolve_destination
from pipelines.cli.make.build import choose_worker_count
from synth.base.atomic import format_count
from synth.base.command import CommandResult, Given, refuse_given
from synth.base.doors import make_console
from synth.base.errors import SpecError
from synth.base.progress import Observer

if TYPE_CHECKING:
    from pydantic import BaseModel

    from pipelines.builder.findings import Findings
    from pipelines.checks.preflight.report import PreflightReport
    from pipelines.store.places import Places
    from synth.sources.block import Blocked

_TRAINING = "Preflight of a training run"
_OF_TRAINING: Final = frozenset(
    {
        *("--loader", "--split", "--keep-groups", "--epochs"),
        *("--steps-per-s", "--price-per-gpu-hour"),
    }
)


def plan_command(
    spec: SpecArgument,
    out: StoreOption = Path(),
    stage: StageOption = None,
    workers: Annotated[int | None, typer.Option(min=0)] = None,
    gpus: Annotated[int | None, typer.Option(min=1, rich_help_panel=_TRAINING)] = None,
    batch: Annotated[int | None, typer.Option(min=1, rich_help_panel=_TRAINING)] = None,
    loader: Annotated[list[LoaderKind] | None, typer.Option(rich_help_panel=_TRAINING)] = None,
    split: Annotated[list[str] | None, typer.Option(rich_help_panel=_TRAINING)] = None,
    keep_groups: Annotated[bool, typer.Option(rich_help_panel=_TRAINING)] = True,
    epochs: Annotated[int, typer.Option(min=1, rich_help_panel=_TRAINING)] = 1,
    steps_per_s: Annotated[float | None, typer.Option(min=1e-6, rich_help_panel=_TRAINING)] = None,
    price_per_gpu_hour: Annotated[
        float | None, typer.Option(min=0, rich_help_panel=_TRAINING)
    ] = None,
    *,
    given: Given = frozenset(),
    observer: Observer,
) -> CommandResult:
    """Plan a corpus: make its scenes and captions, but no audio.

    `segue build` also does this. A plan can be audited, inspected and queried. It needs no
    recordings if the source is a `vocabulary`.

    `--gpus` and `--batch` check the plan for a training run: what every rank and loader worker
    gets, the steps that all ranks can take, disk, time and cost. A plan that would starve or hang a
    rank is refused.

    Examples: `segue plan corpora/acba.yaml`,
    `segue plan corpora/acba.yaml --gpus 8 --workers 4 --batch 256`

    Args:
        workers: Worker processes; 0 works in this process. The default is one per processor. With
            --gpus: loader workers per GPU, by default 1.
        gpus: Number of GPUs, one rank each.
        batch: Samples per step, over all GPUs.
        loader: Loaders that the plan must work with; by default trainer and bounded. trainer: segue
            train. bounded: whole shards, epochs of fixed length (open_clip, LAION-CLAP).
        split: Splits to train on; by default train.
        keep_groups: Whether segue train keeps groups whole.
        epochs: Epochs of the run.
        steps_per_s: Training steps per second of your model.
        price_per_gpu_hour: Price, in any currency.
    """
    from pipelines.builder.build import plan_library
    from pipelines.builder.findings import Findings
    from pipelines.checks.preflight.report import run_preflight
    from pipelines.config.file import read_spec

    if (gpus is None) != (batch is None):
        raise SpecError(
            "--gpus and --batch go together", fix="as in: --gpus 8 --workers 4 --batch 256"
        )
    training = None
    if gpus is not None and batch is not None:
        training = Training(
            gpus=gpus,
            workers=1 if workers is None else workers,
            batch=batch,
            loaders=tuple(dict.fromkeys(loader or (LoaderKind.TRAINER, LoaderKind.BOUNDED))),
            splits=tuple(split or ()),
            keep_groups=keep_groups,
            epochs=epochs,
            steps_per_s=steps_per_s,
            price_per_gpu_hour=price_per_gpu_hour,
        )
    else:
        refuse_given(given, _OF_TRAINING, "needs --gpus and --batch")
    out = resolve_destination(out, stage)
    parsed = read_spec(spec)
    started = time.monotonic()
    report = quarantine = None
    if training is None:
        library, places, samples = plan_library(parsed, out, choose_worker_count(workers), observer)
        blocked, quarantine = library.blocked, library.quarantine
    else:
        places, samples, report = run_preflight(
            parsed, training, out, choose_worker_count(None), observer
        )
        blocked = report.blocked
    seconds = round(time.monotonic() - started, 2)
    findings = Findings.read(places.manifests, parsed.splits, quarantine, parsed.seed)
    return describe_plan(parsed.source.chosen, places, samples, seconds, blocked, findings, report)


def describe_plan(
    source: BaseModel,
    places: Places,
    samples: int,
    seconds: float,
    blocked: tuple[Blocked, ...],
    findings: Findings,
    report: PreflightReport | None = None,
) -> CommandResult:
    """What was planned."""
    facts: dict[str, Any] = {
        "samples": samples,
        "quarantined": sum(refusal.clips for refusal in findings.refusals),
        "findings": findings.to_json(),
        "blocked": [item.to_json() for item in blocked],
        "seconds": seconds,
        "paths": {"manifests": places.format_path(places.manifests)},
    }
    if report is not None:
        facts["preflight"] = report.to_json()

    def show() -> None:
        print_index(source)
        make_console().print(
            f"[bold]{places.corpus}[/] {places.version}: "
            f"{format_count(facts['samples'], 'sample')}, planned in {facts['seconds']} s"
        )
        if facts["quarantined"]:
            say(f"{format_count(facts['quarantined'], 'clip')} quarantined")
        manifests = facts["paths"]["manifests"]
        print_findings(findings, manifests)
        print_blocked(blocked)
        say(f"plan  {places.format_path(places.manifests / 'plan.parquet')}")
        for line in () if report is None else report.format_lines():
            say(line)
        print_next("segue", "audit", manifests)

    return CommandResult(facts, show)
