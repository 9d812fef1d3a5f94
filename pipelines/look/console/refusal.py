"""What is told of a query that cannot be answered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import duckdb
import pyarrow as pa

from pipelines.look.console.tables import TableDescription
from synth.base.errors import SpecError

_HELP: Final = "`segue inspect CORPUS --tables` lists the tables and their columns"
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
            f"--sql: expected one query, got {len(statements) or 'none'}",
            fix='give one SELECT, as in --sql "select count(*) from plan"',
        )
    kind = statements[0].type
    if kind is not duckdb.StatementType.SELECT:
        raise SpecError(
            f"--sql: queries are read-only, so {kind.name} is refused",
            fix="give a SELECT; --out FILE writes its result",
        )


@contextmanager
def explain_errors(tables: Iterable[TableDescription]) -> Iterator[None]:
    """What DuckDB says of a query that fails in the block, as one clear error."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        told = str(error)
        headline = _KIND.sub("", told).strip().partition("\n")[0]
        pointer = _POINTER.search(told)
        fix = _fix(told, error, {table.name for table in tables})
        # The error holds the connection, which must not live longer than its block.
        refused = SpecError(
            f"--sql: {headline}" + (f"\n{pointer.group()}" if pointer else ""), fix=fix
        )
    else:
        return
    raise refused


def _fix(told: str, error: Exception, names: set[str]) -> str:
    if isinstance(error, duckdb.PermissionException):
        return f"a query can only read the tables of this corpus; {_HELP}"
    if found := _CANDIDATES.search(told):
        return f"did you mean {found.group(1)}? {_HELP}"
    if (found := _MEANT.search(told)) and found.group(1) in names:
        return f"did you mean {found.group(1)}? {_HELP}"
    return _HELP
