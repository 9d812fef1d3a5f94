"""What peers are asked for, and the proof that they made it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, Protocol

import soundfile

from benchmarks.speed.measure import Done, Job, Stopwatch, Work

WARM: Final = 2


class Maker(Protocol):
    """Makes the file of one item."""

    def __call__(self, item: dict[str, Any], folder: Path) -> Path:
        """Read the item's files, mix them, write the result below `folder`."""
        ...


def making(job: Job, make: Maker) -> Work:
    """Make all items of a job; the first two are made once before the clock starts."""
    items = json.loads(Path(job["items"]).read_text(encoding="utf-8"))
    warm, out = Path(job["out"]) / "warm", Path(job["out"]) / "measured"
    warm.mkdir()
    out.mkdir()
    for item in items[:WARM]:
        make(item, warm)

    def work(watch: Stopwatch) -> Done:
        with watch:
            files = [make(item, out) for item in items]
        seconds = 0.0
        for file in files:
            info = soundfile.info(file)
            if info.samplerate != items[0]["rate"]:
                raise RuntimeError(f"{file}: {info.samplerate} Hz")
            seconds += info.frames / info.samplerate
        return Done(len(set(files)), seconds)

    return work
