"""The rows of a split, read one by one from where they take no memory of the process."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa

from synth.base.atomic import file_state
from synth.base.rng import digest
from synth.base.units import Frames
from synth.corpus.corpus import SAMPLES_FILE, Corpus
from synth.storage import open_made
from train.config.run import Stage

ManifestRow: TypeAlias = Mapping[str, Any]
_FORMAT: Final = "1"
_TOGETHER: Final = 256
"""Rows of a batch of the file: one is read without those of others, and few pages are touched."""
_SMALL_BYTES: Final = 4 * 2**20
"""A manifest up to this size has its rows in memory; they take some twenty times as much there."""
_BATCHES_BEFORE_RELEASE: Final = 512
"""Batches that may be read before the pages are given back to the system."""
_RELEASE_ADVICE: Final[int | None] = getattr(mmap, "MADV_DONTNEED", None)


@dataclass(frozen=True, slots=True)
class Row(ManifestRow):
    """A sample as its split holds it: by name what the manifest says of it, or what is told of it.

    Args:
        position: In the split.
        mixed: Whether its corpus is mixed into another.
        crop: Start and length in frames of what is heard; None for all.
        crop_clips: The clips that are heard in it; None for all.
    """

    facts: ManifestRow
    position: int
    mixed: bool = False
    crop: tuple[Frames, Frames] | None = None
    crop_clips: tuple[str, ...] | None = None

    def __getitem__(self, name: str) -> Any:
        return self.facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    def retell(self, **facts: Any) -> Row:
        """The row with other facts."""
        return replace(self, facts={**self.facts, **facts})

    def adapt(self, stage: Stage) -> Stage:
        """The stage as it is for the row: every relation is in play in what is mixed in."""
        return stage.model_copy(update={"relations": ()}) if self.mixed else stage


class SplitRows:
    """The rows of a split by position, as Arrow batches of `_TOGETHER` rows each.

    Those of a large manifest lie in a file of the cache, which is made once on a machine, by
    whichever process comes first, and mapped into memory by all of them.

    Args:
        data: The Arrow file.
        pages: The map that it is, None where it is in memory.
    """

    def __init__(self, data: pa.Buffer, pages: mmap.mmap | None = None) -> None:
        self._data = data
        self._pages = pages
        self._lock = threading.Lock()
        self._touched = 0
        self._file = pa.ipc.open_file(data)
        batches = self._file.num_record_batches
        first, last = (self._file.get_batch(number).num_rows for number in (0, batches - 1))
        self._together: int = first
        self._length: int = (batches - 1) * first + last

    @classmethod
    def open(cls, corpus: Corpus, split: str, columns: Sequence[str]) -> SplitRows:
        """The rows of a split of a corpus."""
        manifest = corpus.folder / SAMPLES_FILE
        if manifest.stat().st_size <= _SMALL_BYTES:
            sink = pa.BufferOutputStream()
            _write(corpus, split, columns, sink)
            return cls(sink.getvalue())

        def make(path: Path) -> None:
            with pa.OSFile(str(path), "wb") as file:
                _write(corpus, split, columns, file)

        facts = [str(manifest.resolve()), *map(str, file_state(manifest)), split, *columns]
        with open_made(f"rows-{digest(_FORMAT, *facts)[:32]}.arrow", make) as file:
            pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return cls(pa.py_buffer(pages), pages)

    def __len__(self) -> int:
        return self._length

    @property
    def schema(self) -> pa.Schema:
        """Of the rows, with the manifest's metadata."""
        return self._file.schema

    def take(self, positions: Sequence[int]) -> list[dict[str, Any]]:
        """The rows at `positions`."""
        if not len(positions):
            return []
        parts = [
            batch.slice(position % self._together, 1)
            for number, neighbours in groupby(positions, lambda at: at // self._together)
            for batch in [self._read(number)]
            for position in neighbours
        ]
        # In one piece, since each piece costs as much as many rows.
        return pa.Table.from_batches(parts).combine_chunks().to_pylist()  # type: ignore[no-any-return]

    def scan(self) -> Iterator[pa.RecordBatch]:
        """All rows, batch by batch; only the columns that are looked at are read."""
        return map(self._read, range(self._file.num_record_batches))

    def _read(self, number: int) -> pa.RecordBatch:
        with self._lock:  # the reader is not made for several threads
            batch = self._file.get_batch(number)
            self._touched += 1
            is_due = self._touched % _BATCHES_BEFORE_RELEASE == 0
            if self._pages is not None and is_due and _RELEASE_ADVICE is not None:
                # They stay in the system's cache, and are no memory of this process.
                self._pages.madvise(_RELEASE_ADVICE)
        return batch


def _write(corpus: Corpus, split: str, columns: Sequence[str], sink: pa.NativeFile) -> None:
    """Write the rows as an Arrow file, all batches but the last one of equal length."""
    parts = corpus.read_in_parts(split, columns)
    rest = next(parts)
    with pa.ipc.new_file(sink, rest.schema) as writer:
        for part in parts:
            rest = pa.concat_tables([rest, part]).combine_chunks()
            whole = len(rest) // _TOGETHER * _TOGETHER
            writer.write_table(rest.slice(0, whole), max_chunksize=_TOGETHER)
            rest = rest.slice(whole)
        # Where nothing is left, an empty batch: so there is one in any file.
        for batch in rest.to_batches() or [pa.RecordBatch.from_pylist([], schema=rest.schema)]:
            writer.write_batch(batch)
