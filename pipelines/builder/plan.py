"""Plan: every sample of a corpus as a row, before any audio is made.

`plan.parquet` has whole shards in each row group. `shards.parquet` lists the shards, each with the
digest of all that determines its bytes; a shard whose receipt bears that digest need not be made
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.builder.claim import (
    BUILD_DIGEST,
    PLAN_FILES,
    SHARDS_FILE,
    claim_version,
    read_finished,
)
from pipelines.builder.drafting import DraftedRows, Drafter, draft_all, sample_id
from pipelines.builder.findings import LEFT_OUT, Tally
from pipelines.builder.usable import UsableClips
from pipelines.config.enrich import Enrichment
from pipelines.config.spec import Spec
from pipelines.engines.engine import Engine
from pipelines.ingest.ingest import IngestedLibrary
from pipelines.store.places import Places
from pipelines.store.row_file import BATCH_ROWS, RowFile, ShardTables, read_columns, read_rows
from synth.base.errors import CorpusError
from synth.base.hashing import FileHash
from synth.base.progress import Observer
from synth.base.rng import digest
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE, QUARANTINE_FILE
from synth.corpus.receipt import RECEIPT_FILE, VersionReceipt, replacing_certified
from synth.corpus.schema import (
    AUDIBLE,
    CLIPS,
    EAR,
    PLAN,
    QUARANTINE,
    canonical_json,
    to_table,
)
from synth.corpus.validation import check_columns
from synth.recipes.base import make_listener

_IN_SHARDS: Final = ("sha256", "onset", "offset", "licence", "attribution")
_KNOWN: Final = 1 << 16
"""Clips whose content is kept in memory."""
_ROW_GROUP: Final = 2048
SHARDS_SCHEMA: Final = pa.schema(
    [
        pa.field("shard", pa.string(), nullable=False),
        pa.field("split", pa.string(), nullable=False),
        pa.field("samples", pa.int64(), nullable=False),
        pa.field("row_group", pa.int64(), nullable=False),
        pa.field("digest", pa.string(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
    ]
)
_SCHEMAS: Final = {
    SHARDS_FILE: SHARDS_SCHEMA,
    PLAN_FILE: PLAN,
    QUARANTINE_FILE: QUARANTINE,
    CLIPS_FILE: CLIPS,
}


@dataclass(frozen=True, slots=True)
class ShardPlan:
    """A row of `shards.parquet`.

    Args:
        row_group: Where its rows are in `plan.parquet`.
        digest: Of its rows, its clips' content and the render settings.
        row: Its first row in the row group.
    """

    shard: str
    split: str
    samples: int
    row_group: int
    digest: str
    row: int = 0

    def rows(self, plan: Path) -> pa.Table:
        """Its rows of `schema.PLAN`."""
        return read_rows(plan, self.row_group, self.row, self.samples)


def plan(
    spec: Spec,
    library: IngestedLibrary,
    places: Places,
    where: Engine,
    observer: Observer,
    finished: VersionReceipt | None = None,
) -> list[ShardPlan]:
    """Write the catalogue, the quarantine and the plan; a whole plan is read, not made again.

    Args:
        finished: The receipt of a finished version, which what is made again must match.
    """
    plan_digest = spec.build_digest(library.digest)
    planned = _read(places, plan_digest)
    if planned is not None:
        return planned
    recipe = spec.make_recipe()
    setting = spec.setting
    usable = UsableClips.choose(recipe, library, spec)
    listener = make_listener(usable, setting)
    with usable.shortage.explained(advise=lambda: usable.advise(library, spec)):
        by_split = recipe.groups(usable.clips, setting)
        groups = {split: members for split, members in by_split.items() if len(members)}
    enrichment = Enrichment.read(spec.enrich, setting.audible)
    observer.start("plan", sum(map(len, groups.values())), "groups")
    claim_version(places, plan_digest)
    mark = {BUILD_DIGEST: plan_digest}
    # A reader judges captions by what is audible.
    audible = {AUDIBLE: str(setting.audible), EAR: canonical_json(asdict(setting.ear))}
    quarantine = library.quarantine + usable.refused
    with replacing_certified(places.manifests / CLIPS_FILE, finished) as partial:
        _write_clips(partial, library.clips, CLIPS.with_metadata(mark))
    with replacing_certified(places.manifests / QUARANTINE_FILE, finished) as partial:
        _write(partial, quarantine, QUARANTINE.with_metadata(mark))

    @lru_cache(maxsize=_KNOWN)
    def tell_content(clip: str) -> str:
        """What of a clip determines the shards that it is heard in."""
        row = library.clips.row(usable.numbers[clip], *_IN_SHARDS)
        return canonical_json([clip, canonical_json([row[name] for name in _IN_SHARDS])])

    drafter = Drafter(
        spec.corpus, recipe.name, groups, listener, spec.audio, enrichment, usable.shortage
    )
    tally = Tally({split: len(members) for split, members in groups.items()}, usable.shortage)
    enriched: set[str] = set()
    shards: list[ShardPlan] = []
    with (
        replacing_certified(places.manifests / PLAN_FILE, finished) as partial,
        pq.ParquetWriter(
            partial,
            PLAN.with_metadata(audible | mark),
            compression="zstd",
        ) as writer,
        closing(draft_all(drafter, where, places.manifests, plan_digest)) as drafted,
    ):
        tables = ShardTables(writer)
        for shard in pack(
            spec.corpus, spec.shards.samples, _observe(drafted, library.clips, tally, observer)
        ):
            clips = {clip for row in shard.rows.column("clips").to_pylist() for clip in row}
            contents = map(tell_content, sorted(clips))
            determinants = digest(spec.render_digest(), *shard.texts, *contents)
            row_group, row = tables.add(shard.rows.cast(writer.schema))
            samples = len(shard.texts)
            shards.append(ShardPlan(shard.name, shard.split, samples, row_group, determinants, row))
            enriched.update(enrichment.answers.keys() & set(shard.rows.column("id").to_pylist()))
        tables.flush()
        enrichment.refuse_strangers(enriched)
        if left_out := tally.conclude():
            writer.add_key_value_metadata(
                {LEFT_OUT: canonical_json([asdict(kind) for kind in left_out])}
            )
    rows = [asdict(shard) for shard in shards]
    with replacing_certified(places.manifests / SHARDS_FILE, finished) as partial:
        _write(partial, rows, SHARDS_SCHEMA.with_metadata(mark))
    files = [places.manifests / name for name in reversed(PLAN_FILES)]
    if finished is None:
        certified = {path.name: FileHash.of(path) for path in files}
        VersionReceipt(places.manifests, plan_digest, certified).write()
        files.append(places.manifests / RECEIPT_FILE)
    places.store.put(*files)
    observer.finish("plan", f"{sum(shard.samples for shard in shards)} samples")
    return shards


def _observe(
    drafted: Iterable[DraftedRows], clips: RowFile, tally: Tally, observer: Observer
) -> Iterator[DraftedRows]:
    for run in drafted:
        yield run
        tally.count(run)
        clips.give_back()  # levels were read here and there, each with much that lies about it
        observer.advance("plan", len(run.sizes))


def _read(places: Places, plan_digest: str) -> list[ShardPlan] | None:
    """The shards of a whole plan; None where there is none, or it is damaged or another spec's."""
    if (receipt := VersionReceipt.read(places.manifests)) is not None:
        if receipt.digest != plan_digest or receipt.find_faults(PLAN_FILES):
            return None
    elif read_finished(places, plan_digest) is None:  # older versions have no receipt
        return None
    try:
        for name in PLAN_FILES:
            check_columns(places.manifests / name, _SCHEMAS[name])
    except CorpusError:
        return None
    rows = read_columns(places.manifests / SHARDS_FILE).to_pylist()
    return [ShardPlan(**row) for row in rows]


def _write(path: Path, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> None:
    pq.write_table(to_table(rows, schema), path, compression="zstd", row_group_size=_ROW_GROUP)


def _write_clips(path: Path, rows: RowFile, schema: pa.Schema) -> None:
    """The same of rows that are too many for memory."""
    batches = rows.batches()
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while chunk := [*islice(batches, _ROW_GROUP // BATCH_ROWS)]:
            writer.write_table(pa.Table.from_batches(chunk).combine_chunks().cast(schema))


# Packing: drafted rows become shards, and get their places in the corpus.


_UNNUMBERED = '"id":"","index":0,'
_UNPACKED = '"shard":"",'


@dataclass(frozen=True, slots=True)
class PackedShard:
    """A shard's rows, which are also there as canonical JSON, all with `index` 0."""

    name: str
    split: str
    rows: pa.Table
    texts: list[str]


def pack(corpus: str, most: int, drafted: Iterable[DraftedRows]) -> Iterator[PackedShard]:
    """One shard after the other; a group is never divided.

    Args:
        most: Samples that a shard may hold, but for one group that has more.
        drafted: The rows of all groups, split by split.
    """
    index = 0
    for split, runs in groupby(drafted, lambda run: run.split):
        start = 0
        for number, (tables, texts) in enumerate(_cut(runs, most)):
            name = f"{corpus}-{split}-{number:06d}.tar"
            ids = [sample_id(corpus, split, start + at) for at in range(len(texts))]
            places = {
                "id": pa.array(ids),
                "index": pa.array(np.arange(index, index + len(ids))),
                "shard": pa.array([name] * len(ids)),
            }
            rows = pa.concat_tables(tables).combine_chunks()
            columns = [places.get(name, rows.column(name)) for name in PLAN.names]
            yield PackedShard(
                name,
                split,
                pa.table(columns, schema=PLAN),
                [_place_text(text, sample, name) for text, sample in zip(texts, ids, strict=True)],
            )
            start += len(ids)
            index += len(ids)


def _cut(runs: Iterable[DraftedRows], most: int) -> Iterator[tuple[list[pa.Table], list[str]]]:
    """The rows of each shard, as tables that follow one another, and as text."""
    tables: list[pa.Table] = []
    texts: list[str] = []
    for run in runs:
        start = end = 0
        for size in run.sizes:
            count = len(texts) + end - start
            if count and count + size > most:
                tables.append(run.rows.slice(start, end - start))
                texts += run.texts[start:end]
                yield tables, texts
                tables, texts, start = [], [], end
            end += size
        tables.append(run.rows.slice(start, end - start))
        texts += run.texts[start:end]
    if texts:
        yield tables, texts


def _place_text(text: str, name: str, shard: str) -> str:
    """Quotes inside values are escaped, so that a key is found and nothing else."""
    numbered = text.replace(_UNNUMBERED, f'"id":"{name}","index":0,', 1)
    return numbered.replace(_UNPACKED, f'"shard":"{shard}",', 1)
