"""Ingest: a sound library becomes a catalogue of measured clips and a bank of their samples.

The library's clips are taken in parts. A part is a PCM file, the rows of its clips and, written
last, a receipt; its name holds the digest of all that determines it, so that a part which is there
is right, whichever build made it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel

from pipelines.executor import Runner
from pipelines.locks import in_turn
from pipelines.observe import Observer
from pipelines.spec import Spec
from synth.atomic import remove_partials, replacing, write_text
from synth.bank import INDEX_SCHEMA, encode
from synth.catalogue import (
    Acceptance,
    assign_splits,
    catalogue,
    listed,
    quarantined,
    withdraw_copies,
)
from synth.errors import ClipError, SourceError
from synth.rng import digest
from synth.schema import CLIPS, canonical_json, table
from synth.sources import ClipRef, Source, Unheard

INGEST_VERSION: Final = 2
PART_CLIPS: Final = 64
_PART_SCHEMA: Final = pa.schema(
    [
        *CLIPS,
        pa.field("part", pa.string(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("bank_frames", pa.int64(), nullable=False),
        pa.field("scale", pa.float32(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class Library:
    """An ingested sound library.

    Args:
        clips: Rows of `schema.CLIPS`, by id in the source's order.
        quarantine: Rows of `schema.QUARANTINE`.
        index: The bank's index file.
        digest: Of the clips' content and splits.
    """

    clips: list[dict[str, Any]]
    quarantine: list[dict[str, str]]
    index: Path
    digest: str


@dataclass(frozen=True, slots=True)
class Part:
    """A part to ingest: everything a worker needs."""

    source: Source
    refs: tuple[ClipRef, ...]
    rate: int
    acceptance: Acceptance
    folder: Path
    key: str

    def path(self, suffix: str) -> Path:
        """One of the part's files."""
        return self.folder / f"part-{self.key}{suffix}"

    def is_whole(self) -> bool:
        """Whether the receipt is there, and all that it certifies."""
        return all(self.path(suffix).is_file() for suffix in (".json", ".parquet", ".pcm"))


def ingest(spec: Spec, banks: Path, run: Runner, threads: int, observer: Observer) -> Library:
    """Catalogue the spec's source and fill the bank; parts that are there are not read again.

    Raises:
        SourceError: If the library is not where, or not what, the spec says, or holds no clip that
            can be used.
    """
    source = spec.make_source()
    if isinstance(source, Unheard):
        return _unheard(spec, source, banks)
    folder = banks / f"{source.name}-{spec.audio.sample_rate}"
    parts = list(_parts(source, spec, folder))
    observer.start("ingest", sum(len(part.refs) for part in parts), "clips")

    def one(part: Part) -> None:
        if not part.is_whole():
            run(ingest_part, part)
        observer.advance("ingest", len(part.refs))

    with in_turn(folder):
        remove_partials(folder)
        with ThreadPoolExecutor(max(1, threads)) as pool:
            list(pool.map(one, parts))
        library = _assemble(spec, source, parts)
    observer.finish("ingest", f"{len(library.clips)} clips, {len(library.quarantine)} quarantined")
    return library


def ingest_part(part: Part) -> None:
    """Decode, measure and store the clips of one part."""
    rows: list[dict[str, Any]] = []
    refused: list[dict[str, str]] = []
    start = 0
    with replacing(part.path(".pcm")) as partial, partial.open("wb") as file:
        for ref in part.refs:
            try:
                clip = catalogue(part.source, ref, part.rate, part.acceptance)
            except ClipError as error:
                refused.append(quarantined(ref.id, ref.location, "ingest", str(error)))
                continue
            pcm, scale = encode(clip.audio)
            file.write(pcm.astype("<i2").tobytes())
            place = {"part": part.path(".pcm").name, "start": start, "scale": scale}
            rows.append(clip.row | place | {"bank_frames": len(pcm)})
            start += len(pcm)
    with replacing(part.path(".parquet")) as partial:
        pq.write_table(table(rows, _PART_SCHEMA), partial)
    write_text(part.path(".json"), canonical_json({"clips": len(rows), "quarantine": refused}))


def _parts(source: Source, spec: Spec, folder: Path) -> Iterator[Part]:
    acceptance = spec.clips.acceptance
    settings = (
        source.model_dump(mode="json", exclude={"root"}) if isinstance(source, BaseModel) else {}
    )
    common = [INGEST_VERSION, source.name, settings, asdict(acceptance)]
    refs = list(source.refs())
    _refuse_repeated(refs)
    for begin in range(0, len(refs), PART_CLIPS):
        chunk = tuple(refs[begin : begin + PART_CLIPS])
        listing = [[asdict(ref), source.stamp(ref)] for ref in chunk]
        key = digest(canonical_json(common), canonical_json(listing))[:20]
        yield Part(source, chunk, spec.audio.sample_rate, acceptance, folder, key)


def _refuse_repeated(refs: Sequence[ClipRef]) -> None:
    seen: set[str] = set()
    for ref in refs:
        try:
            ref.location.encode()
        except UnicodeEncodeError as error:
            raise SourceError(
                f"{ref.location!a}: its name is not UTF-8", mend="rename the file"
            ) from error
        if ref.id in seen:
            raise SourceError(
                f"two clips are called {ref.id}", mend="rename one, or list it only once"
            )
        seen.add(ref.id)


def _assemble(spec: Spec, source: Source, parts: Sequence[Part]) -> Library:
    clips: list[dict[str, Any]] = []
    entries: list[dict[str, Any]] = []
    quarantine: list[dict[str, str]] = []
    for part in parts:
        quarantine += json.loads(part.path(".json").read_text(encoding="utf-8"))["quarantine"]
        for row in pq.read_table(part.path(".parquet")).to_pylist():
            clips.append({name: row[name] for name in CLIPS.names})
            entries.append(
                {
                    "clip": row["id"],
                    "part": row["part"],
                    "start": row["start"],
                    "frames": row["bank_frames"],
                    "scale": row["scale"],
                }
            )
    if not clips:
        raise SourceError(
            f"source {source.name}: none of {len(quarantine)} clips can be used",
            mend=f"the first was refused because it {quarantine[0]['reason']}"
            if quarantine
            else "the library lists no clips",
        )
    index = _write_index(parts[0].folder, entries, spec.audio.sample_rate)
    return _library(spec, clips, quarantine, index)


def _unheard(spec: Spec, source: Unheard, banks: Path) -> Library:
    """The catalogue of a library without recordings; its bank does not exist."""
    refs = list(source.refs())
    _refuse_repeated(refs)
    clips = [listed(source.name, ref) | source.row(ref) for ref in refs]
    return _library(spec, clips, [], banks / source.name)


def _library(
    spec: Spec, clips: list[dict[str, Any]], quarantine: list[dict[str, str]], index: Path
) -> Library:
    clips, repeated = withdraw_copies(clips)
    quarantine += repeated
    quarantine += assign_splits(clips, spec.split_rules, spec.seed)
    content = digest(
        *(
            canonical_json({name: value for name, value in row.items() if name not in _INCIDENTAL})
            for row in clips
        )
    )
    return Library(clips, quarantine, index, content)


_INCIDENTAL: Final = frozenset({"location", "levels_db"})


def _write_index(folder: Path, entries: list[dict[str, Any]], rate: int) -> Path:
    found = table(entries, INDEX_SCHEMA).replace_schema_metadata({"sample_rate": str(rate)})
    path = folder / f"index-{digest(canonical_json(entries))[:20]}.parquet"
    if not path.is_file():
        with replacing(path) as partial:
            pq.write_table(found, partial)
    return path
