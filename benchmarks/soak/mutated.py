"""Damaged sound files read on a quiet machine, and again on one that is loaded six times over.

Each file must be accepted or quarantined, the same ones and for the same reasons both times: a clip
is judged by its bytes and by the processor time that it takes, never by how long that lasts.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipelines.cli.common.progress_display import show_progress
from pipelines.config.spec import Intake
from pipelines.engines.engine import engine
from pipelines.ingest.ingest import ingest
from synth.base.processors import processors
from synth.sources.catalogue import Acceptance
from synth.sources.own.folder import FolderSource
from tests.kit.mutations import RATE, write_damaged

LOOPS: Final = 6
"""For each processor."""
LIMIT_S: Final = 1.0
"""Of processor time for a clip; as elapsed time, a busy machine goes over it."""


@dataclass(frozen=True, slots=True)
class MutatedRun:
    """What became of the files: rows of the accepted ones as text, and why the others were not."""

    clips: dict[str, str]
    refused: dict[str, str]
    seconds: float


def compare(files: int, as_json: bool) -> int:
    """Read so many files quietly and under load. Returns the exit status."""
    home = Path(tempfile.mkdtemp(prefix="segue-soak-"))
    try:
        source = FolderSource(root=write_damaged(home, files))
        quiet = _read(source, home / "quiet", as_json)
        loops = LOOPS * processors()
        with _busy(loops):
            busy = _read(source, home / "busy", as_json)
    finally:
        shutil.rmtree(home)
    runs = {"quiet": quiet, f"{loops} busy loops": busy}
    unlike = [
        f"{name}: {quiet.refused.get(name, 'accepted')} / {busy.refused.get(name, 'accepted')}"
        for name in sorted({name for run in runs.values() for name in (*run.clips, *run.refused)})
        if len({(run.clips.get(name), run.refused.get(name)) for run in runs.values()}) > 1
    ]
    for name, run in runs.items():
        print(
            f"{name}: {len(run.clips)} accepted + {len(run.refused)} quarantined "
            f"of {files} in {run.seconds} s"
        )
    for line in unlike:
        print(f"WRONG: {line}")
    counts = [(len(run.clips), len(run.refused)) for run in runs.values()]
    is_sound = not unlike and all(sum(pair) == files for pair in counts)
    if as_json:
        accepted, quarantined = zip(*counts, strict=True)
        report = {"files": files, "loops": loops, "accepted": accepted, "quarantined": quarantined}
        seconds = [run.seconds for run in runs.values()]
        print(json.dumps(report | {"seconds": seconds, "unlike": unlike, "sound": is_sound}))
    return 0 if is_sound else 1


def _read(source: FolderSource, banks: Path, as_json: bool) -> MutatedRun:
    intake = Intake(source, RATE, Acceptance(decode_timeout_s=LIMIT_S, max_s=30))
    started = time.monotonic()
    count = processors()
    with engine(count) as where, show_progress(as_json) as observer:
        library = ingest(intake, banks, where, observer)
    return MutatedRun(
        {row["id"]: repr(row) for row in library.clips},
        {row["id"]: row["reason"] for row in library.quarantine},
        round(time.monotonic() - started, 1),
    )


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """So many processes that do nothing but work; they end with this one."""
    loop = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
    processes = [subprocess.Popen([sys.executable, "-S", "-c", loop]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()
