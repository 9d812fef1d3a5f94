"""Build a corpus: ingest, plan, render, finalise. Plain functions; flows wrap them for Prefect."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, as_completed, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow.parquet as pq

from pipelines.engines.engine import Engine, local
from pipelines.executor import RemoteRunner, Runner, workers
from pipelines.finalise import finalise, finished, publish
from pipelines.ingestion.ingest import Library, ingest
from pipelines.journal import record
from pipelines.observe import Observer, Silent
from pipelines.places import BANKS, Places
from pipelines.plan import ShardPlan, plan
from pipelines.remote.site import mirror_of, staged, writing
from pipelines.render import RenderJob, clean, prune, render_shard, reuse, withdraw
from pipelines.spec import Spec
from synth.corpus import QUARANTINE_FILE, REMOVED_FILE
from synth.errors import SpecError
from synth.sources import Unheard

T = TypeVar("T")

VERSION_LETTERS = 12
MAX_THREADS = 1024
WIDTH_POLL_S = 5.0


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


def build(
    spec: Spec, out: Path, worker_count: int | Engine, observer: Observer | None = None
) -> Summary:
    """Build the corpus of a spec under `out`; what is there and certified is not made again.

    Args:
        spec: The spec.
        out: Root of banks, shards and manifests; a path, or a URL that is mirrored from a stage.
        worker_count: Worker processes, 0 runs in this process; or an open engine.
        observer: Told of the progress.

    Raises:
        SegueError: With one clear line, before any long work where that is possible.
    """
    started = time.monotonic()
    observer = observer or Silent()
    refuse_unheard(spec)
    out = staged(out)
    with writing(out, spec.corpus):
        with _opened(worker_count) as engine:
            prepared = prepare(spec, out, engine.run, engine.width, observer)
            observer.start("render", len(prepared.pending), "shards")
            render_all(
                prepared.pending,
                lambda shard: render_batch(prepared, [shard], engine.run, observer),
                engine,
            )
            observer.finish("render", f"{len(prepared.pending)} shards")
        return conclude(prepared, started)


def _opened(engine: int | Engine) -> AbstractContextManager[Engine]:
    """An engine of so many processes, or the one that is open already."""
    return local(engine) if isinstance(engine, int) else nullcontext(engine)


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
    return planned(spec, *located(spec, out, run, threads, observer), observer)


def planned(spec: Spec, library: Library, places: Places, observer: Observer) -> Prepared:
    """Plan, and find out what is still to be rendered."""
    digest = spec.build_digest(library.digest)
    complete = finished(places, digest) is not None
    clean(places)
    shards = plan(spec, library, places, observer)
    if not complete:
        prune(places, shards)
    pending = reuse(places, shards)
    withdraw(places, pending)
    if pending or not complete:
        record(places.journal, "prepared", shards=len(shards), pending=len(pending))
    return Prepared(spec, library, places, shards, pending)


def located(
    spec: Spec, out: Path, run: Runner, threads: int, observer: Observer
) -> tuple[Library, Places]:
    """The ingested library of a spec, and where what is made of it lies."""
    out = out.resolve()  # workers elsewhere stand in other folders
    if isinstance(run, RemoteRunner):
        run.share(out)
    spec.make_recipe().check(spec.setting, tuple(spec.splits))
    library = ingest(spec.intake, out / BANKS, run, threads, observer)
    digest = spec.build_digest(library.digest)
    version = spec.version or digest[:VERSION_LETTERS]
    return library, Places(out, spec.corpus, version, mirror_of(out, spec.corpus))


def plan_only(spec: Spec, out: Path, worker_count: int, observer: Observer) -> tuple[Places, int]:
    """Plan a corpus, and render nothing.

    Returns:
        Where the plan lies, and its samples.
    """
    out = staged(out)
    with writing(out, spec.corpus), workers(worker_count) as run:
        library, places = located(spec, out, run, worker_count, observer)
        shards = plan(spec, library, places, observer)
    return places, sum(shard.samples for shard in shards)


def render_all(
    batches: Sequence[T], render: Callable[[T], None], worker_count: int | Engine
) -> None:
    """Render all, as many at a time as there are workers, or as the engine has use for by then."""
    under_way: set[Future[None]] = set()
    with ThreadPoolExecutor(min(MAX_THREADS, max(1, len(batches)))) as threads:
        try:
            for batch in batches:
                while len(under_way) >= max(1, _width(worker_count)):
                    done, under_way = wait(under_way, WIDTH_POLL_S, FIRST_COMPLETED)
                    for future in done:
                        future.result()
                under_way.add(threads.submit(render, batch))
            for future in as_completed(under_way):
                future.result()
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            if not isinstance(worker_count, int):
                worker_count.cancel()
            raise


def _width(engine: int | Engine) -> int:
    return engine if isinstance(engine, int) else engine.width


def render_batch(
    prepared: Prepared, batch: Sequence[ShardPlan], run: Runner, observer: Observer
) -> None:
    """Render a batch, one shard after the other, so that a lost worker costs one shard."""
    for shard in batch:
        run(render_shard, prepared.job, shard)
        record(prepared.places.journal, "rendered", shard=shard.shard)
        observer.advance("render")


def conclude(prepared: Prepared, started: float, promote: bool = True) -> Summary:
    """Finalise what was not, point `latest` to it if `promote` is set, and sum up."""
    places, shards = prepared.places, prepared.shards
    facts = finished(places, prepared.digest)
    if prepared.pending or facts is None:
        clean(places)
        facts = finalise(prepared.spec, prepared.library, places, shards)
        (places.manifests / REMOVED_FILE).unlink(missing_ok=True)
    if promote:
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
        paths={
            "manifests": places.shown(places.manifests),
            "shards": places.shown(places.shards),
        },
    )
