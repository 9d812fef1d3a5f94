"""The Prefect server of `segue night schedule`: has a scheduler and pages, is found by its file.

The server of a single build (`pipelines.flows.servers.server`) schedules nothing and shows nothing.
"""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pipelines.flows.servers.server import server_process
from pipelines.store.locks import hold_lock
from synth.base.atomic import write_text
from synth.base.errors import CorpusError

ADDRESS_FILE: Final = "schedule.json"
LOCK_FILE: Final = "schedule.lock"
_ANSWER_S: Final = 20.0


@contextmanager
def scheduling_server(home: Path) -> Iterator[str]:
    """The API address of a server that schedules, stopped on leaving and ended with this process.

    Args:
        home: Holds its database, its log and, while it runs, its address.
    """
    refusal = CorpusError(
        f"{home.parent}: a schedule is already running here",
        fix="stop it, use another --out, or share one server through PREFECT_API_URL",
    )
    with hold_lock(home / LOCK_FILE, refusal), _announce(home) as address:
        yield address


@contextmanager
def _announce(home: Path) -> Iterator[str]:
    """A server whose address lies in `home` while it runs."""
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    with server_process(home, environment) as address:
        write_text(home / ADDRESS_FILE, json.dumps({"api": address}) + "\n")
        try:
            yield address
        finally:
            (home / ADDRESS_FILE).unlink(missing_ok=True)


def running_server(home: Path) -> str | None:
    """The address of the server that runs in `home`; None where none answers."""
    try:
        address = json.loads((home / ADDRESS_FILE).read_text(encoding="utf-8"))["api"]
        if not str(address).startswith("http://127.0.0.1:"):
            return None
        with urllib.request.urlopen(f"{address}/health", timeout=_ANSWER_S) as response:
            return str(address) if response.status == 200 else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
