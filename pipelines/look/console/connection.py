"""A DuckDB that sees what it is given, and nothing else of this machine."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
from duckdb.func import PythonUDFType

_MEMORY: Final = "2GB"


@dataclass(frozen=True, slots=True)
class Function:
    """A function of one text column, for queries to use.

    Args:
        evaluate: Gives a column of as many values.
        result: The DuckDB type of them.
    """

    evaluate: Callable[[pa.Array], pa.Array]
    result: str


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
        functions: Functions that the views need.
        views: Queries by name; each may use those before it.
    """
    with (
        tempfile.TemporaryDirectory(prefix="segue-sql-") as spill,
        duckdb.connect(
            config={
                "memory_limit": _MEMORY,
                "temp_directory": spill,
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
            }
        ) as connection,
    ):
        for name, table in tables.items():
            connection.register(name, table)
        for name, function in (functions or {}).items():
            connection.create_function(
                name, function.evaluate, ["VARCHAR"], function.result, type=PythonUDFType.ARROW
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
