"""Reproduce: an old version's shards are made again from its manifests, byte for byte.

What would be built now is first compared with what was built then. Only where nothing differs are
the missing shards rendered, in a folder of their own; only where every one of them is what its
receipt says do they move in. So a version is either what it was, or is left as it is.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.builder.build import refuse_unheard, remove_damaged_sounds
from pipelines.builder.claim import SHARDS_FILE
from pipelines.builder.differences import (
    Differences,
    algorithm_differences,
    clip_differences,
    library_differences,
    relocate_files,
    setting_differences,
)
from pipelines.builder.finalise import SPEC_FILE
from pipelines.builder.plan import SHARDS_SCHEMA, plan
from pipelines.builder.render import clean, read_receipt
from pipelines.builder.schedule import RenderSettings
from pipelines.config.file import read_spec
from pipelines.config.spec import Spec
from pipelines.engines.engine import engine
from pipelines.ingest.ingest import IngestedLibrary, ingest
from pipelines.store.places import BANKS, Places
from pipelines.store.row_file import read_columns
from pipelines.store.stage import hold_for_writing, refuse_private_store
from pipelines.versions.history import read_facts
from pipelines.versions.remake import OldVersion, remake
from pipelines.versions.shelf import refuse_foreign
from synth.base.errors import CorpusError, SourceError, shorten
from synth.base.progress import Observer, Silent
from synth.corpus.corpus import CLIPS_FILE, CORPUS_FILE, PLAN_FILE, SAMPLES_FILE, check_version
from synth.corpus.facts import GET_AGAIN
from synth.corpus.receipt import VersionReceipt
from synth.corpus.schema import PLAN
from synth.corpus.validation import check_manifest, explain_damage


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What came of reproducing a version.

    Args:
        shards: In the version.
        rendered: Shards that were made again.
        linked: Shards that another version holds.
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
        values = asdict(replace(self, differences=Differences()))
        return values | {
            "reproduced": not self.differences,
            "differences": self.differences.to_json(),
        }


def reproduce(
    places: Places,
    given: Spec | None,
    worker_count: int,
    observer: Observer | None = None,
    settings: RenderSettings | None = None,
) -> Reproduction:
    """Make the missing shards of a finished version again, and prove all of them.

    Args:
        given: A spec to compare its own with, which also says where the library lies now.
    """
    started = time.monotonic()
    observer = observer or Silent()
    if worker_count:
        refuse_private_store(places.out)
    refuse_foreign(places.out, places.corpus)
    with hold_for_writing(places.out, places.corpus) as mirror, engine(worker_count) as where:
        places = replace(places, mirror=mirror)
        clean(places)
        old, differences = _open_old(places, given)
        library: IngestedLibrary | None = None
        try:
            library = ingest(old.spec.intake, places.out / BANKS, where, observer)
        except SourceError as error:
            differences = replace(differences, others=(f"the library: {error}",))
        if library is not None:
            differences = _add_clip_differences(differences, old, library)
        rendered = linked = 0
        if library is not None and not differences:
            old = replace(old, shards=plan(old.spec, library, places, where, observer))
            if remove_damaged_sounds(library, places, old.shards, where, observer):
                bank = places.out / BANKS
                library = ingest(old.spec.intake, bank, where, observer)
            render = settings or RenderSettings()
            differences, rendered, linked = remake(old, library, where, render, observer)
    return Reproduction(
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
    found = {name: read_receipt(places, name) for name in names}
    receipts = {name: receipt for name, receipt in found.items() if receipt is not None}
    spec = relocate_files(stored, given) if given else stored
    refuse_unheard(spec)
    differences = Differences(
        settings=setting_differences(stored, given) if given else (),
        algorithms=algorithm_differences(facts),
        libraries=library_differences(list(receipts.values())),
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
    clips = clip_differences(pq.read_table(path).to_pylist(), library)
    differences = replace(
        differences,
        missing=clips.missing,
        changed=clips.changed,
        new=clips.new,
        others=clips.others,
    )
    digest = old.spec.build_digest(library.digest)
    if differences or digest == old.facts["digest"]:
        return differences
    reason = (
        f"enrich: the answers in {', '.join(path.name for path in old.spec.enrich)} are others"
        if old.spec.enrich
        else "Segue itself: corpus.json does not say which algorithms made this version"
    )
    digests = f"build digest {old.facts['digest'][:12]} there, {digest[:12]} here"
    return replace(differences, others=(f"{reason} ({digests})",))
