"""Build a corpus: ingest, plan, render, finalise. Plain functions; flows wrap them for Prefect."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pipelines.executor import Runner, workers
from pipelines.finalise import finalise, finished, publish
from pipelines.ingest import Library, ingest
from pipelines.journal import record
from pipelines.locks import sole_writer
from pipelines.observe import Observer, Silent
from pipelines.places import BANKS, Places, versions_of
from pipelines.plan import ShardPlan, plan
from pipelines.render import RenderJob, clean, prune, render_shard, reuse
from pipelines.spec import Spec
from synth.corpus import QUARANTINE_FILE
from synth.errors import SpecError
from synth.sources import Unheard

VERSION_LETTERS = 12
BATCHES_PER_WORKER = 8
MAX_BATCH = 50


@dataclass(frozen=True, slots=True)
class Summary:
    """What a build did.

    Args:
        corpus: Name.
        version: Version's name.
        samples: In the corpus.
        shards: In the corpus.
        rendered: Shards made by this run.
        skipped: Shards that were there, or were linked from another version.
        quarantined: Clips that could not be used.
        hours: Of audio in the corpus.
        excerpts_of_captioned_clips: Sounds heard in part, whose captions speak of the whole.
        seconds: That this run took.
        paths: Manifest folder, shard folder.
    """

    corpus: str
    version: str
    samples: int
    shards: int
    rendered: int
    skipped: int
    quarantined: int
    hours: float
    excerpts_of_captioned_clips: int
    seconds: float
    paths: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A build with its plan made.

    Args:
        spec: The spec.
        library: The ingested library.
        places: Where everything lies.
        shards: The planned shards.
        pending: Those to be rendered.
    """

    spec: Spec
    library: Library
    places: Places
    shards: list[ShardPlan]
    pending: list[ShardPlan]

    @property
    def digest(self) -> str:
        """Of all that determines the corpus."""
        return self.spec.build_digest(self.library.digest)

    @property
    def job(self) -> RenderJob:
        """What the pending shards are rendered with."""
        audio = self.spec.audio
        return RenderJob(self.places, self.library.index, audio.mixdown, audio.format)


def build(spec: Spec, out: Path, worker_count: int, observer: Observer | None = None) -> Summary:
    """Build the corpus of a spec under `out`; what is there and certified is not made again.

    Args:
        spec: The spec.
        out: Root of banks, shards and manifests.
        worker_count: Worker processes; 0 runs in this process.
        observer: Told of the progress.

    Raises:
        SegueError: With one clear line, before any long work where that is possible.
    """
    started = time.monotonic()
    observer = observer or Silent()
    refuse_unheard(spec)
    with sole_writer(versions_of(out, spec.corpus)):
        with workers(worker_count) as run:
            prepared = prepare(spec, out, run, worker_count, observer)
            batches = into_batches(prepared.pending, worker_count)
            observer.start("render", len(prepared.pending), "shards")
            render_all(
                batches, lambda batch: render_batch(prepared, batch, run, observer), worker_count
            )
            observer.finish("render", f"{len(prepared.pending)} shards")
        return conclude(prepared, started)


def refuse_unheard(spec: Spec) -> None:
    """Check, before anything is written, that there is something to render.

    Raises:
        SpecError: If the source has no recordings.
    """
    source = spec.make_source()
    if isinstance(source, Unheard):
        raise SpecError(
            f"source {source.name} has no recordings, so nothing can be rendered",
            mend="`segue plan SPEC` plans over it",
        )


def prepare(spec: Spec, out: Path, run: Runner, threads: int, observer: Observer) -> Prepared:
    """Ingest and plan, and find out what is still to be rendered."""
    library, places = located(spec, out, run, threads, observer)
    digest = spec.build_digest(library.digest)
    complete = finished(places, digest) is not None
    clean(places)
    shards = plan(spec, library, places, observer)
    if not complete:
        prune(places, shards)
    pending = reuse(places, shards)
    if pending or not complete:
        record(places.journal, "prepared", shards=len(shards), pending=len(pending))
    return Prepared(spec, library, places, shards, pending)


def located(
    spec: Spec, out: Path, run: Runner, threads: int, observer: Observer
) -> tuple[Library, Places]:
    """The ingested library of a spec, and where what is made of it lies."""
    spec.make_recipe().check(spec.setting, tuple(spec.splits))
    library = ingest(spec.intake, out / BANKS, run, threads, observer)
    digest = spec.build_digest(library.digest)
    return library, Places(out.resolve(), spec.corpus, spec.version or digest[:VERSION_LETTERS])


def plan_only(spec: Spec, out: Path, worker_count: int, observer: Observer) -> tuple[Places, int]:
    """Plan a corpus, and render nothing.

    Returns:
        Where the plan lies, and its samples.
    """
    with sole_writer(versions_of(out, spec.corpus)), workers(worker_count) as run:
        library, places = located(spec, out, run, worker_count, observer)
        shards = plan(spec, library, places, observer)
    return places, sum(shard.samples for shard in shards)


def into_batches(pending: Sequence[ShardPlan], worker_count: int) -> list[list[ShardPlan]]:
    """Pending shards in even batches: enough to keep all workers busy, few enough to watch."""
    wanted = max(1, worker_count) * BATCHES_PER_WORKER
    size = min(MAX_BATCH, max(1, -(-len(pending) // wanted)))
    return [list(pending[begin : begin + size]) for begin in range(0, len(pending), size)]


def render_all(
    batches: Sequence[list[ShardPlan]],
    render: Callable[[list[ShardPlan]], None],
    worker_count: int,
) -> None:
    """Render all batches, as many at a time as there are workers."""
    with ThreadPoolExecutor(max(1, worker_count)) as threads:
        futures = [threads.submit(render, batch) for batch in batches]
        try:
            for future in futures:
                future.result()
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise


def render_batch(
    prepared: Prepared, batch: Sequence[ShardPlan], run: Runner, observer: Observer
) -> None:
    """Render a batch, one shard after the other, so that a lost worker costs one shard."""
    for shard in batch:
        run(render_shard, prepared.job, shard)
        record(prepared.places.journal, "rendered", shard=shard.shard)
        observer.advance("render")


def conclude(prepared: Prepared, started: float) -> Summary:
    """Finalise what was not, and sum up."""
    places, shards = prepared.places, prepared.shards
    facts = finished(places, prepared.digest)
    if prepared.pending or facts is None:
        clean(places)
        facts = finalise(prepared.spec, prepared.library, places, shards)
    publish(places)
    return Summary(
        corpus=places.corpus,
        version=places.version,
        samples=sum(shard.samples for shard in shards),
        shards=len(shards),
        rendered=len(prepared.pending),
        skipped=len(shards) - len(prepared.pending),
        quarantined=pq.read_metadata(places.manifests / QUARANTINE_FILE).num_rows,
        hours=facts["hours"],
        excerpts_of_captioned_clips=facts["excerpts_of_captioned_clips"],
        seconds=round(time.monotonic() - started, 2),
        paths={"manifests": str(places.manifests), "shards": str(places.shards)},
    )
