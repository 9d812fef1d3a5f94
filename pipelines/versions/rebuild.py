"""Rebuild: an old version's shards are made again from its manifests, byte for byte.

What would be built now is first compared with what was built then. Only where nothing differs are
the missing shards rendered, in a folder of their own; only where every one of them is what its
receipt says do they move in. So a version is either what it was, or is left as it is.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.builder.build import refuse_unheard, remove_damaged_sounds
from pipelines.builder.claim import SHARDS_FILE
from pipelines.builder.differences import (
    OTHER,
    Differences,
    algorithm_differences,
    clip_differences,
    library_differences,
    relocate_files,
    setting_differences,
    unmark,
)
from pipelines.builder.finalise import SPEC_FILE, assemble
from pipelines.builder.plan import SHARDS_SCHEMA, ShardPlan, plan
from pipelines.builder.render import (
    RenderJob,
    ShardReceipt,
    clean,
    find_alike,
    is_done,
    read_receipt,
    render_shard,
)
from pipelines.builder.schedule import RenderSettings, schedule
from pipelines.config.file import read_spec
from pipelines.config.spec import Spec
from pipelines.engines.engine import Call, Engine, engine
from pipelines.ingest.ingest import IngestedLibrary, ingest
from pipelines.store.places import Places
from pipelines.store.row_file import read_columns
from pipelines.store.store import BANKS, SHARDS, Store, link, record, walk_files
from pipelines.versions.history import STAGING_SUFFIX, read_facts, refuse_foreign
from synth.base.errors import CorpusError, SourceError, shorten
from synth.base.hashing import file_sha256
from synth.base.progress import UNOBSERVED, Observer
from synth.corpus.corpus import CLIPS_FILE, CORPUS_FILE, PLAN_FILE, SAMPLES_FILE, check_version
from synth.corpus.facts import GET_AGAIN
from synth.corpus.receipt import VersionReceipt
from synth.corpus.schema import PLAN
from synth.corpus.validation import check_manifest, explain_damage


@dataclass(frozen=True, slots=True)
class RebuildSummary:
    """What came of rebuilding a version.

    Args:
        differences: What is other than it was; where anything is, nothing was changed.
    """

    corpus: str
    version: str
    shards: int
    rendered: int
    linked: int
    differences: Differences
    seconds: float
    paths: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        values = asdict(replace(self, differences=Differences({})))
        return values | {
            "reproduced": not self.differences,
            "differences": self.differences.to_json(),
        }


@dataclass(frozen=True, slots=True)
class OldVersion:
    """A version to be rebuilt.

    Args:
        spec: Its own, files taken from where they lie now.
    """

    places: Places
    facts: dict[str, Any]
    spec: Spec
    receipts: dict[str, ShardReceipt]
    shards: Sequence[ShardPlan] = ()

    @property
    def staging(self) -> Places:
        """Where it is made again."""
        folder = self.places.out / SHARDS / self.places.corpus
        name = f".{self.places.version}{STAGING_SUFFIX}"
        return Places(Store(folder / name), self.places.corpus, self.places.version)


def rebuild(
    places: Places,
    given: Spec | None,
    worker_count: int,
    observer: Observer = UNOBSERVED,
    settings: RenderSettings | None = None,
) -> RebuildSummary:
    """Make the missing shards of a finished version again, and prove all of them.

    Args:
        given: A spec to compare its own with, which also says where the library lies now.
    """
    started = time.monotonic()
    if worker_count:
        places.store.refuse_private()
    refuse_foreign(places.out, places.corpus)
    with places.store.hold_for_writing(places.corpus) as store, engine(worker_count) as where:
        places = replace(places, store=store)
        clean(places)
        old, differences = _open_old(places, given)
        library: IngestedLibrary | None = None
        try:
            library = ingest(old.spec.intake, places.out / BANKS, where, observer)
        except SourceError as error:
            differences = _add(differences, {OTHER: [f"the library: {error}"]})
        if library is not None:
            differences = _add_clip_differences(differences, old, library)
        rendered = linked = 0
        if library is not None and not differences:
            old = replace(old, shards=plan(old.spec, library, places, where, observer))
            if remove_damaged_sounds(library, places, old.shards, where, observer):
                bank = places.out / BANKS
                library = ingest(old.spec.intake, bank, where, observer)
            render = settings or RenderSettings()
            differing, rendered, linked = remake(old, library, where, render, observer)
            differences = Differences({OTHER: differing})
    return RebuildSummary(
        corpus=places.corpus,
        version=places.version,
        shards=len(old.receipts),
        rendered=rendered,
        linked=linked,
        differences=differences,
        seconds=round(time.monotonic() - started, 2),
        paths={
            "manifests": places.format_path(places.manifests),
            "shards": places.format_path(places.shards),
        },
    )


def _open_old(places: Places, given: Spec | None) -> tuple[OldVersion, Differences]:
    """The version, and what can be seen to differ without its library."""
    facts = read_facts(places)
    _check_files(places, facts)
    stored = read_spec(places.manifests / SPEC_FILE)
    names = sorted(path.stem for path in places.receipts.glob("*.tar.json"))
    receipts = {name: receipt for name in names if (receipt := read_receipt(places, name))}
    spec = relocate_files(stored, given) if given else stored
    refuse_unheard(spec)
    differences = Differences(
        {
            "setting": setting_differences(stored, given) if given else (),
            "algorithm": algorithm_differences(facts),
            "library": library_differences(list(receipts.values())),
        }
    )
    return OldVersion(places, facts, spec, receipts), differences


def _check_files(places: Places, facts: Mapping[str, Any]) -> None:
    """Check the manifests that are there: the version may be a stranger's."""
    manifests, splits = places.manifests, facts["splits"]
    if (receipt := VersionReceipt.read(manifests)) is not None:
        receipt.check([name for name in receipt.files if (manifests / name).exists()])
    if (manifests / SAMPLES_FILE).exists():
        check_version(manifests)
    bank = (manifests / facts["bank"]).resolve()
    if not bank.is_relative_to((places.out / BANKS).resolve()):
        raise CorpusError(
            f"{manifests / CORPUS_FILE}: bank is {shorten(facts['bank'])}: expected a place below "
            f"{places.out / BANKS}, where it is put",
            fix=GET_AGAIN,
        )
    plan_file, listing = manifests / PLAN_FILE, manifests / SHARDS_FILE
    if not (plan_file.exists() and listing.exists()):
        return
    check_manifest(plan_file, PLAN, splits, rate=facts["sample_rate"])
    check_manifest(listing, pa.schema([*SHARDS_SCHEMA][:-1]), splits)  # older ones lack the last
    with explain_damage(plan_file), pq.ParquetFile(plan_file) as file:
        groups = range(file.num_row_groups)
        sizes = [file.metadata.row_group(group).num_rows for group in groups]
    with explain_damage(listing):
        shards = read_columns(listing).to_pylist()
    for shard in shards:
        if unknown := shard.keys() - {*SHARDS_SCHEMA.names}:
            raise CorpusError(f"{listing}: has a column {shorten(min(unknown))}", fix=GET_AGAIN)
        group, row, samples = shard["row_group"], shard.get("row", 0), shard["samples"]
        size = sizes[group] if group < len(sizes) else 0
        if not 0 <= row <= size - samples:
            raise CorpusError(
                f"{listing}: {shorten(shard['shard'])}: expected {samples} rows from row {row} of "
                f"row group {group} of {PLAN_FILE}, which has {size}",
                fix=GET_AGAIN,
            )


def _add_clip_differences(
    differences: Differences, old: OldVersion, library: IngestedLibrary
) -> Differences:
    """With the clips that differ; where nothing that is recorded does, with what that leaves."""
    path = old.places.manifests / CLIPS_FILE
    if not path.is_file():
        raise CorpusError(f"{path}: missing", fix="restore it from a copy of this version")
    differences = _add(differences, clip_differences(pq.read_table(path).to_pylist(), library))
    digest = old.spec.build_digest(library.digest)
    if differences or digest == old.facts["digest"]:
        return differences
    reason = (
        f"enrich: the answers in {', '.join(path.name for path in old.spec.enrich)} are others"
        if old.spec.enrich
        else "Segue itself: corpus.json does not say which algorithms made this version"
    )
    digests = f"build digest {old.facts['digest'][:12]} there, {digest[:12]} here"
    return _add(differences, {OTHER: [f"{reason} ({digests})"]})


def _add(differences: Differences, others: Mapping[str, Sequence[str]]) -> Differences:
    return Differences({**differences.by_kind, **others})


# The missing shards, made apart, proven, and only then moved in.


def remake(
    old: OldVersion,
    library: IngestedLibrary,
    where: Engine,
    settings: RenderSettings,
    observer: Observer,
) -> tuple[list[str], int, int]:
    """Verify what is there, make what is missing, and let it move in if all is as it was.

    What is made stays beside the shards, on this machine, until it moves in.

    Returns:
        What differs, shards rendered, shards linked.
    """
    present, differing = _verify_shards(old, where.width, observer)
    if differing:
        return differing, 0, 0
    staging = old.staging
    for name in (PLAN_FILE, CLIPS_FILE):
        link(old.places.manifests / name, staging.manifests / name)
    twins = _find_twins(old, [shard for shard in old.shards if shard.shard not in present])
    proven = present.keys() | twins.keys()
    for name in proven:
        if (measured := old.places.measurements_path(name)).is_file():
            link(measured, staging.measurements_path(name))
            link(old.places.receipt_path(name), staging.receipt_path(name))
    pending = [shard for shard in old.shards if not _is_staged(old, shard, proven)]
    audio = old.spec.audio
    job = RenderJob(staging, library.index, audio.mixdown, audio.format)
    staged = len(old.shards) - len(pending)
    observer.start("render", len(old.shards), "shards", done=staged)

    def begin(shard: ShardPlan) -> Future[None]:
        return where.submit(Call(render_shard, shard.shard, settings.timeout_s), job, shard)

    schedule(pending, begin, where, lambda shard: observer.advance("render"), settings.delays_s)
    observer.finish("render")
    differing = list(_compare_rendered(old, pending))
    if not differing:
        assemble(old.spec, library, staging, old.shards)
        path, remade = (places.manifests / SAMPLES_FILE for places in (old.places, staging))
        if path.is_file() and file_sha256(path) != file_sha256(remade):
            differing = [f"{SAMPLES_FILE}: does not match the plan and the shards"]
    if not differing:
        _move_in(old, library.index, twins)
        rendered = sum(shard.shard not in present for shard in pending)
        if rendered or twins:
            record(old.places.journal, "reproduced", rendered=rendered, linked=len(twins))
    shutil.rmtree(staging.out)
    return (differing, 0, 0) if differing else ([], rendered, len(twins))


def _verify_shards(
    old: OldVersion, worker_count: int, observer: Observer
) -> tuple[dict[str, Path], list[str]]:
    """The shards that are there, and those that are not what they were."""
    differing = []
    paths = {}
    for shard in old.shards:
        receipt = old.receipts.get(shard.shard)
        if receipt is None:
            differing.append(f"shard {shard.shard}: no receipt, so its content is unknown")
        elif receipt.digest != shard.digest:
            differing.append(f"shard {shard.shard}: its receipt is for another plan")
        else:
            path = old.places.shard_path(shard.split, shard.shard)
            if old.places.store.find_size(path) is not None:
                paths[shard.shard] = path
    observer.start("verify", len(paths), "shards")
    with ThreadPoolExecutor(max(1, worker_count)) as threads:
        values = threads.map(old.places.store.hash_file, paths.values())
        hashes = {}
        for name, value in zip(paths, values, strict=True):
            hashes[name] = value
            observer.advance("verify")
    observer.finish("verify")
    differing += [
        f"shard {name}: the file differs from its receipt; delete "
        f"{old.places.format_path(paths[name])} to rebuild it"
        for name, value in hashes.items()
        if value != old.receipts[name].sha256
    ]
    return paths, differing


def _find_twins(old: OldVersion, missing: Sequence[ShardPlan]) -> dict[str, Path]:
    """Missing shards that another version of the corpus holds."""
    alike, store = find_alike(old.places, missing), old.places.store
    twins = {}
    for shard in missing:
        receipt = old.receipts[shard.shard]
        for sibling in alike.get(shard.shard, ()):
            path = sibling.shard_path(shard.split, shard.shard)
            if store.find_size(path) == receipt.bytes and store.hash_file(path) == receipt.sha256:
                twins[shard.shard] = path
                break
    return twins


def _is_staged(old: OldVersion, shard: ShardPlan, proven: Collection[str]) -> bool:
    """Whether a shard needs no rendering; a killed run's counts if it is the right one."""
    receipt = read_receipt(old.staging, shard.shard)
    if receipt is None or receipt.sha256 != old.receipts[shard.shard].sha256:
        return False
    measured = old.staging.measurements_path(shard.shard).is_file()
    return is_done(old.staging, shard) or (shard.shard in proven and measured)


def _compare_rendered(old: OldVersion, rendered: Iterable[ShardPlan]) -> Iterator[str]:
    for shard in rendered:
        before = old.receipts[shard.shard].sha256
        receipt = read_receipt(old.staging, shard.shard)
        if receipt is None or receipt.sha256 != before:
            now = receipt.sha256[:12] if receipt else "nothing"
            yield (
                f"shard {shard.shard}: rendered to SHA-256 {now}, its receipt says {before[:12]}: "
                "something unrecorded differs, such as the processor"
            )


def _move_in(old: OldVersion, index: Path, twins: Mapping[str, Path]) -> None:
    """Add what is missing from the version, bank index included; nothing is written over."""
    places, staging, store = old.places, old.staging, old.places.store
    for name in (SAMPLES_FILE, *(f"receipts/{shard.shard}.parquet" for shard in old.shards)):
        store.add(staging.manifests / name, places.manifests / name)
    for shard in old.shards:
        if shard.shard in twins:
            target = places.shard_path(shard.split, shard.shard)
            store.adopt(twins[shard.shard], target, places.receipt_path(shard.shard))
    for path in walk_files(staging.shards):
        below = path.relative_to(staging.shards)
        origin = places.manifests / SAMPLES_FILE if below == Path(SAMPLES_FILE) else path
        store.add(origin, places.shards / below)
    # The index is named by where clips lie in the parts, which files of other times change.
    store.add(index, (places.manifests / str(old.facts["bank"])).resolve())
    unmark(places)
