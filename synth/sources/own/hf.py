"""A Hugging Face dataset on disk: what `save_to_disk` wrote, or a snapshot of Parquet files.

`save_to_disk` leaves `state.json` and Arrow streams (`data-00000-of-00003.arrow`), a DatasetDict
one such folder a split and `dataset_dict.json`. A downloaded dataset holds Parquet files whose
paths name the split (`data/train-00000-of-00003.parquet`, `default/train/0000.parquet`), or its
`README.md` says which they are. `hf download NAME --repo-type dataset --local-dir DIR` gets one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final, TypeVar

from pydantic import BaseModel, Field, ValidationError

from synth.base.errors import SourceError
from synth.sources.own.split_names import name_tables
from synth.sources.reading.base import ClipRef
from synth.sources.reading.cells import read_json, wrong_value_error
from synth.sources.reading.embedded import RowSource, SoundTable, parquet_files
from synth.sources.reading.files import require_folder
from synth.sources.reading.paths import explain_escape

_HF_MEND: Final = "give a folder that save_to_disk wrote, or a downloaded dataset's folder"


class _Splits(BaseModel):
    """`dataset_dict.json`."""

    splits: tuple[str, ...]


class _SourceFile(BaseModel):
    filename: str


class _State(BaseModel):
    """`state.json`."""

    data_files: tuple[_SourceFile, ...] = Field(alias="_data_files")
    split: str | None = Field(alias="_split", default=None)


Form = TypeVar("Form", _Splits, _State)


class HuggingFaceSource(RowSource):
    """The dataset's folder; features of type ClassLabel become their names."""

    name: ClassVar[str] = "hf"

    def refs(self) -> Iterator[ClipRef]:
        """One clip a row; the split is the dataset's own."""
        require_folder(self.root, "the dataset's folder", _HF_MEND)
        tables = list(self._tables())
        if not tables:
            raise SourceError(f"{self.root}: no Hugging Face dataset", fix=_HF_MEND)
        return self.refs_of(tables)

    def _tables(self) -> Iterator[SoundTable]:
        if (self.root / "dataset_dict.json").is_file():
            for split in self._read_saved(Path("dataset_dict.json"), _Splits).splits:
                yield from self._list_saved(Path(split), split)
        elif (self.root / "state.json").is_file():
            yield from self._list_saved(Path(), "")
        else:
            yield from name_tables(self.root, parquet_files(self.root))

    def _list_saved(self, folder: Path, split: str) -> Iterator[SoundTable]:
        state = self._read_saved(folder / "state.json", _State)
        for part in state.data_files:
            if explain_escape((folder / part.filename).as_posix(), self.root):
                raise SourceError(
                    f"{self.root / folder / 'state.json'}: names {part.filename!r}: expected a "
                    "file below the dataset's folder",
                    fix=_HF_MEND,
                )
            yield SoundTable(folder / part.filename, split or state.split or "")

    def _read_saved(self, path: Path, form: type[Form]) -> Form:
        try:
            return form.model_validate(read_json(self.root / path, _HF_MEND))
        except ValidationError as error:
            raise wrong_value_error(self.root / path, error) from error


# Parquet files with one sound per row, embedded or by path.


_PARQUET_MEND: Final = "give a Parquet file, or a folder of them"


class ParquetSource(RowSource):
    """One `.parquet` file, or all those below a folder in the order of their names."""

    name: ClassVar[str] = "parquet"

    def refs(self) -> Iterator[ClipRef]:
        """One clip a row; the split is the one that a path tells, where any does."""
        if not self.root.is_file():
            require_folder(self.root, "the file or folder", _PARQUET_MEND)
        paths = [self.root] if self.root.is_file() else parquet_files(self.root)
        if not paths:
            raise SourceError(f"{self.root}: no Parquet file", fix=_PARQUET_MEND)
        return self.refs_of(name_tables(self.folder, paths))
