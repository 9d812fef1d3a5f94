"""Names of Parquet files as DuckDB takes them."""

from __future__ import annotations

from pathlib import Path


def escape_glob(path: Path) -> str:
    """A path that DuckDB takes as it is, not for a pattern."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(path.resolve()))
