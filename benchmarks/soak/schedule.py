"""A schedule over a small corpus: it runs three times and renders nothing again.

    python -m benchmarks.soak.schedule [--nights 3] [--every 10s] [--json]

Builds the corpus by its first night and has `segue night schedule` run until so many nights are
complete. The status is 1 where a later night renders a shard, or changes a byte of what was built,
or a night fails. A run that is due while another is under way is Cancelled.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from subprocess import DEVNULL
from typing import Any, Final

from benchmarks.soak.processes import running
from pipelines.flows.serving import known_server, last_runs
from synth.base.errors import SegueError
from tests.kit.builds import TINY, product

PATIENCE_S: Final = 600.0
LOOK_S: Final = 1.0
ENDED: Final = ("Completed", "Failed", "Crashed", "Cancelled")


def watch(folder: Path, nights: int, every: str) -> dict[str, Any]:
    """Run the schedule and look at what it does.

    Raises:
        SystemExit: If it does not come to so many nights.
    """
    spec, out = folder / "scheduled.yaml", folder / "out"
    spec.write_text(json.dumps(TINY | {"corpus": "scheduled"}), encoding="utf-8")
    started = time.monotonic()
    first: tuple[int, dict[str, str]] | None = None
    options = ("--out", out, "--workers", 2, "--every", every, "--now")
    with running("night", "schedule", spec, *options, output=DEVNULL) as schedule:
        while len(nights_done := completed(runs := list_runs(out))) < nights:
            if nights_done and first is None:
                first = rendered(out), product(out)
            if schedule.poll() is not None:
                sys.exit(f"the schedule ended with status {schedule.returncode}")
            if time.monotonic() - started > PATIENCE_S:
                sys.exit(f"{len(nights_done)} of {nights} nights within {PATIENCE_S:g} s: {runs}")
            time.sleep(LOOK_S)
    if first is None:
        sys.exit("the nights were complete before one of them was looked at")
    before, after = first[1], product(out)
    return {
        "shards": sum(name.endswith(".tar") for name in after),
        "rendered": first[0],
        "rendered_again": rendered(out) - first[0],
        "changed": sorted(
            name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
        ),
        "states": [run["state"] for run in runs if run["state"] in ENDED],
        "seconds": [run["seconds"] for run in nights_done],
        "total_s": round(time.monotonic() - started, 1),
    }


def list_runs(out: Path) -> list[dict[str, Any]]:
    """The schedule's runs, oldest first; none before its server is up."""
    try:
        with known_server(out):
            return [asdict(run) for run in last_runs("scheduled", 100)][::-1]
    except SegueError:
        return []


def completed(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [run for run in runs if run["state"] == "Completed"]


def rendered(out: Path) -> int:
    """Shards that were rendered by all runs so far."""
    journals = (path.read_text(encoding="utf-8") for path in out.rglob("journal.jsonl"))
    return sum(journal.count('"event": "rendered"') for journal in journals)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nights", type=int, default=3, help="two or more")
    parser.add_argument("--every", default="10s")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = watch(Path(folder), options.nights, options.every)
    harm = (
        report["changed"] or report["rendered_again"] or {"Failed", "Crashed"} & {*report["states"]}
    )
    sound = not harm and report["rendered"] == report["shards"] > 0
    if options.json:
        print(json.dumps(report | {"sound": sound}))
    else:
        print("\n".join(f"{name}: {value}" for name, value in report.items()))
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
