"""A database as Prefect's server makes it: its migrations take half of a server's first start."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pipelines.flows.servers import DATABASE_FILE


def lend_database(home: Path, factory: pytest.TempPathFactory) -> None:
    """Lay it into the home of a server to be; where none is kept yet, the server makes its own."""
    kept = _kept(factory)
    if kept.exists():
        home.mkdir(parents=True, exist_ok=True)
        shutil.copy(kept, home / DATABASE_FILE)


def keep_database(home: Path, factory: pytest.TempPathFactory) -> None:
    """Keep that of a server which has just begun, for all workers of the suite."""
    kept = _kept(factory)
    if not kept.exists():
        part = kept.with_suffix(f".{os.getpid()}")
        with (
            closing(sqlite3.connect(home / DATABASE_FILE)) as own,
            closing(sqlite3.connect(part)) as copy,
        ):
            own.backup(copy)
        part.replace(kept)


def _kept(factory: pytest.TempPathFactory) -> Path:
    base = factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / DATABASE_FILE
