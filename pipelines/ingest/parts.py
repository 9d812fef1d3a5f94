"""Parts of a library: runs of its clips, each a PCM file, their rows and, written last, a receipt.

A part's name holds the digest of all that determines it, so that a part which is there is right,
whichever build made it, if its files are those of its receipt. Where a part ends is told by the
clips' ids, so that a clip more or less changes one part alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import BaseModel

from pipelines.ingest.decoder import Decoder
from pipelines.ingest.decoding import DecodingTask, Outcome
from pipelines.ingest.remedies import find_pattern, find_remedy
from pipelines.store.store import Store
from synth.audio.bank import read_index
from synth.audio.fingerprint import FINGERPRINT_VERSION
from synth.base.atomic import replacing, write_text
from synth.base.doors import read_regular
from synth.base.errors import CorpusError, SourceError
from synth.base.hashing import FileHash, seal, unseal
from synth.base.rng import digest, uniform_hash
from synth.corpus.schema import CLIPS, canonical_json, to_table
from synth.sources import ClipRef, drop_places
from synth.sources.catalogue import quarantine_row

INGEST_VERSION: Final = 11
PART_CLIPS: Final = 64
MAX_PART_CLIPS: Final = 256
LISTED_ROWS: Final = pa.schema([field for field in CLIPS if field.name != "segments"])
"""What is known of a clip before an ear hears it."""

PART_ROWS: Final = pa.schema(
    [
        *LISTED_ROWS,
        pa.field("part", pa.string(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("bank_frames", pa.int64(), nullable=False),
        pa.field("scale", pa.float32(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class LibraryPart:
    """A part to ingest: everything a worker needs."""

    task: DecodingTask
    refs: tuple[ClipRef, ...]
    folder: Path
    key: str
    store: Store

    def path_with(self, suffix: str) -> Path:
        """One of the part's files."""
        return self.folder / f"part-{self.key}{suffix}"

    def find_fault(self) -> str | None:
        """What keeps the part from being used; "" if it was never finished, None if it is whole.

        The sounds are judged by their size, and by their hash where they were written after their
        receipt; `withdraw_damaged` hashes those that are to be rendered from.
        """
        path = self.path_with(".json")
        if not path.exists():
            return ""
        try:
            receipt = read_receipt(path)
        except CorpusError as error:
            return error.message
        pcm, rows = self.path_with(".pcm"), self.path_with(".parquet")
        if fault := receipt.rows.find_fault(rows):
            return f"{rows}: {fault}"
        fault = self.store.find_fault(pcm, receipt.pcm, path)
        return f"{pcm}: {fault}" if fault else None

    @property
    def files(self) -> list[Path]:
        """All of them, the receipt last."""
        return [self.path_with(suffix) for suffix in (".pcm", ".parquet", ".json")]


def ingest_part(part: LibraryPart) -> None:
    """Open, measure and store the clips of one part in this process."""
    store_part(part, map(part.task.decode, part.refs))


def read_part(part: LibraryPart) -> None:
    """Open, measure and store the clips of one part in a decoder's process on this machine."""
    if _compute_key(part.task, part.refs) != part.key:
        raise SourceError(
            f"{part.refs[0].location}: a worker sees different files of source "
            f"{part.task.source.name}",
            fix="mount the library at the same path on all workers, "
            "or ingest it first on this machine: `segue ingest`",
        )
    decoder = Decoder(part.task)
    try:
        store_part(part, decoder.decode_all(part.refs))
    finally:
        decoder.close()


@dataclass(frozen=True, slots=True)
class PartReceipt:
    """What certifies a part, with the rows of `schema.QUARANTINE` of what was refused."""

    pcm: FileHash
    rows: FileHash
    quarantine: list[dict[str, str]]


def read_receipt(path: Path) -> PartReceipt:
    """The receipt of a part, `part-KEY.json`."""
    values = unseal(read_regular(path), str(path))
    try:
        if values["part"] != path.stem:
            raise ValueError(f"it is that of {values['part']}")
        pcm, rows = FileHash.parse(values), FileHash.parse(values["rows"])
        return PartReceipt(pcm, rows, values["quarantine"])
    except (KeyError, ValueError) as error:
        raise CorpusError(f"{path}: damaged: {error}", fix="ingest again") from error


def store_part(part: LibraryPart, outcomes: Iterable[Outcome]) -> None:
    """Write what became of a part's clips; the receipt last."""
    rows: list[dict[str, Any]] = []
    refused: list[dict[str, str]] = []
    start = 0
    pcm, table, receipt = part.files
    sounds = hashlib.sha256()
    with replacing(pcm) as partial, partial.open("wb") as file:
        for ref, outcome in zip(part.refs, outcomes, strict=True):
            if isinstance(outcome, str):
                refused.append(quarantine_row(ref.id, ref.location, "ingest", outcome))
                continue
            frames = len(outcome.pcm)
            data = outcome.pcm.astype("<i2").tobytes()
            file.write(data)
            sounds.update(data)
            place = {"part": pcm.name, "start": start, "scale": outcome.scale}
            rows.append(outcome.row | place | {"bank_frames": frames})
            start += frames
    with replacing(table) as partial:
        pq.write_table(to_table(rows, PART_ROWS), partial)
    certified = {
        "part": receipt.stem,
        "clips": len(rows),
        "quarantine": refused,
        "bytes": 2 * start,
        "sha256": sounds.hexdigest(),
        "rows": asdict(FileHash.of(table)),
    }
    write_text(receipt, seal(certified))
    part.store.put(*part.files)


def read_rows(part: LibraryPart) -> pa.Table:
    """The rows of a part that is there, as `PART_ROWS`."""
    with pq.ParquetFile(part.path_with(".parquet")) as file:
        return file.read().cast(PART_ROWS)


def split_library(
    task: DecodingTask, refs: Iterable[ClipRef], folder: Path, store: Store
) -> Iterator[LibraryPart]:
    """The parts of a library, in the order of its refs."""
    for chunk in chunk_refs(refs):
        yield LibraryPart(task, chunk, folder, _compute_key(task, chunk), store)


def sync_parts(parts: Sequence[LibraryPart], folder: Path, store: Store) -> None:
    """Bring what is said of the parts that a store holds, and put those that it lacks.

    The sounds of a part come when they are rendered from.
    """
    stored, local = set(store.list_files(folder)), Store(store.root)
    for part in parts:
        is_lacking = not stored.issuperset(part.files) and part.path_with(".json").exists()
        if not is_lacking or replace(part, store=local).find_fault() is not None:
            continue
        if not find_pcm_fault(part.files[0], local):
            store.put(*part.files)
    complete = [part for part in parts if stored.issuperset(part.files)]
    store.fetch(path for part in complete for path in part.files[1:])


def list_parts(index: Path) -> set[str]:
    """The files of sounds that an index leads to."""
    return {*pc.unique(read_index(index)[0]["part"]).to_pylist()}


def withdraw_damaged(
    index: Path,
    clips: Collection[str],
    sound: Collection[str],
    threads: int,
    store: Store,
) -> list[str]:
    """Hash the sounds that are to be rendered from; where they are others, the receipt goes.

    Args:
        sound: Names of parts that are known to be right.

    Returns:
        What is wrong with each part that has to be decoded again.
    """
    table, _ = read_index(index)
    rows = table.filter(pc.is_in(table["clip"], pa.array(clips, pa.string())))
    names = sorted({*pc.unique(rows["part"]).to_pylist()}.difference(sound))
    paths = [index.parent / name for name in names]
    with ThreadPoolExecutor(threads) as pool:
        faults = list(pool.map(lambda path: find_pcm_fault(path, store), paths))
    damaged = {path: fault for path, fault in zip(paths, faults, strict=True) if fault}
    if damaged:
        store.remove(path.with_suffix(".json") for path in damaged)
        index.touch()  # so that workers let go of the sounds that they have mapped
    return [f"{path}: {fault}" for path, fault in damaged.items()]


def find_pcm_fault(pcm: Path, store: Store) -> str:
    """What is other with the sounds of a part, here and at the store; "" where nothing is."""
    try:
        certified = read_receipt(pcm.with_suffix(".json")).pcm
    except FileNotFoundError:
        return "has no receipt"
    except CorpusError as error:
        return f"its receipt cannot be read: {error.message}"
    fault = certified.find_fault(pcm)
    if fault and store.fetch_again(pcm):
        fault = certified.find_fault(pcm)
    return fault


def _compute_key(task: DecodingTask, refs: Sequence[ClipRef]) -> str:
    """Digest of all that determines a part."""
    source = task.source
    settings = drop_places(source.model_dump(mode="json")) if isinstance(source, BaseModel) else {}
    versions = [INGEST_VERSION, FINGERPRINT_VERSION]
    common = [*versions, source.name, settings, asdict(task.acceptance)]
    listing = [[asdict(ref), source.stamp(ref)] for ref in refs]
    return digest(canonical_json(common), canonical_json(listing))[:20]


def chunk_refs(refs: Iterable[ClipRef]) -> Iterator[tuple[ClipRef, ...]]:
    """Refs in runs that end where an id says so: a clip more or less changes one run alone."""
    chunk: list[ClipRef] = []
    for ref in refs:
        chunk.append(ref)
        if len(chunk) == MAX_PART_CLIPS or uniform_hash("part", ref.id) * PART_CLIPS < 1:
            yield tuple(chunk)
            chunk = []
    if chunk:
        yield tuple(chunk)


# Why clips are quarantined: reasons that differ in numbers and names alone, counted as one.


SHOWN: Final = 20
_REMEDIES: Final = 2
"""Kinds of which the remedies are told where clips are missing."""
_NUMBER: Final = re.compile(r"\d[\d,.]*")
_KIND: Final = re.compile(r"((\S+ ){0,3}?\S+: )?(\S+ ?){1,4}")
"""The words that tell one kind of reason from others: four, or four behind an early colon."""


@dataclass(frozen=True, slots=True)
class RefusalKind:
    """A kind of reason.

    Args:
        reason: That of the first of these clips.
        remedy: What would have kept them; see `find_remedy`.
    """

    clips: int
    reason: str
    location: str
    remedy: str = ""

    @property
    def line(self) -> str:
        """For people."""
        text = f"{self.clips:,} quarantined: {self.reason} (as {self.location})"
        return f"{text}; {self.remedy}" if self.remedy else text


def count_refusals(quarantine: Iterable[Mapping[str, Any]]) -> list[RefusalKind]:
    """Quarantined clips, counted by kind of reason, the most frequent first."""
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for row in quarantine:
        words = _KIND.match(_NUMBER.sub("#", row["reason"]))
        kind = find_pattern(row["reason"]) or (words[0] if words else "")
        kinds.setdefault(kind, []).append(row)
    ranked = sorted(kinds.values(), key=lambda rows: (-len(rows), rows[0]["reason"]))
    return [
        RefusalKind(
            len(rows),
            rows[0]["reason"],
            rows[0]["location"],
            find_remedy(rows),
        )
        for rows in ranked
    ]


def list_remedies(quarantine: Iterable[Mapping[str, Any]]) -> list[str]:
    """The settings that would have kept the most clips."""
    return [kind.remedy for kind in count_refusals(quarantine)[:_REMEDIES] if kind.remedy]


def format_refusals(kinds: Sequence[RefusalKind]) -> list[str]:
    """For people: the most frequent reasons, and how many clips have others."""
    lines = [kind.line for kind in kinds[:SHOWN]]
    rest = sum(kind.clips for kind in kinds[SHOWN:])
    return [*lines, f"and {rest:,} for other reasons"] if rest else lines
