"""The build journal: one JSON line for each thing done, over all runs of a version."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from synth.base.atomic import translate_disk_errors


def record(path: Path, event: str, **details: Any) -> None:
    """Append a line; lines of several threads and processes do not mix."""
    line = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "process": os.getpid(),
        "event": event,
        **details,
    }
    data = (json.dumps(line, ensure_ascii=False) + "\n").encode()
    with translate_disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            _append(descriptor, data)
        finally:
            os.close(descriptor)


def _append(descriptor: int, data: bytes) -> None:
    """Write a line; the part of one that a full disk left is ended first."""
    end = os.lseek(descriptor, 0, os.SEEK_END)
    if end and os.pread(descriptor, 1, end - 1) != b"\n":
        data = b"\n" + data
    written = os.write(descriptor, data)
    if written < len(data):  # the next write tells why
        os.write(descriptor, data[written:])
