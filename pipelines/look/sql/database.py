"""The manifests of one corpus, and one query after the other to them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import yaml
from duckdb.func import PythonUDFType

from pipelines.builder.render import parse_receipt
from pipelines.look.sql.answer import (
    Column,
    QueryAnswer,
    explain_errors,
    make_unique,
    make_value_error,
    refuse_all_but_a_query,
)
from pipelines.store.places import find_manifest
from synth.base.doors import read_regular
from synth.base.errors import CorpusError
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE, RECEIPTS, SAMPLES_FILE
from synth.corpus.schema import CLIPS, PLAN, SAMPLES
from synth.corpus.validation import check_columns
from synth.scene.scene import from_text
from synth.scene.timeline import timeline
from synth.storage import fetch

_QUOTED: Final = re.compile(r"\"[^\"]*\"|'[^']*'")
_MISREAD: Final = re.compile(r"\b(UHUGEINT|BIT|BIGNUM|TIME WITH TIME ZONE)\b")
"""Types whose values Arrow does not tell as they are."""
_CHECKED: Final = {SAMPLES_FILE: SAMPLES, PLAN_FILE: PLAN, CLIPS_FILE: CLIPS}


@dataclass(frozen=True, slots=True)
class TableDescription:
    """A table, as `tables.yaml` describes it.

    Args:
        columns: What each column means, in their order.
        file: The manifest that it is, or "".
        query: What it is a view of, or "".
    """

    name: str
    about: str
    columns: Mapping[str, str]
    file: str = ""
    query: str = ""


@cache
def describe_tables() -> tuple[TableDescription, ...]:
    """All tables; views come after what they are views of."""
    text = Path(__file__).with_name("tables.yaml").read_text(encoding="utf-8")
    return tuple(TableDescription(**table) for table in yaml.safe_load(text))


@dataclass(frozen=True)
class Database:
    """The tables of a corpus, open for queries.

    Args:
        tables: Those that it has; `samples` is missing where nothing is rendered.
    """

    folder: Path
    tables: tuple[TableDescription, ...]
    connection: duckdb.DuckDBPyConnection

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[Database]:
        """Open the manifests of a corpus or of a plan, as `find_manifest` takes it."""
        manifest = find_manifest(path)
        folder = manifest.parent
        planned = manifest.name == PLAN_FILE
        tables = tuple(
            table for table in describe_tables() if not (planned and table.file == SAMPLES_FILE)
        )
        files = {table.name: folder / table.file for table in tables if table.file}
        for file in files.values():
            check_columns(file, _CHECKED.get(file.name, pa.schema([])))
        with open_sealed(
            {name: _open(file) for name, file in files.items()},
            {
                "events_of": _make_function(_EVENT, _read_scene),
                "receipts_of": _make_function(_RECEIPT, partial(_read_receipt, folder)),
            },
            {table.name: table.query for table in tables if table.query},
        ) as connection:
            yield cls(folder, tables, connection)

    def list_columns(self, table: TableDescription) -> tuple[Column, ...]:
        """The columns of a table with their DuckDB types."""
        return _list_columns(self.connection.sql(f"SELECT * FROM {table.name}"))

    @contextmanager
    def ask(self, query: str) -> Iterator[QueryAnswer]:
        """The answer to one SELECT, which is found while it is read."""
        with explain_errors(self._names):
            refuse_all_but_a_query(self.connection.extract_statements(query))
            relation = self.connection.sql(query)
            columns = _list_columns(relation)
            for column in columns:
                if misread := _MISREAD.search(_QUOTED.sub("", column.type)):
                    raise make_value_error(column.name, f"is of type {misread.group()}")
            reader = relation.to_arrow_reader()
        schema = pa.schema(
            [
                field.with_name(column.name)
                for field, column in zip(reader.schema, columns, strict=True)
            ]
        )
        with closing(reader):
            yield QueryAnswer(columns, schema, self._explain_batches(reader))

    def _explain_batches(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        """The batches; what goes wrong on the way is told as what goes wrong before."""
        with explain_errors(self._names):
            yield from reader

    @property
    def _names(self) -> set[str]:
        return {table.name for table in self.tables}


def _open(file: Path) -> ds.Dataset:
    """A manifest, with empty columns for those that were added to the format later."""
    dataset = ds.dataset(file)
    expected = _CHECKED.get(file.name, pa.schema([]))
    names = dataset.schema.names
    missing = [field.with_nullable(True) for field in expected if field.name not in names]
    return dataset.replace_schema(pa.schema([*dataset.schema, *missing]))


def _list_columns(relation: duckdb.DuckDBPyRelation) -> tuple[Column, ...]:
    names = make_unique(relation.columns)
    return tuple(Column(*pair) for pair in zip(names, map(str, relation.types), strict=True))


# A DuckDB that sees what it is given, and nothing else of this machine.


Function: TypeAlias = tuple[Callable[[pa.Array], pa.Array], str]
"""A function of one text column, which gives one of as many values, and their DuckDB type."""


def connect(spill: str, memory: str) -> duckdb.DuckDBPyConnection:
    """A database in memory that fetches no extension; what does not fit goes to a folder."""
    return duckdb.connect(
        config={
            "memory_limit": memory,
            "temp_directory": spill,
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
    )


@contextmanager
def open_sealed(
    tables: Mapping[str, ds.Dataset],
    functions: Mapping[str, Function] | None = None,
    views: Mapping[str, str] | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection whose queries read `tables` and `views` alone: no file, extension or network.

    What does not fit into memory goes to a temporary folder, which is gone when the block ends.

    Args:
        tables: Parquet files, which Arrow reads for DuckDB.
        views: Queries by name; each may use those before it.
    """
    with (
        tempfile.TemporaryDirectory(prefix="segue-sql-") as spill,
        connect(spill, memory="2GB") as connection,
    ):
        for name, table in tables.items():
            connection.register(name, table)
        for name, (evaluate, result) in (functions or {}).items():
            connection.create_function(
                name, evaluate, ["VARCHAR"], result, type=PythonUDFType.ARROW
            )
        for name, query in (views or {}).items():
            connection.execute(f"CREATE VIEW {name} AS {query}")
        for setting in (
            "python_enable_replacements = false",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            connection.execute(f"SET {setting}")
        yield connection


# What the views of the console reckon in Python: places in time, and receipts.


_EVENT: Final = {
    "place": "BIGINT",
    "label": "VARCHAR",
    "clip": "VARCHAR",
    "onset": "BIGINT",
    "offset": "BIGINT",
    "start": "BIGINT",
    "gain_db": "DOUBLE",
}
_RECEIPT: Final = {
    "shard": "VARCHAR",
    "digest": "VARCHAR",
    "bytes": "BIGINT",
    "sha256": "VARCHAR",
    "libraries": "MAP(VARCHAR, VARCHAR)",
}
_ARROW: Final = {
    "BIGINT": pa.int64(),
    "VARCHAR": pa.string(),
    "DOUBLE": pa.float64(),
    "MAP(VARCHAR, VARCHAR)": pa.map_(pa.string(), pa.string()),
}


def _make_function(
    fields: Mapping[str, str], read: Callable[[str], list[dict[str, Any]]]
) -> Function:
    """What a text stands for: a list of structures of these fields."""
    structs = pa.list_(pa.struct([(name, _ARROW[kind]) for name, kind in fields.items()]))
    listed = ", ".join(f'"{name}" {kind}' for name, kind in fields.items())
    return lambda texts: pa.array(map(read, texts.to_pylist()), structs), f"STRUCT({listed})[]"


def _read_scene(scene: str) -> list[dict[str, Any]]:
    """The events of a scene, placed in time."""
    return [
        {
            "place": place,
            "label": sound.label,
            "clip": sound.excerpt.clip,
            "onset": sound.onset,
            "offset": sound.offset,
            "start": sound.excerpt.start,
            "gain_db": sound.excerpt.gain_db,
        }
        for place, sound in enumerate(timeline(from_text(scene)).placements, 1)
    ]


def _read_receipt(folder: Path, shard: str) -> list[dict[str, Any]]:
    """What certifies a shard: one receipt, or none."""
    if Path(shard).name != shard or "\0" in shard:  # a query may call this with its own text
        return []
    path = folder / RECEIPTS / f"{shard}.json"
    if not path.resolve().is_relative_to(folder.resolve()):  # a stranger's may be a link
        return []
    try:
        receipt = parse_receipt(read_regular(fetch(path)))
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise CorpusError(f"{path}: damaged: {error}", fix="delete it and build again") from error
    facts: dict[str, Any] = {
        name: getattr(receipt, name) for name in _RECEIPT if name != "libraries"
    }
    return [facts | {"libraries": sorted(receipt.libraries.items())}]
