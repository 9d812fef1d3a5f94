"""The manifests of one corpus, and one query after the other to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from pipelines.look.console.answer import (
    Column,
    QueryAnswer,
    make_unique,
    make_value_error,
)
from pipelines.look.console.connection import open_sealed
from pipelines.look.console.functions import EVENTS_OF, make_receipts_function
from pipelines.look.console.refusal import explain_errors, refuse_all_but_a_query
from pipelines.look.console.tables import TABLES, TableDescription
from pipelines.store.manifest import find_manifest
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE, SAMPLES_FILE
from synth.corpus.schema import CLIPS, PLAN, SAMPLES
from synth.corpus.validation import check_columns

_QUOTED: Final = re.compile(r"\"[^\"]*\"|'[^']*'")
_MISREAD: Final = re.compile(r"\b(UHUGEINT|BIT|BIGNUM|TIME WITH TIME ZONE)\b")
"""Types whose values Arrow does not tell as they are."""
_CHECKED: Final = {SAMPLES_FILE: SAMPLES, PLAN_FILE: PLAN, CLIPS_FILE: CLIPS}


@dataclass(frozen=True)
class Database:
    """The tables of a corpus, open for queries.

    Args:
        tables: Those that it has; `samples` is missing where nothing is rendered.
        connection: What answers.
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
        tables = tuple(table for table in TABLES if not (planned and table.file == SAMPLES_FILE))
        files = {table.name: folder / table.file for table in tables if table.file}
        for file in files.values():
            check_columns(file, _CHECKED.get(file.name, pa.schema([])))
        with open_sealed(
            {name: ds.dataset(file) for name, file in files.items()},
            {"events_of": EVENTS_OF, "receipts_of": make_receipts_function(folder)},
            {table.name: table.query for table in tables if table.query},
        ) as connection:
            yield cls(folder, tables, connection)

    def list_columns(self, table: TableDescription) -> tuple[Column, ...]:
        """The columns of a table with their DuckDB types."""
        return _list_columns(self.connection.sql(f"SELECT * FROM {table.name}"))

    @contextmanager
    def ask(self, query: str) -> Iterator[QueryAnswer]:
        """The answer to one SELECT, which is found while it is read."""
        with explain_errors(self.tables):
            refuse_all_but_a_query(self.connection.extract_statements(query))
            relation = self.connection.sql(query)
            columns = _list_columns(relation)
            for column in columns:
                if wrong := _MISREAD.search(_QUOTED.sub("", column.type)):
                    raise make_value_error(column.name, f"is of type {wrong.group()}")
            reader = relation.to_arrow_reader()
        schema = pa.schema(
            [
                field.with_name(column.name)
                for field, column in zip(reader.schema, columns, strict=True)
            ]
        )
        with closing(reader):
            yield QueryAnswer(columns, schema, _explain_batches(reader, self.tables))


def _explain_batches(
    reader: pa.RecordBatchReader, tables: tuple[TableDescription, ...]
) -> Iterator[pa.RecordBatch]:
    """The batches; what goes wrong on the way is told as what goes wrong before."""
    with explain_errors(tables):
        yield from reader


def _list_columns(relation: duckdb.DuckDBPyRelation) -> tuple[Column, ...]:
    names = make_unique(relation.columns)
    return tuple(Column(*pair) for pair in zip(names, map(str, relation.types), strict=True))
