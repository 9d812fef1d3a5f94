"""The answer to a query: a few of its rows, or all of them in a file."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
from pyarrow import types

from pipelines.builder.documents import CROISSANT_FILE
from synth.base.atomic import replacing
from synth.base.errors import SpecError, shorten
from synth.corpus.corpus import CORPUS_FILE, PLAN_FILE

SUFFIXES: Final = (".parquet", ".csv")
_TEXTS: Final = (types.is_nested, types.is_binary, types.is_large_binary, types.is_interval)
"""Tell what is text in CSV."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, and its DuckDB type."""

    name: str
    type: str

    @property
    def outer_type(self) -> str:
        """The type without what it is made of: `STRUCT[]` of a list of structures."""
        outer, nested, _ = self.type.partition("(")
        return f"{outer}[]" if nested and self.type.endswith("[]") else outer


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """The rows that a query finds, batch by batch; to be read once.

    Args:
        columns: Of the rows, each with a name of its own.
    """

    columns: tuple[Column, ...]
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]

    def read_rows(self, most: int | None = None) -> tuple[list[dict[str, Any]], int]:
        """The first `most` rows as JSON values, None for all; and how many there are."""
        rows: list[dict[str, Any]] = []
        names = [column.name for column in self.columns]
        total = 0
        for batch in self.batches:
            taken = batch.num_rows if most is None else min(batch.num_rows, most - len(rows))
            values = [
                _list_values(column.slice(0, taken), name)
                for column, name in zip(batch.columns, names, strict=True)
            ]
            rows += (
                dict(zip(names, map(_to_plain, row), strict=True))
                for row in zip(*values, strict=True)
            )
            total += batch.num_rows
        return rows, total

    def write(self, path: Path) -> int:
        """Write all rows to a Parquet or CSV file, which appears whole or not at all.

        In CSV (UTF-8, a header, null as an empty cell) lists and structures are JSON, bytes are
        Base64.

        Returns:
            How many rows there are.
        """
        as_text = path.suffix == ".csv"
        schema = self.schema
        if as_text:
            schema = pa.schema(
                field.with_type(pa.string())
                if any(is_text(field.type) for is_text in _TEXTS)
                else field
                for field in schema
            )
        total = 0
        try:
            with (
                replacing(path) as partial,
                (pc.CSVWriter if as_text else pq.ParquetWriter)(partial, schema) as writer,
            ):
                for batch in self.batches:
                    columns = map(_cast, batch.columns, schema)
                    writer.write_batch(pa.record_batch(list(columns), schema=schema))
                    total += batch.num_rows
        except pa.ArrowException as error:
            raise SpecError(
                f"--out {path}: cannot hold this answer: {error}",
                fix="cast such a column to text in the query, as in `span::VARCHAR`",
            ) from error
        return total


def check_answer_file(out: Path) -> None:
    """Refuse a file of another kind, and one among the files of a corpus."""
    if out.suffix not in SUFFIXES:
        raise SpecError(
            f"--out {out}: an answer is written as Parquet or CSV",
            fix=f"name it {out.stem}.parquet or {out.stem}.csv",
        )
    if any((out.parent / name).exists() for name in (CORPUS_FILE, PLAN_FILE, CROISSANT_FILE)):
        raise SpecError(f"--out {out}: is among a corpus's files", fix="write to another folder")


def make_unique(names: Iterable[str]) -> list[str]:
    """Names of columns, each of its own: a repeated one gets a number."""
    unique: dict[str, None] = {}
    for name in names:
        numbered = (f"{name}_{number}" for number in count(1))
        unique[name if name not in unique else next(n for n in numbered if n not in unique)] = None
    return list(unique)


def _cast(column: pa.Array, field: pa.Field) -> pa.Array:
    if types.is_temporal(column.type):
        _list_values(column, field.name)  # CSV would hold "out of range"
    if column.type == field.type:
        return column
    return pa.array(map(_to_text, _list_values(column, field.name)), field.type)


def _list_values(column: pa.Array, name: str) -> list[Any]:
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError) as error:
        raise make_value_error(
            name, "holds a time before year 1, after 9999 or infinite"
        ) from error


def make_value_error(name: str, reason: str) -> SpecError:
    """What is told of a column whose values would be shown wrongly, or not at all."""
    return SpecError(
        f"query: column {shorten(name)} {reason}", fix=f'cast it to text: "{name}"::VARCHAR'
    )


def _to_text(value: Any) -> str | None:
    plain = _to_plain(value)
    return plain if plain is None or isinstance(plain, str) else json.dumps(plain)


def _to_plain(value: Any) -> Any:
    """A value as JSON has it: whole numbers stay whole, bytes are Base64, times are ISO 8601."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case bytes():
            return base64.b64encode(value).decode()
        case datetime() | date() | time():
            return value.isoformat()
        case dict():
            return {name: _to_plain(item) for name, item in value.items()}
        case list() | tuple():
            return [_to_plain(item) for item in value]
        case _:
            return str(value)


# What is told of a query that cannot be answered.


_HELP: Final = "`segue sql CORPUS` lists the tables and their columns"
_KIND: Final = re.compile(
    r"^(?:[A-Z][A-Za-z]* )+Error: (?:Python exception occurred while executing the UDF: \w+: )?"
)
_MEANT: Final = re.compile(r'Did you mean "([^"]*)"\?')
_CANDIDATES: Final = re.compile(r"Candidate bindings: (.*)")
_POINTER: Final = re.compile(r"^LINE \d+: .*\n *\^", re.MULTILINE)


def refuse_all_but_a_query(statements: Sequence[duckdb.Statement]) -> None:
    """Check that statements are one SELECT."""
    if len(statements) != 1:
        raise SpecError(
            f"query: expected one query, got {len(statements) or 'none'}",
            fix='give one SELECT, as in "select count(*) from plan"',
        )
    kind = statements[0].type
    if kind is not duckdb.StatementType.SELECT:
        raise SpecError(
            f"query: queries are read-only, so {kind.name} is refused",
            fix="give a SELECT; --out FILE writes its result",
        )


@contextmanager
def explain_errors(tables: Collection[str]) -> Iterator[None]:
    """What DuckDB says of a query that fails in the block, as one clear error.

    Args:
        tables: Names of the tables that there are.
    """
    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        message = str(error)
        headline = _KIND.sub("", message).strip().partition("\n")[0]
        pointer = _POINTER.search(message)
        fix = _fix(message, error, tables)
        # The error holds the connection, which must not live longer than its block.
        refused = SpecError(
            f"query: {headline}" + (f"\n{pointer.group()}" if pointer else ""), fix=fix
        )
    else:
        return
    raise refused


def _fix(message: str, error: Exception, tables: Collection[str]) -> str:
    if isinstance(error, duckdb.PermissionException):
        return f"a query can only read the tables of this corpus; {_HELP}"
    if match := _CANDIDATES.search(message):
        return f"did you mean {match.group(1)}? {_HELP}"
    if (match := _MEANT.search(message)) and match.group(1) in tables:
        return f"did you mean {match.group(1)}? {_HELP}"
    return _HELP
