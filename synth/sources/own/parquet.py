"""Parquet files with one sound per row, embedded or by path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from synth.base.errors import SourceError
from synth.sources.own.split_names import name_tables
from synth.sources.reading.base import ClipRef
from synth.sources.reading.embedded import RowSource, parquet_files
from synth.sources.reading.files import require_folder

_MEND: Final = "give a Parquet file, or a folder of them"


class ParquetSource(RowSource):
    """One `.parquet` file, or all those below a folder in the order of their names."""

    name: ClassVar[str] = "parquet"

    def refs(self) -> Iterator[ClipRef]:
        """One clip a row; the split is the one that a path tells, where any does."""
        if not self.root.is_file():
            require_folder(self.root, "the file or folder", _MEND)
        paths = [self.root] if self.root.is_file() else parquet_files(self.root)
        if not paths:
            raise SourceError(f"{self.root}: no Parquet file", fix=_MEND)
        return self.refs_of(name_tables(self.folder, paths))
