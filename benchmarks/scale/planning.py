"""Planning and building: a plan's memory by its rows, and one corpus by several engines.

- **plan**: the first groups are drafted, and their rows come again and again, as drafting keeps
  nothing from group to group.
- **read**: what a render worker does first; it reads the rows of the last shard.
- **finish**: a build that finds the plan at hand, and ends with its manifests; the shards are
  stand-ins that hold nothing, with their receipts.
- **engine**: a corpus planned and rendered by worker processes, or by a Dask cluster on the same
  machine; both start before the clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from benchmarks.core.contenders import Contender, free_port
from benchmarks.core.turn import Done, Job, Stopwatch, Work, sampled_peaks
from pipelines.builder import plan as planning
from pipelines.builder.build import build, conclude, plan_library
from pipelines.builder.build import prepare as make_ready
from pipelines.builder.claim import SHARDS_FILE
from pipelines.builder.drafting import RUN_GROUPS, DraftedRows, Drafter, cut_runs
from pipelines.builder.render import ShardReceipt
from pipelines.config.spec import Spec
from pipelines.engines.cluster import library_versions
from pipelines.engines.engine import engine
from pipelines.store.places import Places
from pipelines.store.row_file import read_columns
from synth.base.hashing import file_sha256
from synth.base.progress import UNOBSERVED
from synth.corpus.corpus import PLAN_FILE
from synth.corpus.schema import MEASUREMENTS, canonical_json, to_table

HERE: Final = "benchmarks.scale.planning"
DRAFTED_RUNS: Final = 64
PLANNING: Final = {
    "plan": "planning",
    "read": "reading a shard's rows",
    "finish": "a build around its workers",
}
ENGINES: Final = (("pool", 1), ("pool", 2), ("Dask", 1), ("Dask", 2), ("Dask", 4))


def make_spec(samples: int) -> dict[str, Any]:
    recipe = {"pairs": samples, "crossfade_s": 0.1, "max_event_s": 0.3, "style": "natural"}
    return {
        "corpus": "scale",
        "seed": 7,
        "source": {"foley": {"classes": ["dog", "rain", "siren", "wind"], "takes": 10}},
        "recipe": {"acba": recipe},
        "audio": {"sample_rate": 16_000},
        "splits": {"train": 0.8, "test": 0.2},
        "shards": {"samples": 64 if samples < 10_000 else 1000},
    }


def list_plans(out: Path, rows: list[int]) -> Iterator[Contender]:
    for count in rows:
        job = {"spec": make_spec(count), "folder": str(out / f"plan-{count}")}
        for work, name in PLANNING.items():
            yield Contender(f"{count:,}", name, HERE, job | {"work": work}, once=True)


def list_engines(samples: int) -> Iterator[Contender]:
    for kind, workers in ENGINES:
        job = {"work": "engine", "spec": make_spec(samples), "kind": kind, "workers": workers}
        yield Contender("engine", f"{kind}, {workers}", HERE, job)


def prepare(job: Job) -> Work:
    return {"plan": _plan, "read": _read, "finish": _finish, "engine": _build}[job["work"]](job)


def _plan(job: Job) -> Work:
    folder = Path(job["folder"])
    plan_library(Spec.model_validate(make_spec(8)), folder, 0, UNOBSERVED)  # fills the bank
    vars(planning)["draft_all"] = _repeat_drafts

    def work(watch: Stopwatch) -> Done:
        with watch, sampled_peaks() as peaks:
            *_, samples = plan_library(Spec.model_validate(job["spec"]), folder, 0, UNOBSERVED)
        return Done(samples, facts=peaks)

    return work


def _repeat_drafts(drafter: Drafter, *_: object) -> Iterator[DraftedRows]:
    for split, groups in drafter.groups.items():
        runs = -(-len(groups) // RUN_GROUPS)
        drafted = [*map(drafter.draft, islice(cut_runs({split: groups}), DRAFTED_RUNS))]
        for number in range(runs):
            yield drafted[number % len(drafted)]


def _read(job: Job) -> Work:
    plans = Path(job["folder"]).glob(f"data_manifests/*/*/{PLAN_FILE}")
    path = max(plans, key=lambda file: file.stat().st_size)

    def work(watch: Stopwatch) -> Done:
        with watch, sampled_peaks() as peaks:
            listed = read_columns(path.with_name(SHARDS_FILE)).to_pylist()
            rows = planning.ShardPlan(**listed[-1]).rows(path)
        return Done(len(rows), facts=peaks)

    return work


def _finish(job: Job) -> Work:
    spec, folder = Spec.model_validate(job["spec"]), Path(job["folder"])

    def work(watch: Stopwatch) -> Done:
        with watch, sampled_peaks() as peaks, engine(0) as where:
            prepared = make_ready(spec, folder, where, UNOBSERVED)
            for shard in prepared.pending:
                _stand_in(prepared.places, shard)
            samples = conclude(prepared).samples
        return Done(samples, facts=peaks)

    return work


def _stand_in(places: Places, shard: planning.ShardPlan) -> None:
    """A shard that holds nothing, with its measurements and its receipt."""
    path, measured = (
        places.shard_path(shard.split, shard.shard),
        places.measurements_path(shard.shard),
    )
    for file in (path, measured):
        file.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    row = {"member": "0.flac", "sha256": "0" * 64, "gain_db": 0.0, "peak_db": -1.0}
    rows = [row | {"offset": 4096 * at + 512, "size": 512} for at in range(shard.samples)]
    pq.write_table(to_table(rows, MEASUREMENTS), measured)
    receipt = ShardReceipt(
        shard=shard.shard,
        split=shard.split,
        samples=shard.samples,
        digest=shard.digest,
        bytes=0,
        sha256=file_sha256(path),
        libraries=library_versions(),
        measurements=file_sha256(measured),
    )
    places.receipt_path(shard.shard).write_text(canonical_json(asdict(receipt)), encoding="utf-8")


def _build(job: Job) -> Work:
    out, workers = Path(job["out"]), job["workers"]
    build(Spec.model_validate(make_spec(8)), out, 0)

    def work(watch: Stopwatch) -> Done:
        with ExitStack() as stack:
            where: int | str = workers
            if job["kind"] == "Dask":
                local = import_module("distributed").LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    scheduler_port=free_port(),
                    dashboard_address=None,
                )
                stack.enter_context(local)
                where = local.scheduler_address
            opened = stack.enter_context(engine(where))
            for number in range(workers):  # one more at work each time, so each one starts
                warm = make_spec(8) | {"corpus": f"warm-{number}", "shards": {"samples": 2}}
                build(Spec.model_validate(warm), out, opened)
            with watch:
                samples = build(Spec.model_validate(job["spec"]), out, opened).samples
        return Done(samples)

    return work
