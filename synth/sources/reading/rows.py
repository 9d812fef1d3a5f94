"""Rows of Parquet files and Arrow streams, without their sounds, and one sound at a time.

Columns of Hugging Face's type ClassLabel hold numbers. The names of the classes are in the metadata
of the schema, or beside the tables: in `dataset_info.json`, `dataset_infos.json`, or at the top of
`README.md`, which may also say which files are which split.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from synth.base.doors import parse_json, require_regular
from synth.base.errors import ClipError, SegueError, SourceError
from synth.base.yaml_file import parse_yaml
from synth.sources.reading.files import read_json, read_text, stamp_of

DAMAGE: Final = (pa.ArrowException, OSError, ValueError)
"""What reading a damaged file raises: a text that is no UTF-8 is a ValueError."""
UNLABELLED: Final = -1
"""How ClassLabel writes that a row has none."""
_BATCH: Final = 1024
_KINDS: Final = ("dtype", "sequence", "list", "struct")


@dataclass(frozen=True, slots=True)
class OpenRows:
    """An open file of rows: a Parquet file, or the table of an Arrow stream as `datasets` saves it.

    Both are mapped, not read.
    """

    path: Path
    stamp: str
    file: pq.ParquetFile | pa.Table

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self.file.schema if isinstance(self.file, pa.Table) else self.file.schema_arrow

    def texts(self, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Row numbers, from 0, and some of the columns."""
        if isinstance(self.file, pa.Table):
            count, batches = self.file.num_rows, self.file.select([*columns]).to_batches(_BATCH)
        else:
            count = self.file.metadata.num_rows
            batches = self.file.iter_batches(_BATCH, columns=[*columns])
        if not columns:
            return ((number, {}) for number in range(count))
        return _number_rows(self.path, batches)

    def value(self, row: int, column: str) -> Any:
        """One value; of a Parquet file the column's row group is kept for its neighbours."""
        try:
            if isinstance(self.file, pa.Table):
                if row < (rows := self.file.num_rows):
                    return self.file[column][row].as_py()
            else:
                rows = 0
                for group in range(self.file.num_row_groups):
                    first, rows = rows, rows + self.file.metadata.row_group(group).num_rows
                    if row < rows:
                        values = _read_column(self.path, self.stamp, group, column)
                        return values[row - first].as_py()
        except DAMAGE as error:
            raise ClipError(_damage_error(self.path, error).message) from error
        raise ClipError(f"its table has {rows} rows, row {row} was requested")


def open_rows(path: Path) -> OpenRows:
    """A Parquet file, by its extension, or an Arrow stream."""
    opened = _open_parquet if path.suffix == ".parquet" else _open_stream
    try:
        stamp = stamp_of(require_regular(path, refuse=SourceError))
        return OpenRows(path, stamp, opened(path, stamp))
    except FileNotFoundError as error:
        raise SourceError(f"{path}: not found", fix="check root") from error
    except DAMAGE as error:
        raise _damage_error(path, error) from error


def _damage_error(path: Path, error: Exception) -> SourceError:
    """What Arrow says of a file, in one line."""
    return SourceError(
        f"{path}: cannot be read: {' '.join(str(error).split())}", fix="copy or download it again"
    )


def _number_rows(
    path: Path, batches: Iterable[pa.RecordBatch]
) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        yield from enumerate(row for batch in batches for row in batch.to_pylist())
    except DAMAGE as error:
        raise _damage_error(path, error) from error


@lru_cache(maxsize=8)
def _open_parquet(path: Path, stamp: str) -> pq.ParquetFile:
    return pq.ParquetFile(path, memory_map=True)


@lru_cache(maxsize=8)
def _open_stream(path: Path, stamp: str) -> pa.Table:
    return pa.ipc.open_stream(pa.memory_map(str(path))).read_all()


@lru_cache(maxsize=1)
def _read_column(path: Path, stamp: str, group: int, column: str) -> pa.ChunkedArray:
    return _open_parquet(path, stamp).read_row_group(group, columns=[column])[column]


@dataclass(frozen=True, slots=True)
class Card:
    """What lies beside the tables of a dataset.

    Args:
        classes: Of each configuration, by its name, the classes by column.
        splits: Patterns of paths, and the split that they are.
    """

    classes: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    splits: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, folder: Path) -> Card:
        """Read what there is; a README may be anything, and then says nothing."""
        classes, splits = [], []
        for name in ("dataset_info.json", "dataset_infos.json"):
            if (path := folder / name).is_file():
                facts = _mapping(read_json(path))
                infos = {"": facts} if "features" in facts else facts
                classes += [(config, _features(info)) for config, info in infos.items()]
        head = _read_head(folder / "README.md")
        for info in _mappings(head.get("dataset_info")):
            classes.append((str(info.get("config_name", "")), _features(info)))
        for config in _mappings(head.get("configs")):
            for files in _mappings(config.get("data_files")):
                globs = files.get("path")
                for glob in globs if isinstance(globs, list) else [globs]:
                    splits.append((str(glob).removeprefix("./"), str(files.get("split", ""))))
        return cls(tuple(classes), tuple(splits))

    def classes_of(self, path: Path) -> dict[str, Any]:
        """The classes of a table by column; none where configurations differ in them."""
        chosen = [classes for name, classes in self.classes if name in path.parts]
        merged: dict[str, Any] = {}
        for classes in chosen or [classes for _, classes in self.classes]:
            for column, names in classes.items():
                merged[column] = names if merged.get(column, names) == names else None
        return merged

    def split_of(self, path: Path) -> str:
        """The split of a file; "" where the card says none, or several."""
        splits = {split for glob, split in self.splits if fnmatchcase(path.as_posix(), glob)}
        return splits.pop() if len(splits) == 1 else ""


class ClassName(str):
    """The name of a class, whatever it holds: it is one name."""


def named_rows(
    rows: OpenRows, columns: Sequence[str], card: Card | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Row numbers, from 0, and some of the columns; classes by name, None for the unlabelled."""
    classes = (card.classes_of(rows.path) if card else {}) | _schema_classes(rows.schema)
    named = {name: classes[name] for name in columns if classes.get(name) is not None}
    for number, row in rows.texts(columns):
        for name, names in named.items():
            row[name] = _name(row[name], names, f"{rows.path}: row {number}: {name}")
        yield number, row


def _name(value: Any, names: Any, where: str) -> Any:
    """A value with names in the place of numbers; those in lists and structs are named, too."""
    if isinstance(value, list):
        return [_name(part, names, where) for part in value]
    if isinstance(value, dict) and isinstance(names, dict):
        return {key: _name(part, names.get(key), where) for key, part in value.items()}
    if not isinstance(names, list):
        return value
    if isinstance(value, str) and value not in names and value.removeprefix("-").isdecimal():
        value = int(value)
    if not isinstance(value, int | float):
        return value
    if value == UNLABELLED or math.isnan(value):
        return None
    if value not in range(len(names)):
        raise SourceError(
            f"{where} {value} is not one of the {len(names)} classes that have names",
            fix="fix the row or remove it",
        )
    return ClassName(names[int(value)])


def _schema_classes(schema: pa.Schema) -> dict[str, Any]:
    try:
        facts = parse_json((schema.metadata or {}).get(b"huggingface", b"{}"), "", fix="")
    except SegueError:
        return {}
    return _features(_mapping(facts).get("info"))


def _features(info: Any) -> dict[str, Any]:
    """The classes of each column, as `_classes` of it."""
    features = _mapping(info).get("features")
    if isinstance(features, dict):
        return {column: _classes(feature) for column, feature in features.items()}
    return _classes(features) or {}


def _classes(feature: Any) -> Any:
    """A list of names, a dict of such by field, or None; a list of anything counts as its items.

    Features are written in two manners, as JSON (`{"names": ["dog"], "_type": "ClassLabel"}`) and
    as YAML (`{name: label, dtype: {class_label: {names: {"0": dog}}}}`).
    """
    match feature:
        case {"_type": "ClassLabel"} | {"class_label": dict()} | {"names": [str(), *_]}:
            names = feature.get("class_label", feature).get("names") or []
            if isinstance(names, dict):
                names = dict(sorted(names.items(), key=_number)).values()
            return [*map(str, names)]
        case [{"name": _}, *_]:
            return {str(item["name"]): _classes(_kind(item)) for item in feature}
        case [inner] | {"_type": str(), "feature": inner}:
            return _classes(inner)
        case dict() if len(feature) == 1 and (kind := _kind(feature)) is not None:
            return _classes(kind)
        case dict():
            return {key: _classes(item) for key, item in feature.items()}
    return None


def _kind(field: Mapping[str, Any]) -> Any:
    """What a field of YAML holds, or its items do."""
    return next((field[key] for key in _KINDS if key in field), None)


def _number(item: tuple[Any, Any]) -> int:
    return int(item[0]) if str(item[0]).isdecimal() else -1


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    """The mappings in a list, or a mapping alone."""
    parts = value if isinstance(value, list) else [value]
    return [part for part in parts if isinstance(part, dict)]


def _read_head(path: Path) -> Mapping[str, Any]:
    """The YAML at the top of a README; aliases could stand for more than memory holds."""
    try:
        _, mark, rest = read_text(path).partition("---\n") if path.is_file() else ("", "", "")
        head = rest.partition("\n---")[0] if mark else ""
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(head)):
            return {}
        return _mapping(parse_yaml(head, str(path)).value)
    except (SegueError, yaml.YAMLError, RecursionError):
        return {}
