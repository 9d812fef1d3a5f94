"""Ingest: a sound library becomes a catalogue of measured clips and a bank of their samples.

The library's clips are taken in parts. A part is a PCM file, the rows of its clips and, written
last, a receipt; its name holds the digest of all that determines it, so that a part which is there
is right, whichever build made it. Where a part ends is told by the clips' ids, so that a clip more
or less changes one part alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel

from pipelines.admission import Admission
from pipelines.decoder import Decoder, Outcome, Task
from pipelines.executor import Runner
from pipelines.intake import Intake
from pipelines.locks import in_turn
from pipelines.observe import Observer
from synth.atomic import remove_partials, replacing, write_text
from synth.bank import INDEX_SCHEMA
from synth.catalogue import listed, quarantined
from synth.errors import SourceError
from synth.fingerprint import FINGERPRINT_VERSION
from synth.rng import digest, uniform_hash
from synth.schema import CLIPS, canonical_json, table
from synth.sources import ClipRef, Source, Unheard

INGEST_VERSION: Final = 4
PART_CLIPS: Final = 64
MAX_PART_CLIPS: Final = 256
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
    """An ingested sound library; each clip listed is in `clips` or in `quarantine`, in one alone.

    Args:
        clips: Rows of `schema.CLIPS`, by id in the source's order; `split` is "" outside of all.
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

    task: Task
    refs: tuple[ClipRef, ...]
    folder: Path
    key: str

    def path(self, suffix: str) -> Path:
        """One of the part's files."""
        return self.folder / f"part-{self.key}{suffix}"

    def is_whole(self) -> bool:
        """Whether the receipt is there, and all that it certifies."""
        return all(self.path(suffix).is_file() for suffix in (".json", ".parquet", ".pcm"))


def ingest(intake: Intake, banks: Path, run: Runner, threads: int, observer: Observer) -> Library:
    """Catalogue a library and fill the bank; parts that are there are not read again.

    Files are opened in processes of their own, `threads` of them and one at least, which are killed
    over the time limit; what a source makes by itself is made by `run`.

    Raises:
        SourceError: If the library is not where, or not what, its settings say, or holds no clip
            that can be used.
    """
    admission = Admission.of(intake)
    if admission.blocks:
        observer.start("block", len(admission.blocks), "lists")
        observer.finish("block", admission.weakness)
    source = intake.source
    refs = list(islice(source.refs(), intake.limit))
    _refuse_repeated(refs)
    refused = [
        quarantined(ref.id, ref.location, "source", ref.refusal) for ref in refs if ref.refusal
    ]
    refs = [ref for ref in refs if not ref.refusal]
    if isinstance(source, Unheard):
        rows = [listed(source.name, ref) | source.row(ref) for ref in refs]
        return _library(admission, rows, refused, banks / source.name)
    task = Task(source, intake.rate, intake.acceptance)
    folder = banks / f"{source.name}-{intake.rate}"
    parts = [Part(task, *chunk) for chunk in _parts(task, refs, folder)]
    observer.start("ingest", len(refs), "clips")
    with in_turn(folder):
        remove_partials(folder)
        missing = [part for part in parts if not part.is_whole()]
        observer.advance("ingest", len(refs) - sum(len(part.refs) for part in missing))
        if source.reads_files:
            _read(missing, task, max(1, threads), observer)
        else:
            _make(missing, run, max(1, threads), observer)
        library = _assemble(admission, intake.rate, source, parts, refused, folder)
    observer.finish("ingest", f"{len(library.clips)} clips, {len(library.quarantine)} quarantined")
    return library


def _read(parts: Sequence[Part], task: Task, processes: int, observer: Observer) -> None:
    """Ingest parts of files, each by a decoder that can be killed."""
    decoders = [Decoder(task) for _ in range(min(processes, len(parts)))]
    idle: SimpleQueue[Decoder] = SimpleQueue()
    for decoder in decoders:
        idle.put(decoder)

    def one(part: Part) -> None:
        decoder = idle.get()
        try:
            _store(part, _observed(decoder.outcomes(part.refs), observer))
        except BaseException:
            decoder.close()  # it is still at work on the rest of the part
            raise
        finally:
            idle.put(decoder)

    with ThreadPoolExecutor(processes) as pool:
        try:
            list(pool.map(one, parts))
        finally:
            for decoder in decoders:
                decoder.close()


def _make(parts: Sequence[Part], run: Runner, threads: int, observer: Observer) -> None:
    """Ingest parts of clips that are made rather than read."""

    def one(part: Part) -> None:
        run(ingest_part, part)
        observer.advance("ingest", len(part.refs))

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(one, parts))


def ingest_part(part: Part) -> None:
    """Open, measure and store the clips of one part in this process."""
    _store(part, map(part.task.outcome, part.refs))


def _observed(outcomes: Iterable[Outcome], observer: Observer) -> Iterator[Outcome]:
    for outcome in outcomes:
        yield outcome
        observer.advance("ingest")


def _store(part: Part, outcomes: Iterable[Outcome]) -> None:
    """Write what became of a part's clips; the receipt last."""
    rows: list[dict[str, Any]] = []
    refused: list[dict[str, str]] = []
    start = 0
    with replacing(part.path(".pcm")) as partial, partial.open("wb") as file:
        for ref, outcome in zip(part.refs, outcomes, strict=True):
            if isinstance(outcome, str):
                refused.append(quarantined(ref.id, ref.location, "ingest", outcome))
                continue
            frames = len(outcome.pcm)
            file.write(outcome.pcm.astype("<i2").tobytes())
            place = {"part": part.path(".pcm").name, "start": start, "scale": outcome.scale}
            rows.append(outcome.row | place | {"bank_frames": frames})
            start += frames
    with replacing(part.path(".parquet")) as partial:
        pq.write_table(table(rows, _PART_SCHEMA), partial)
    write_text(part.path(".json"), canonical_json({"clips": len(rows), "quarantine": refused}))


def _parts(
    task: Task, refs: Sequence[ClipRef], folder: Path
) -> Iterator[tuple[tuple[ClipRef, ...], Path, str]]:
    source = task.source
    incidental = {"root", "audio"}
    settings = (
        source.model_dump(mode="json", exclude=incidental) if isinstance(source, BaseModel) else {}
    )
    versions = [INGEST_VERSION, FINGERPRINT_VERSION]
    common = [*versions, source.name, settings, asdict(task.acceptance)]
    for chunk in _chunks(refs):
        listing = [[asdict(ref), source.stamp(ref)] for ref in chunk]
        yield chunk, folder, digest(canonical_json(common), canonical_json(listing))[:20]


def _chunks(refs: Iterable[ClipRef]) -> Iterator[tuple[ClipRef, ...]]:
    """Refs in runs that end where an id says so: a clip more or less changes one run alone."""
    chunk: list[ClipRef] = []
    for ref in refs:
        chunk.append(ref)
        if len(chunk) == MAX_PART_CLIPS or uniform_hash("part", ref.id) * PART_CLIPS < 1:
            yield tuple(chunk)
            chunk = []
    if chunk:
        yield tuple(chunk)


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


def _assemble(
    admission: Admission,
    rate: int,
    source: Source,
    parts: Sequence[Part],
    refused: Sequence[dict[str, str]],
    folder: Path,
) -> Library:
    clips: list[dict[str, Any]] = []
    entries: list[dict[str, Any]] = []
    quarantine = list(refused)
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
            mend=f"{quarantine[0]['location']}: {quarantine[0]['reason']}"
            if quarantine
            else "the library lists no clips",
        )
    index = _write_index(folder, entries, rate)
    return _library(admission, clips, quarantine, index)


def _library(
    admission: Admission,
    clips: list[dict[str, Any]],
    quarantine: list[dict[str, str]],
    index: Path,
) -> Library:
    clips, withdrawn = admission.admitted(clips)
    quarantine += withdrawn
    content = digest(
        *(
            canonical_json({name: value for name, value in row.items() if name not in _INCIDENTAL})
            for row in clips
        )
    )
    return Library(clips, quarantine, index, content)


_INCIDENTAL: Final = frozenset({"location", "levels_db", "fingerprint"})


def _write_index(folder: Path, entries: list[dict[str, Any]], rate: int) -> Path:
    found = table(entries, INDEX_SCHEMA).replace_schema_metadata({"sample_rate": str(rate)})
    path = folder / f"index-{digest(canonical_json(entries))[:20]}.parquet"
    if not path.is_file():
        with replacing(path) as partial:
            pq.write_table(found, partial)
    return path
