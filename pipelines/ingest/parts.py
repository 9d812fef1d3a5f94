"""Parts of a library: runs of its clips, each a PCM file, their rows and, written last, a receipt.

A part's name holds the digest of all that determines it, so that a part which is there is right,
whichever build made it. Where a part ends is told by the clips' ids, so that a clip more or less
changes one part alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel

from pipelines.ingest.decoder import Decoder
from pipelines.ingest.decoding import DecodingTask, Outcome
from pipelines.store.mirror import Mirror
from synth.audio.fingerprint import FINGERPRINT_VERSION
from synth.base.atomic import replacing, write_text
from synth.base.errors import SourceError
from synth.base.rng import digest, uniform_hash
from synth.corpus.schema import CLIPS, canonical_json, to_table
from synth.sources import ClipRef
from synth.sources.catalogue import quarantine_row
from synth.sources.choice import drop_places

INGEST_VERSION: Final = 10
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
    mirror: Mirror | None = None

    def path_with(self, suffix: str) -> Path:
        """One of the part's files."""
        return self.folder / f"part-{self.key}{suffix}"

    def is_whole(self) -> bool:
        """Whether the receipt is there, and all that it certifies."""
        if not all(self.path_with(suffix).is_file() for suffix in (".json", ".parquet")):
            return False
        pcm = self.path_with(".pcm")
        return pcm.is_file() or (self.mirror is not None and self.mirror.find_size(pcm) is not None)

    @property
    def files(self) -> list[Path]:
        """All of them, the receipt last."""
        return [self.path_with(suffix) for suffix in (".pcm", ".parquet", ".json")]


def ingest_part(part: LibraryPart) -> None:
    """Open, measure and store the clips of one part in this process."""
    store_part(part, map(part.task.decode, part.refs))


def read_part(part: LibraryPart) -> None:
    """Open, measure and store the clips of one part in a decoder's process on this machine.

    Raises:
        SourceError: If this machine sees other files than the one that listed them.
    """
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


def store_part(part: LibraryPart, outcomes: Iterable[Outcome]) -> None:
    """Write what became of a part's clips; the receipt last."""
    rows: list[dict[str, Any]] = []
    refused: list[dict[str, str]] = []
    start = 0
    with replacing(part.path_with(".pcm")) as partial, partial.open("wb") as file:
        for ref, outcome in zip(part.refs, outcomes, strict=True):
            if isinstance(outcome, str):
                refused.append(quarantine_row(ref.id, ref.location, "ingest", outcome))
                continue
            frames = len(outcome.pcm)
            file.write(outcome.pcm.astype("<i2").tobytes())
            place = {"part": part.path_with(".pcm").name, "start": start, "scale": outcome.scale}
            rows.append(outcome.row | place | {"bank_frames": frames})
            start += frames
    with replacing(part.path_with(".parquet")) as partial:
        pq.write_table(to_table(rows, PART_ROWS), partial)
    write_text(part.path_with(".json"), canonical_json({"clips": len(rows), "quarantine": refused}))
    if part.mirror is not None:
        part.mirror.push(*part.files)


def read_rows(part: LibraryPart) -> pa.Table:
    """The rows of a part that is there, as `PART_ROWS`."""
    with pq.ParquetFile(part.path_with(".parquet")) as file:
        return file.read().cast(PART_ROWS)


def split_library(
    task: DecodingTask, refs: Iterable[ClipRef], folder: Path, mirror: Mirror | None = None
) -> Iterator[LibraryPart]:
    """The parts of a library, in the order of its refs."""
    for chunk in chunk_refs(refs):
        yield LibraryPart(task, chunk, folder, _compute_key(task, chunk), mirror)


def sync_parts(parts: Sequence[LibraryPart], folder: Path, mirror: Mirror) -> None:
    """Bring what is said of the parts that a store holds, and put those that it lacks.

    The sounds of a part come when they are rendered from.
    """
    there = set(mirror.list_files(folder))
    for part in parts:
        if not there.issuperset(part.files) and all(path.is_file() for path in part.files):
            mirror.push(*part.files)
    known = [part for part in parts if there.issuperset(part.files)]
    mirror.fetch(path for part in known for path in part.files[1:])


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
