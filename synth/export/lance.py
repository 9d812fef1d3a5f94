"""Lance: a dataset per split, a data file per shard, for random access and columns read alone."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

import pyarrow as pa

from synth.base.errors import SpecError
from synth.export.base import ExportFormat, Whole, batch_rows, make_row, make_schema
from synth.export.folder import Writer
from synth.export.items import Shard

_VERSION: Final = "2.1"
"""Of the data files; not pylance's newest, so that older readers open them, too."""
# 64 bit offsets: a reader may ask for more than 2 GB of audio at once.
_COLUMNS: Final = make_schema(pa.large_binary()).append(pa.field("sample_rate", pa.int64()))
_WRITTEN_BY_LANCE: Final = ("_versions", "_transactions")


class Lance(ExportFormat):
    """Data files named after the shards, and the one version of each dataset that lists them."""

    name: ClassVar[str] = "lance"
    version: ClassVar[int] = 1

    def check(self, shards: Sequence[Shard]) -> None:
        """The package must be there."""
        try:
            import lance  # noqa: F401
        except ImportError as error:
            raise SpecError(
                "--to lance needs the package pylance, which is not installed",
                fix="pip install 'segue-audio[lance]'",
            ) from error

    def part(self, shard: Shard, out: Writer) -> None:
        """The data file of this shard."""
        from lance.file import LanceFileWriter

        with (
            out.path(f"{_folder(shard.split)}/data/{_file(shard)}") as path,
            LanceFileWriter(str(path), _COLUMNS, version=_VERSION) as file,
        ):
            rows = (make_row(item, item.audio) for item in shard.items())
            for batch in batch_rows(rows, _COLUMNS):
                file.write_batch(batch)

    def finish(self, whole: Whole, out: Writer) -> None:
        """Commit the data files of each split, in plan order."""
        for split in whole.splits:
            folder = whole.folder.root / _folder(split)
            _commit(folder, whole.of_split(split))
            for name in _WRITTEN_BY_LANCE:
                for path in sorted((folder / name).iterdir()):
                    out.note(path.relative_to(whole.folder.root).as_posix())
        whole.readme(out, self.name)


def _folder(split: str) -> str:
    return f"{split}.lance"


def _file(shard: Shard) -> str:
    return f"{Path(shard.name).stem}.lance"


def _commit(folder: Path, shards: tuple[Shard, ...]) -> None:
    """Make a dataset of the data files that lie in its folder."""
    import lance
    from lance.fragment import DataFile, FragmentMetadata

    for name in _WRITTEN_BY_LANCE:  # those of an export that is finished again
        shutil.rmtree(folder / name, ignore_errors=True)
    empty = lance.write_dataset(_COLUMNS.empty_table(), folder, data_storage_version=_VERSION)
    fragments = [
        FragmentMetadata(number, [DataFile.create(empty, _file(shard))], shard.samples)
        for number, shard in enumerate(shards)
    ]
    lance.LanceDataset.commit(
        folder, lance.LanceOperation.Append(fragments), read_version=empty.version
    )
