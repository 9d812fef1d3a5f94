"""The build journal: one JSON line for each thing done, over all runs of a version."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def record(path: Path, event: str, **details: Any) -> None:
    """Append a line; lines of several threads and processes do not mix."""
    line = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "process": os.getpid(),
        "event": event,
        **details,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, (json.dumps(line, ensure_ascii=False) + "\n").encode())
    finally:
        os.close(descriptor)
