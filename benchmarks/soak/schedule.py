"""A schedule over a small corpus: it runs three times and renders nothing again.

    python -m benchmarks.soak.schedule [--nights 3] [--every 10s] [--json]

Builds the corpus by its first night and has `segue night schedule` run until so many nights are
complete. The status is 1 where a later night renders a shard, or changes a byte of what was built,
or a night fails.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.soak.processes import environment
from pipelines.flows.serving import known_server, last_runs
from synth.base.errors import SegueError
from tests.kit.builds import TINY, product

PATIENCE_S: Final = 600.0
LOOK_S: Final = 1.0
ENDED: Final = ("Completed", "Failed", "Crashed", "Cancelled")
SPEC: Final[dict[str, Any]] = TINY | {"corpus": "scheduled"}


@dataclass(frozen=True, slots=True)
class ScheduleReport:
    """What a schedule showed.

    Args:
        shards: In the corpus.
        rendered: Shards rendered by the first night.
        rendered_again: Shards rendered by all later ones.
        changed: Files whose bytes differ from those of the first night.
        states: Of every run that has begun, oldest first; a run that is due while another is under
            way is Cancelled.
        seconds: That each completed run took, oldest first.
        total_s: Until the last was complete.
    """

    shards: int
    rendered: int
    rendered_again: int
    changed: list[str]
    states: list[str]
    seconds: list[float]
    total_s: float

    @property
    def sound(self) -> bool:
        same = not (self.changed or self.rendered_again)
        return (
            same and self.rendered == self.shards > 0 and not {"Failed", "Crashed"} & {*self.states}
        )


def watch(folder: Path, nights: int, every: str) -> ScheduleReport:
    """Run the schedule and look at what it does.

    Raises:
        SystemExit: If it does not come to so many nights.
    """
    spec, out = folder / "scheduled.yaml", folder / "out"
    spec.write_text(json.dumps(SPEC), encoding="utf-8")
    started = time.monotonic()
    first: tuple[int, dict[str, str]] | None = None
    with scheduled(spec, out, every) as schedule:
        while len(done := completed(runs := list_runs(out))) < nights:
            if done and first is None:
                first = rendered(out), product(out)
            if schedule.poll() is not None:
                sys.exit(f"the schedule ended with status {schedule.returncode}")
            if time.monotonic() - started > PATIENCE_S:
                sys.exit(f"{len(done)} of {nights} nights within {PATIENCE_S:g} s: {runs}")
            time.sleep(LOOK_S)
    if first is None:
        sys.exit("the nights were complete before one of them was looked at")
    before, after = first[1], product(out)
    return ScheduleReport(
        shards=sum(name.endswith(".tar") for name in after),
        rendered=first[0],
        rendered_again=rendered(out) - first[0],
        changed=sorted(
            name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
        ),
        states=[run["state"] for run in runs if run["state"] in ENDED],
        seconds=[run["seconds"] for run in done],
        total_s=round(time.monotonic() - started, 1),
    )


@contextmanager
def scheduled(spec: Path, out: Path, every: str) -> Iterator[subprocess.Popen[str]]:
    """A schedule in a process of its own, ended on leaving."""
    process = subprocess.Popen(
        segue("night", "schedule", spec, "--out", out, "--workers", "2", "--every", every, "--now"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(),
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def list_runs(out: Path) -> list[dict[str, Any]]:
    """The schedule's runs, oldest first; none before its server is up."""
    try:
        with known_server(out):
            return [run.to_json() for run in last_runs("scheduled", 100)][::-1]
    except SegueError:
        return []


def completed(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [run for run in runs if run["state"] == "Completed"]


def rendered(out: Path) -> int:
    """Shards that were rendered by all runs so far."""
    return sum(
        path.read_text(encoding="utf-8").count('"event": "rendered"')
        for path in out.rglob("journal.jsonl")
    )


def segue(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "pipelines.cli", *map(str, arguments)]


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the schedule ends with this
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nights", type=int, default=3, help="two or more")
    parser.add_argument("--every", default="10s")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = watch(Path(folder), given.nights, given.every)
    if given.json:
        print(json.dumps(asdict(report) | {"sound": report.sound}))
    else:
        print(
            f"{len(report.seconds)} nights in {report.total_s} s, each {report.seconds} s; "
            f"{report.rendered} of {report.shards} shards rendered by the first, "
            f"{report.rendered_again} by the others, {len(report.changed)} files changed"
        )
        print(f"states: {', '.join(report.states)}")
    return 0 if report.sound else 1


if __name__ == "__main__":
    sys.exit(main())
