"""Build a corpus: ingest, plan, render, finalise. Plain functions; flows wrap them for Prefect."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.builder.claim import drop_claim, read_finished
from pipelines.builder.differences import refuse_other_bytes, remove_damaged, unmark
from pipelines.builder.finalise import finalise
from pipelines.builder.finalise import promote as promote_to_latest
from pipelines.builder.findings import Findings
from pipelines.builder.plan import ShardPlan, plan
from pipelines.builder.render import (
    RenderJob,
    clean,
    is_done,
    read_receipt,
    render_missing,
    reuse,
    withdraw,
)
from pipelines.builder.schedule import RenderSettings, schedule
from pipelines.config.spec import Spec
from pipelines.engines.engine import Call, Engine, RemoteEngine, engine
from pipelines.ingest.ingest import IngestedLibrary, ingest
from pipelines.ingest.parts import list_parts, withdraw_damaged
from pipelines.store.places import Places
from pipelines.store.row_file import read_batches
from pipelines.store.stage import open_store, store_at
from pipelines.store.store import BANKS, record
from synth.base.atomic import format_bytes
from synth.base.errors import DiskFullError, SpecError
from synth.base.progress import UNOBSERVED, Observer, tell_damage
from synth.corpus.corpus import PLAN_FILE
from synth.corpus.receipt import VersionReceipt
from synth.sources import Unheard
from synth.sources.block import Blocked

VERSION_LETTERS = 12
MOST_JUDGED = 1000

T = TypeVar("T")


class Step(Protocol):
    """Runs a stage of a build, of this name."""

    def __call__(self, name: str, work: Callable[[], T], /) -> T:
        """What `work` returns."""
        ...


def call(_name: str, work: Callable[[], T]) -> T:
    """Run a stage as a plain call."""
    return work()


@dataclass(frozen=True, slots=True)
class Summary:
    """What a build did.

    Args:
        skipped: Shards that were there, or were linked from another version.
        excerpts_of_captioned_clips: Sounds heard in part, whose captions speak of the whole.
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
    findings: Findings
    blocked: tuple[Blocked, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self) | {"blocked": [block.to_json() for block in self.blocked]}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A build with its plan made.

    Args:
        facts: What `corpus.json` says, if this very build was finalised before.
        receipt: What certifies the manifests of a finished version.
        started: When the build began, by the monotonic clock.
    """

    spec: Spec
    library: IngestedLibrary
    places: Places
    shards: list[ShardPlan]
    pending: list[ShardPlan]
    facts: dict[str, Any] | None
    receipt: VersionReceipt | None
    started: float = 0.0

    @property
    def there(self) -> int:
        """Shards that are not to be rendered."""
        return len(self.shards) - len(self.pending)

    @property
    def job(self) -> RenderJob:
        """What the pending shards are rendered with."""
        audio = self.spec.audio
        return RenderJob(self.places, self.library.index, audio.mixdown, audio.format)


def build(
    spec: Spec,
    out: Path,
    worker_count: int | str | Engine,
    observer: Observer = UNOBSERVED,
    settings: RenderSettings | None = None,
) -> Summary:
    """Build the corpus of a spec under `out`; what is there and certified is not made again.

    Args:
        out: Root of banks, shards and manifests; a path, or a URL that is mirrored from a stage.
        worker_count: Worker processes, 0 runs in this process; or an engine.
    """
    refuse_unheard(spec)
    store = open_store(out)
    with store.hold_for_writing(spec.corpus):
        with engine(worker_count) as where:
            prepared = prepare(spec, store.root, where, observer)
            observer.start("render", len(prepared.shards), "shards", done=prepared.there)
            settings = settings or RenderSettings()
            render_shards(prepared, prepared.pending, where, settings, observer)
            observer.finish("render")
        return conclude(prepared)


def refuse_unheard(spec: Spec) -> None:
    """Check, before anything is written, that there is something to render."""
    source = spec.make_source()
    if isinstance(source, Unheard):
        raise SpecError(
            f"source {source.name} has no recordings, so nothing can be rendered",
            fix="use `segue plan SPEC`, which needs no recordings",
        )


def prepare(
    spec: Spec, out: Path, where: Engine, observer: Observer, step: Step = call
) -> Prepared:
    """Ingest and plan."""
    started = time.monotonic()
    library, places = step("ingest", partial(locate_library, spec, out, where, observer))
    prepared = step("plan", partial(prepare_build, spec, library, places, where, observer))
    return replace(prepared, started=started)


def prepare_build(
    spec: Spec, library: IngestedLibrary, places: Places, where: Engine, observer: Observer
) -> Prepared:
    """Plan, and find out what is still to be rendered, of sounds that are what they were."""
    digest = spec.build_digest(library.digest)
    receipt = remove_damaged(places, digest, observer)
    facts = read_finished(places, digest)
    if receipt is not None and not all(
        (places.manifests / name).exists() for name in receipt.files
    ):
        facts = None  # it is finalised again
    clean(places)
    shards = plan(spec, library, places, where, observer, receipt)
    is_finished = receipt is not None or facts is not None
    missing = [shard for shard in shards if not is_done(places, shard)]
    if is_finished:
        refuse_other_bytes(places, missing, len(shards))
    pending = reuse(places, missing)
    if pending and remove_damaged_sounds(library, places, pending, where, observer):
        library, places = locate_library(spec, places.out, where, observer)
        return prepare_build(spec, library, places, where, observer)
    if not is_finished:  # a finished version's receipts alone say what its lost shards were
        withdraw(places, pending)
    if pending or facts is None:
        record(places.journal, "prepared", shards=len(shards), pending=len(pending))
    return Prepared(spec, library, places, shards, pending, facts, receipt)


def remove_damaged_sounds(
    library: IngestedLibrary,
    places: Places,
    shards: Sequence[ShardPlan],
    where: Engine,
    observer: Observer,
) -> bool:
    """Hash the sounds that shards are made of, but for those that were decoded just now.

    Returns:
        Whether some were damaged; the library must be ingested again.
    """
    if list_parts(library.index) <= library.decoded:
        return False
    names = pa.array([shard.shard for shard in shards])
    clips: set[str] = set()
    for batch in read_batches(places.manifests / PLAN_FILE, ["shard", "clips"]):
        rows = batch.filter(pc.is_in(batch["shard"], names))
        clips.update(pc.unique(rows["clips"].flatten()).to_pylist())
    threads = max(1, where.width)
    faults = withdraw_damaged(library.index, clips, library.decoded, threads, places.store)
    tell_damage(observer, faults, "decoded again")
    return bool(faults)


def locate_library(
    spec: Spec, out: Path, where: Engine, observer: Observer
) -> tuple[IngestedLibrary, Places]:
    """The ingested library of a spec, and where what is made of it lies."""
    out = out.resolve()  # workers elsewhere stand in other folders
    if where.width:
        store_at(out).refuse_private()
    if isinstance(where, RemoteEngine):
        where.share(out, spec.corpus)
    spec.make_recipe().check(spec.setting, tuple(spec.splits))
    library = ingest(spec.intake, out / BANKS, where, observer)
    digest = spec.build_digest(library.digest)
    version = spec.version or digest[:VERSION_LETTERS]
    return library, Places(store_at(out, spec.corpus), spec.corpus, version)


def plan_library(
    spec: Spec, out: Path, worker_count: int, observer: Observer
) -> tuple[IngestedLibrary, Places, int]:
    """Plan a corpus, and render nothing.

    Returns:
        The library that was planned over, where the plan lies, and its samples.
    """
    store = open_store(out)
    with store.hold_for_writing(spec.corpus), engine(worker_count) as where:
        library, places = locate_library(spec, store.root, where, observer)
        receipt = remove_damaged(places, spec.build_digest(library.digest), observer)
        shards = plan(spec, library, places, where, observer, receipt)
    return library, places, sum(shard.samples for shard in shards)


def render_shards(
    prepared: Prepared,
    shards: Sequence[ShardPlan],
    where: Engine,
    settings: RenderSettings,
    observer: Observer,
    most: int | None = None,
) -> None:
    """Render some shards.

    Args:
        most: Shards under way, if not as many as the engine has use for.
    """
    journal, job = prepared.places.journal, prepared.job

    def begin(shard: ShardPlan) -> Future[None]:
        return where.submit(Call(render_missing, shard.shard, settings.timeout_s), job, shard)

    def finish(shard: ShardPlan) -> None:
        record(journal, "rendered", shard=shard.shard)
        observer.advance("render")

    def note(shard: ShardPlan, error: OSError) -> None:
        record(journal, "retried", shard=shard.shard, error=f"{type(error).__name__}: {error}")

    try:
        schedule(shards, begin, where, finish, settings.delays_s, note, most)
    except DiskFullError as error:
        raise DiskFullError(error.message + _tell_rest(prepared), fix=error.fix) from error


def _tell_rest(prepared: Prepared) -> str:
    """What the shards that are still to be rendered will take, judged by some that are done."""
    places = prepared.places
    rest = [shard for shard in prepared.pending if not places.receipt_path(shard.shard).is_file()]
    receipts = (read_receipt(places, shard.shard) for shard in prepared.shards)
    judged = list(islice((receipt for receipt in receipts if receipt is not None), MOST_JUDGED))
    if not judged or not rest:
        return ""
    mean = sum(receipt.bytes for receipt in judged) / sum(receipt.samples for receipt in judged)
    needed = format_bytes(round(mean * sum(shard.samples for shard in rest)))
    return f"; about {needed} needed for the {len(rest)} shards left to render"


def conclude(prepared: Prepared, promote: bool = True) -> Summary:
    """Finalise what was not, point `latest` to it if `promote` is set, and sum up."""
    places, shards, facts = prepared.places, prepared.shards, prepared.facts
    if prepared.pending or facts is None:
        clean(places)
        facts = finalise(prepared.spec, prepared.library, places, shards, prepared.receipt)
        unmark(places)
    drop_claim(places)
    if promote:
        promote_to_latest(places)
    quarantine = prepared.library.quarantine
    spec = prepared.spec
    findings = Findings.read(places.manifests, spec.splits, quarantine, spec.seed)
    return Summary(
        corpus=places.corpus,
        version=places.version,
        samples=sum(shard.samples for shard in shards),
        shards=len(shards),
        rendered=len(prepared.pending),
        skipped=prepared.there,
        quarantined=sum(kind.clips for kind in findings.refusals),
        hours=facts["hours"],
        excerpts_of_captioned_clips=facts["excerpts_of_captioned_clips"],
        seconds=round(time.monotonic() - prepared.started, 2),
        paths={
            "manifests": places.format_path(places.manifests),
            "shards": places.format_path(places.shards),
        },
        findings=findings,
        blocked=prepared.library.blocked,
    )
