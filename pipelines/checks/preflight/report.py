"""What preflight found, as JSON and as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int64

from pipelines.builder.build import locate_library
from pipelines.builder.plan import plan
from pipelines.builder.render import RenderJob, read_rights
from pipelines.checks.preflight.disk import (
    DiskEstimate,
    PendingShards,
    RenderPace,
    assume_ratio,
    draw_rows,
    estimate_disk,
    find_pending,
    format_gigabytes,
    measure_pace,
)
from pipelines.checks.preflight.judge import (
    compute_unseen_percent,
    find_best_shards,
    find_faults,
    refuse_unfit,
)
from pipelines.checks.preflight.splits import (
    PlannedSplit,
    read_splits,
    select_trained,
)
from pipelines.checks.preflight.training import MOST_LOST, LoaderKind, Training
from pipelines.config.spec import Spec
from pipelines.engines.engine import engine
from pipelines.store.places import Places
from pipelines.store.stage import open_store
from synth.base.progress import Observer
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE
from synth.sources import Unheard
from synth.sources.block import Blocked


@dataclass(frozen=True, slots=True)
class PreflightReport:
    """A plan beside a training run that can be carried out.

    Args:
        pace: Of rendering, None where nothing can be rendered.
    """

    training: Training
    splits: Sequence[PlannedSplit]
    trained: Sequence[PlannedSplit]
    pending: PendingShards
    disk: DiskEstimate
    pace: RenderPace | None
    processes: int
    blocked: tuple[Blocked, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "training": asdict(self.training) | {"samples_per_rank_step": self.training.rank_batch},
            "splits": {split.name: self._split_to_json(split) for split in self.splits},
            "disk": asdict(self.disk) | {"needed": self.disk.needed, "most": self.disk.most},
            "render": self._render_to_json(),
            "cost": self._cost_to_json(),
            "notes": list(self.list_notes()),
        }

    def _split_to_json(self, split: PlannedSplit) -> dict[str, Any]:
        training, deal = self.training, split.deal(self.training)
        facts: dict[str, Any] = {
            "samples": split.samples,
            "groups": len(split.groups),
            "largest_group": max(split.groups),
            "shards": len(split.shards),
            "samples_per_shard": _range_to_json(np.array(split.shards)),
            "trained_on": split in self.trained,
            "dealt": {
                "shards_per_rank": _range_to_json(deal.shards.sum(axis=1)),
                "shards_per_worker": _range_to_json(deal.shards),
                "samples_per_rank": _range_to_json(deal.samples.sum(axis=1)),
                "samples_per_worker": _range_to_json(deal.samples),
                "steps_per_rank": _range_to_json(deal.steps_of_ranks),
                "steps": deal.steps,
                "unseen": deal.unseen,
                "unseen_percent": round(compute_unseen_percent(split, training), 2),
            },
        }
        if split in self.trained and LoaderKind.TRAINER in training.loaders:
            share = split.share(training)
            facts["trainer"] = {
                "steps": share.steps,
                "groups_per_step": share.units if training.keep_groups else None,
                "samples_per_rank_step": dict(zip(("min", "max"), share.rank_samples, strict=True)),
                "unseen": share.unseen,
                "unseen_percent": round(100 * share.unseen / split.samples, 2),
            }
        return facts

    def _render_to_json(self) -> dict[str, Any] | None:
        if self.pace is None:
            return None
        return {
            "pending_samples": self.pending.samples,
            "pending_shards": len(self.pending.shards),
            "processes": self.processes,
            "seconds": round(self.pace.estimate_seconds(self.pending.frames, self.processes), 1),
            "measured_samples": self.pace.samples,
            "measured_samples_per_s": round(self.pace.samples / self.pace.seconds, 2),
        }

    def count_steps(self) -> dict[str, int]:
        """Steps of the whole run, the same on every rank, by loader."""
        training, steps = self.training, {}
        if LoaderKind.TRAINER in training.loaders:
            steps["trainer"] = sum(split.share(training).steps for split in self.trained)
        if training.deals:
            steps["dealt"] = sum(split.deal(training).steps for split in self.trained)
        return {loader: training.epochs * count for loader, count in steps.items()}

    def _cost_to_json(self) -> dict[str, Any]:
        rate, price = self.training.steps_per_s, self.training.price_per_gpu_hour
        costs: dict[str, Any] = {}
        for loader, steps in self.count_steps().items():
            hours = None if rate is None else steps / rate / 3600
            gpu_hours = None if hours is None else hours * self.training.gpus
            costs[loader] = {
                "steps": steps,
                "hours": None if hours is None else round(hours, 4),
                "gpu_hours": None if gpu_hours is None else round(gpu_hours, 4),
                "cost": None if gpu_hours is None or price is None else round(gpu_hours * price, 2),
            }
        return costs

    def list_notes(self) -> Iterator[str]:
        """What a user should know and no number says."""
        training = self.training
        for split in self.splits:
            if split in self.trained:
                yield from self._list_split_notes(split)
            elif training.deals and (
                faults := find_faults([split], replace(training, loaders=(LoaderKind.BOUNDED,)))
            ):
                yield f"{faults[0]}, if dealt; read it on one rank or with fewer workers"
        if training.steps_per_s is None:
            yield "training time and cost are unknown: give your model's --steps-per-s"
        elif training.price_per_gpu_hour is None:
            yield "cost is unknown: give --price-per-gpu-hour"
        if self.disk.most > self.disk.free:
            size = format_gigabytes(self.disk.most)
            yield f"the disk may be too small: up to {size} are to be written"
        if self.pace is None:
            yield "rendering time is unknown: the source has no recordings to render"

    def _list_split_notes(self, split: PlannedSplit) -> Iterator[str]:
        training = self.training
        if not training.deals:
            return
        deal, loss = split.deal(training), compute_unseen_percent(split, training)
        steps = deal.steps_of_ranks
        if loss > MOST_LOST:
            best = find_best_shards(self.trained, training)
            hint = ""
            if best is not None:
                least = compute_unseen_percent(split.repack(best), training)
                hint = f"; shards: {{samples: {best}}} loses {least:.1f} %" if least < loss else ""
            yield (
                f"split {split.name}: {loss:.1f} % of it is not seen in an epoch of dealt shards"
                + hint
            )
        if steps.min() < steps.max():
            yield (
                f"split {split.name}: dealt shards alone would give ranks {steps.min()} to "
                f"{steps.max()} steps; end the epoch at {deal.steps}, as by "
                f"WebLoader(...).with_epoch({deal.steps})"
            )

    def format_lines(self) -> Iterator[str]:
        """For people."""
        training = self.training
        yield (
            f"{training.gpus} ranks x {training.readers} workers, batch {training.batch} "
            f"({training.rank_batch} a rank)"
        )
        for name, split in self.to_json()["splits"].items():
            deal = split["dealt"]
            yield (
                f"{name}: {split['samples']:,} samples in {split['groups']:,} groups, "
                f"{split['shards']:,} shards of {_format_span(split['samples_per_shard'])}"
            )
            yield (
                f"  dealt     {_format_span(deal['shards_per_rank'])} shards a rank, "
                f"{_format_span(deal['shards_per_worker'])} a worker; "
                f"{_format_span(deal['samples_per_rank'])} samples a rank; "
                f"{deal['steps']:,} steps on all ranks, {deal['unseen']:,} unseen "
                f"({deal['unseen_percent']:.1f} %)"
            )
            if share := split.get("trainer"):
                yield (
                    f"  trainer   {share['steps']:,} steps on all ranks, "
                    f"{_format_span(share['samples_per_rank_step'])} samples a rank in a step, "
                    f"{share['unseen']:,} unseen ({share['unseen_percent']:.1f} %)"
                )
        disk = self.disk
        yield (
            f"disk: {format_gigabytes(disk.needed)} to write ({disk.ratio.value:.2f} of PCM, "
            f"{disk.ratio.known}), {format_gigabytes(disk.bank)} of bank there, "
            f"{format_gigabytes(disk.there)} of shards there, {format_gigabytes(disk.free)} free"
        )
        if render := self._render_to_json():
            yield (
                f"render: about {render['seconds']:,.0f} s in {render['processes']} processes "
                f"with a free processor each ({render['pending_samples']:,} samples; "
                f"{render['measured_samples']} of them timed in one process)"
            )
        for loader, cost in self._cost_to_json().items():
            hours = "" if cost["hours"] is None else f", {cost['hours']:,.2f} h"
            price = "" if cost["cost"] is None else f", cost {cost['cost']:,.2f}"
            epochs = "epoch" if training.epochs == 1 else "epochs"
            yield (
                f"train ({loader}): {cost['steps']:,} steps in {training.epochs} {epochs}"
                f"{hours}{price}"
            )
        for note in self.list_notes():
            yield f"note: {note}"


def _range_to_json(values: Int64[np.ndarray, ...]) -> dict[str, int]:
    return {"min": int(values.min()), "max": int(values.max())}


def _format_span(value: dict[str, int]) -> str:
    low, high = value["min"], value["max"]
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


# Plan a corpus, and hold the plan against a training run.


def run_preflight(
    spec: Spec, training: Training, out: Path, processes: int, observer: Observer
) -> tuple[Places, int, PreflightReport]:
    """Plan a corpus and foretell what a training run gets of it; nothing is rendered to disk.

    Returns:
        Where the plan lies, its samples, and what was found.
    """
    training.check()
    source = spec.make_source()
    store = open_store(out)
    with store.hold_for_writing(spec.corpus), engine(processes) as where:
        library, places = locate_library(spec, store.root, where, observer)
        shards = plan(spec, library, places, where, observer)
        splits = read_splits(places.manifests / PLAN_FILE, shards)
        trained = select_trained(splits, training)
        refuse_unfit(trained, training)
        audio = spec.audio
        job = RenderJob(places, library.index, audio.mixdown, audio.format)
        rows = draw_rows(places.manifests / PLAN_FILE)
        pace = None if isinstance(source, Unheard) else measure_pace(job, rows)
        ratio = pace.ratio if pace else assume_ratio(audio)
        pending = find_pending(places, shards)
        licences = read_rights(places.manifests / CLIPS_FILE)
        disk = estimate_disk(places, pending, ratio, rows, licences, library.index)
    disk.refuse_full(store.root)
    report = PreflightReport(
        training, splits, trained, pending, disk, pace, max(1, processes), library.blocked
    )
    return places, sum(shard.samples for shard in shards), report
