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
from dataclasses import asdict, dataclass
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
    """What became of the files.

    Args:
        clips: Rows of the accepted ones, as text, by id.
        refused: Why the others were not, by id.
        seconds: That it took.
    """

    clips: dict[str, str]
    refused: dict[str, str]
    seconds: float


@dataclass(frozen=True, slots=True)
class MutatedReport:
    """What both runs showed.

    Args:
        files: Given.
        loops: Busy processes of the second run.
        accepted: Files, in each run.
        quarantined: Files, in each run.
        seconds: Of each run.
        unlike: Files of which the runs say different things.
    """

    files: int
    loops: int
    accepted: tuple[int, int]
    quarantined: tuple[int, int]
    seconds: tuple[float, float]
    unlike: list[str]

    @property
    def is_sound(self) -> bool:
        """Whether every file is accounted for, alike in both."""
        pairs = zip(self.accepted, self.quarantined, strict=True)
        return not self.unlike and all(sum(pair) == self.files for pair in pairs)


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
    runs = quiet, busy
    report = MutatedReport(
        files=files,
        loops=loops,
        accepted=(len(quiet.clips), len(busy.clips)),
        quarantined=(len(quiet.refused), len(busy.refused)),
        seconds=(quiet.seconds, busy.seconds),
        unlike=[
            f"{name}: {quiet.refused.get(name, 'accepted')} / {busy.refused.get(name, 'accepted')}"
            for name in sorted({name for run in runs for name in (*run.clips, *run.refused)})
            if len({(run.clips.get(name), run.refused.get(name)) for run in runs}) > 1
        ],
    )
    for name, run in (("quiet", quiet), (f"{loops} busy loops", busy)):
        print(
            f"{name}: {len(run.clips)} accepted + {len(run.refused)} quarantined "
            f"of {files} in {run.seconds} s"
        )
    for line in report.unlike:
        print(f"WRONG: {line}")
    if as_json:
        print(json.dumps(asdict(report) | {"sound": report.is_sound}))
    return 0 if report.is_sound else 1


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
