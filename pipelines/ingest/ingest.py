"""Ingest: a sound library becomes a catalogue of measured clips and a bank of their samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from queue import SimpleQueue

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.config.spec import Intake
from pipelines.engines.engine import Engine, RemoteEngine, run_in_order
from pipelines.ingest.admission import Admission, AdmittedClips
from pipelines.ingest.decoder import Decoder
from pipelines.ingest.decoding import DecodingTask, Outcome
from pipelines.ingest.parts import (
    LISTED_ROWS,
    PART_ROWS,
    LibraryPart,
    ingest_part,
    list_remedies,
    read_part,
    read_receipt,
    read_rows,
    split_library,
    store_part,
    sync_parts,
)
from pipelines.store.row_file import BATCH_ROWS, RowFile
from pipelines.store.stage import store_at
from synth.audio.bank import INDEX_SCHEMA, read_index
from synth.base.atomic import remove_partials, replacing
from synth.base.errors import CorpusError, SourceError, SpecError, suggestion
from synth.base.locks import LOCK_FILE, wait_for_lock
from synth.base.progress import Observer, tell_damage
from synth.base.rng import digest_all, digest_pieces
from synth.corpus.schema import CLIPS, INCIDENTAL, canonical_json, read_levels, to_table
from synth.labels.lexicon import MUSIC, spell_listed
from synth.sources import ClipRef, Unheard
from synth.sources.block import Blocked
from synth.sources.catalogue import Acceptance, find_segments, library_columns, quarantine_row
from synth.sources.reading.files import list_refs
from synth.sources.selection import STAGE, suggest_licences
from synth.truth.ear import Ear


@dataclass(frozen=True, slots=True)
class IngestedLibrary:
    """An ingested sound library; each clip listed is in `clips` or in `quarantine`, in one alone.

    Args:
        clips: Rows of `schema.CLIPS`, by id in the source's order; `split` is "" outside of all.
        decoded: The files of sounds that were written just now.
    """

    clips: RowFile
    quarantine: list[dict[str, str]]
    index: Path
    digest: str
    blocked: tuple[Blocked, ...] = ()
    decoded: frozenset[str] = frozenset()


def ingest(intake: Intake, banks: Path, where: Engine, observer: Observer) -> IngestedLibrary:
    """Catalogue a library and fill the bank; parts that are there are not read again.

    Files are opened in processes of their own, as many as the engine is wide and one at least,
    which are killed over the time limit; what a source makes by itself the engine makes.
    """
    admission = Admission.of(intake)
    if admission.blocks:
        observer.start("block", len(admission.blocks), "lists")
        observer.finish("block", admission.weakness)
    source = intake.source
    refs = list(islice(list_refs(source), intake.limit))
    _refuse_repeated(refs)
    labels = {label for ref in refs for label in ref.labels} if intake.labels else set()
    for name in intake.labels:
        if name not in labels:
            raise SpecError(
                f"labels: no clip is labelled {name!r}", fix=suggestion(name, sorted(labels))
            )
    refused = [
        quarantine_row(ref.id, ref.location, "source", ref.refusal) for ref in refs if ref.refusal
    ]
    refs = [ref for ref in refs if not ref.refusal]
    if isinstance(source, Unheard):
        listed = _list_rows(source, refs, intake.acceptance, refused)
        listed = map(partial(_name, labels=intake.labels), listed)
        rows = RowFile.write(banks.parent, LISTED_ROWS, listed)
        del refs, listed  # a million take half a gigabyte
        return _make_library(admission, intake.ear, rows, refused, banks / source.name)
    task = DecodingTask(source, intake.rate, intake.acceptance)
    folder = banks / f"{source.name}-{intake.rate}"
    store = store_at(banks.parent)
    parts = list(split_library(task, refs, folder, store))
    with wait_for_lock(folder / LOCK_FILE, observer), store.hold_filling(folder) as check:
        remove_partials(folder)
        sync_parts(parts, folder, store)
        faults = {part.key: fault for part in parts if (fault := part.find_fault()) is not None}
        tell_damage(observer, [fault for fault in faults.values() if fault], "decoded again")
        missing = [part for part in parts if part.key in faults]
        present = len(refs) - sum(len(part.refs) for part in missing)
        observer.start("ingest", len(refs), "clips", done=present)
        if source.reads_files and not isinstance(where, RemoteEngine):
            _read(missing, task, max(1, where.width), observer)
        else:
            fill = read_part if source.reads_files else ingest_part
            for part, _ in zip(missing, run_in_order(where, fill, missing), strict=True):
                observer.advance("ingest", len(part.refs))
        remove_partials(folder)  # of workers that were lost meanwhile
        parts = [replace(part, refs=()) for part in parts]
        del refs, missing  # a million take half a gigabyte
        library = _assemble(admission, intake, parts, refused, folder)
        check()  # what the index leads to may be gone
        if store.find_size(library.index) is None:
            store.put(library.index)
        library = replace(library, decoded=frozenset(f"part-{key}.pcm" for key in faults))
    observer.finish("ingest", f"{len(library.clips)} clips, {len(library.quarantine)} quarantined")
    return library


def _read(
    parts: Sequence[LibraryPart], task: DecodingTask, processes: int, observer: Observer
) -> None:
    """Ingest parts of files, each by a decoder that can be killed."""
    decoders = [Decoder(task) for _ in range(min(processes, len(parts)))]
    idle: SimpleQueue[Decoder] = SimpleQueue()
    for decoder in decoders:
        idle.put(decoder)

    def ingest_one(part: LibraryPart) -> None:
        decoder = idle.get()
        try:
            store_part(part, _observe(decoder.decode_all(part.refs), observer))
        except BaseException:
            decoder.close()  # it is still at work on the rest of the part
            raise
        finally:
            idle.put(decoder)

    with ThreadPoolExecutor(processes) as pool:
        try:
            list(pool.map(ingest_one, parts))
        finally:
            for decoder in decoders:
                decoder.close()


def _observe(outcomes: Iterable[Outcome], observer: Observer) -> Iterator[Outcome]:
    for outcome in outcomes:
        yield outcome
        observer.advance("ingest")


def _refuse_repeated(refs: Sequence[ClipRef]) -> None:
    seen: set[str] = set()
    for ref in refs:
        try:
            ref.location.encode()
        except UnicodeEncodeError as error:
            raise SourceError(
                f"{ref.location!a}: its name is not UTF-8", fix="rename the file"
            ) from error
        if ref.id in seen:
            raise SourceError(
                f"two clips have the id {ref.id}", fix="rename one, or list the clip once"
            )
        seen.add(ref.id)


def _name(rows: pa.Table, labels: Mapping[str, str]) -> pa.Table:
    """The rows with the labels that the spec puts for the library's, or as the lexicon spells them.

    What a whole recording is called that tags tell of stays.
    """
    at = rows.schema.get_field_index("labels")
    column = rows.column(at)
    names = {
        label: labels.get(label) or (label != MUSIC and spell_listed(label)) or label
        for label in pc.unique(pc.list_flatten(column)).to_pylist()
    }
    if all(label == name for label, name in names.items()):
        return rows
    named = [[*dict.fromkeys(names[label] for label in listed)] for listed in column.to_pylist()]
    return rows.set_column(at, rows.schema.field(at), pa.array(named, column.type))


def _assemble(
    admission: Admission,
    intake: Intake,
    parts: Sequence[LibraryPart],
    refused: Sequence[dict[str, str]],
    folder: Path,
) -> IngestedLibrary:
    quarantine = list(refused)
    for part in parts:
        quarantine += read_receipt(part.path_with(".json")).quarantine
    named = map(partial(_name, labels=intake.labels), map(read_rows, parts))
    rows = RowFile.write(folder.parent.parent, PART_ROWS, named)
    if not len(rows):
        first = f" ({quarantine[0]['location']} {quarantine[0]['reason']})" if quarantine else ""
        remedy = "; or ".join(list_remedies(quarantine))
        raise SourceError(
            f"source {intake.source.name}: none of {len(quarantine)} clips can be used{first}",
            fix=remedy or ("add clips that can be used" if first else "the library lists no clips"),
        )
    index = _write_index(folder, rows, intake.rate)
    return _make_library(admission, intake.ear, rows, quarantine, index)


def _make_library(
    admission: Admission, ear: Ear, rows: RowFile, quarantine: list[dict[str, str]], index: Path
) -> IngestedLibrary:
    admitted = admission.admit(rows)
    quarantine += admitted.withdrawn
    if not admitted.kept.any() and quarantine:
        refused = admitted.withdrawn or quarantine
        first = f"{refused[0]['location']}: {refused[0]['reason']}"
        by_licence = all(row["stage"] == STAGE for row in refused)
        message, fix = f"none of {len(refused)} clips may be used", first
        if by_licence:
            message += f" ({first})"
            fix = suggest_licences(row["licence"] for row in rows.rows("licence"))
        raise SourceError(message, fix=fix)
    clips = RowFile.write(rows.folder, CLIPS, _complete(rows, admitted, ear))
    content = [name for name in CLIPS.names if name not in INCIDENTAL]
    digest = digest_all(canonical_json(row) for row in clips.rows(*content))
    return IngestedLibrary(clips, quarantine, index, digest, admitted.blocked)


def _complete(rows: RowFile, admitted: AdmittedClips, ear: Ear) -> Iterator[pa.Table]:
    """The rows that are kept, with what follows from the spec: splits and segments."""
    start = 0
    for batch in rows.batches():
        end = start + batch.num_rows
        numbers = np.flatnonzero(admitted.kept[start:end])
        chosen = batch.take(pa.array(numbers))
        levels = read_levels(chosen)
        facts = chosen.select(["sample_rate", "onset", "offset", "captions", "tags"]).to_pylist()
        for row, at in zip(facts, numbers.tolist(), strict=True):
            row |= admitted.joined.get(start + at, {})
        follow = {
            "split": [admitted.splits[start + at] for at in numbers.tolist()],
            "segments": [
                find_segments(
                    row | dict(zip(("levels_db", "levels_dba"), levels.of_clip(at), strict=True)),
                    ear,
                )
                for at, row in enumerate(facts)
            ],
            "captions": [row["captions"] for row in facts],
            "tags": [row["tags"] for row in facts],
        }
        columns = [
            pa.array(follow[field.name], field.type)
            if field.name in follow
            else chosen.column(field.name)
            for field in CLIPS
        ]
        yield pa.table(columns, schema=CLIPS)
        start = end


def _list_rows(
    source: Unheard, refs: Sequence[ClipRef], acceptance: Acceptance, refused: list[dict[str, str]]
) -> Iterator[pa.Table]:
    """The rows of a listing; `refused` is told of clips whose length cannot be used."""
    for start in range(0, len(refs), BATCH_ROWS):
        rows = []
        for ref in refs[start : start + BATCH_ROWS]:
            row = library_columns(source.name, ref) | source.row(ref)
            if reason := acceptance.refusal(row["frames"] / row["sample_rate"]):
                refused.append(quarantine_row(ref.id, ref.location, "ingest", reason))
            else:
                rows.append(row)
        yield to_table(rows, LISTED_ROWS)


def _write_index(folder: Path, rows: RowFile, rate: int) -> Path:
    names = dict(
        zip(("id", "part", "start", "bank_frames", "scale"), INDEX_SCHEMA.names, strict=True)
    )

    def tell() -> Iterator[str]:
        """One JSON list of all entries, never held at once."""
        comma = "["
        for batch in rows.batches([*names]):
            entries = batch.rename_columns([*names.values()]).to_pylist()
            yield comma + canonical_json(entries)[1:-1]
            comma = ","
        yield "]"

    path = folder / f"index-{digest_pieces(tell)[:20]}.parquet"
    entries = pa.Table.from_batches(rows.batches([*names])).rename_columns([*names.values()])
    marked = INDEX_SCHEMA.with_metadata({"sample_rate": str(rate)})
    table = entries.combine_chunks().cast(marked)
    if not _holds(path, table, rate):
        with replacing(path) as partial:
            pq.write_table(table, partial)
    return path


def _holds(index: Path, table: pa.Table, rate: int) -> bool:
    """Whether a bank's index says this; it may be damaged."""
    try:
        return index.exists() and read_index(index) == (table, rate)
    except CorpusError:
        return False
