"""Memory over many shards: a corpus of one short sample a shard, its processes watched.

    python -m benchmarks.soak.shards [--shards 10000] [--workers 2] [--json] [--out DIR]

Builds with the Prefect flow on a server of its own and reports, for each role of process, what it
held from a tenth to a fifth of the way and over the last tenth. The status is 1 where one grew by
more than both `MOST_GROWTH` MiB and `MOST_SHARE` of what it held. Needs Linux's /proc.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.core.turn import descendants, memory_mib
from benchmarks.soak.processes import command, running
from tests.kit.pools import pool_workers

LOOK_S: Final = 1.0
MOST_GROWTH: Final = 15.0
MOST_SHARE: Final = 0.05
EARLY: Final = (0.1, 0.2)
LATE: Final = (0.9, 1.0)
FLOW, SERVER, WORKER, OTHER = "flow", "server", "worker", "other"


@dataclass(frozen=True, slots=True)
class MemorySample:
    """What one process held, in MiB, when so many shards were done: all, and what no file backs."""

    done: int
    process: int
    role: str
    rss: float
    own: float


@dataclass(frozen=True, slots=True)
class Growth:
    """How much the processes of a role grew, in medians; of several the one that grew most."""

    role: str
    processes: int
    early_mib: float
    late_mib: float
    own_mib_a_thousand: float
    ratio: float
    flat: bool

    @classmethod
    def of(
        cls, processes: int, early: Sequence[MemorySample], late: Sequence[MemorySample]
    ) -> Growth:
        def grow(name: str) -> tuple[float, float]:
            return median(getattr(sample, name) for sample in early), median(
                getattr(sample, name) for sample in late
            )

        (before, after), own, done = grow("rss"), grow("own"), grow("done")
        return cls(
            role=early[0].role,
            processes=processes,
            early_mib=round(before, 1),
            late_mib=round(after, 1),
            own_mib_a_thousand=round((own[1] - own[0]) / (done[1] - done[0]) * 1000, 3),
            ratio=round(after / before, 3),
            flat=after - before <= max(MOST_GROWTH, MOST_SHARE * before),
        )


def spec_of(shards: int) -> dict[str, Any]:
    """A corpus of so many samples, one a shard, of which most take milliseconds to render."""
    pairs = {"pairs": shards, "crossfade_s": 0.05, "max_event_s": 0.3, "minimal_pairs": False}
    return {
        "corpus": "soak",
        "seed": 11,
        "source": {"foley": {"classes": ["dog", "rain", "siren", "wind"], "takes": 24}},
        "recipe": {"acba": pairs | {"style": "paper"}},
        "audio": {"sample_rate": 16000, "length": "natural"},
        "splits": {"train": 1.0},
        "shards": {"samples": 1},
    }


def watch(out: Path, shards: int, workers: int) -> dict[str, Any]:
    """Build and look at every process meanwhile.

    Raises:
        SystemExit: If the build fails, or makes another number of shards.
    """
    spec = out / "soak.yaml"
    spec.write_text(json.dumps(spec_of(shards)), encoding="utf-8")
    started = time.monotonic()
    samples: list[MemorySample] = []
    times: list[tuple[int, float]] = []
    options = ("--out", out / "built", "--workers", workers, "--json")
    with running("build", spec, *options) as process:
        journal, place, done = None, 0, 0
        while process.poll() is None:
            journal = journal or next(out.glob("built/data_manifests/*/*/journal.jsonl"), None)
            if journal is not None:
                with journal.open("rb") as file:
                    file.seek(place)
                    lines = file.read()
                place, done = place + len(lines), done + lines.count(b'"event": "rendered"')
            times.append((done, time.monotonic()))
            for pid in (process.pid, *descendants(process.pid)):
                memory = memory_mib(pid)
                if "RssAnon" in memory:
                    sizes = memory["VmRSS"], memory["RssAnon"]
                    samples.append(MemorySample(done, pid, role_of(pid, process.pid), *sizes))
            time.sleep(LOOK_S)
        summary, errors = process.communicate()
    if process.returncode:
        sys.exit(f"the build failed: {errors.strip()}")
    rendered = json.loads(summary.splitlines()[-1])["rendered"]
    if rendered != shards:
        sys.exit(f"{rendered} shards were rendered, {shards} were asked for")
    rendering = [moment for moment in times if 0 < moment[0] < shards]
    peaks: dict[str, float] = defaultdict(float)
    for sample in samples:
        peaks[sample.role] = max(peaks[sample.role], round(sample.rss, 1))
    return {
        "shards": shards,
        "render_s": round(rendering[-1][1] - rendering[0][1], 1),
        "total_s": round(time.monotonic() - started, 1),
        "early_shards_a_s": speed(rendering, 0, 0.2 * shards),
        "late_shards_a_s": speed(rendering, 0.8 * shards, shards),
        "peak_mib": dict(peaks),
        "growths": growths(samples, shards),
    }


def role_of(process: int, root: int) -> str:
    if process == root:
        return FLOW
    if "pipelines.flows.servers" in command(process):
        return SERVER
    return WORKER if process in pool_workers(root) else OTHER


def growths(samples: Sequence[MemorySample], shards: int) -> list[Growth]:
    """How each role grew between `EARLY` and `LATE`; short-lived processes are left out."""
    roles: dict[str, list[list[list[MemorySample]]]] = defaultdict(list)
    for role, process in dict.fromkeys((sample.role, sample.process) for sample in samples):
        parts = [
            [
                sample
                for sample in samples
                if (sample.role, sample.process) == (role, process)
                and low * shards <= sample.done < high * shards
            ]
            for low, high in (EARLY, LATE)
        ]
        if all(parts):
            roles[role].append(parts)
    return [
        max(
            (Growth.of(len(processes), *parts) for parts in processes),
            key=lambda growth: growth.late_mib - growth.early_mib,
        )
        for processes in roles.values()
    ]


def speed(times: Sequence[tuple[int, float]], first: float, last: float) -> float:
    """Shards a second over a part of the way."""
    part = [moment for moment in times if first <= moment[0] <= last]
    seconds = part[-1][1] - part[0][1] if part else 0.0
    return round((part[-1][0] - part[0][0]) / seconds, 1) if seconds else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shards", type=int, default=10_000, help="1,000 or more tell something")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="an empty folder to build in and keep")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not Path("/proc/self/status").is_file():
        sys.exit("memory is read from /proc, which is not here")
    with tempfile.TemporaryDirectory() as folder:
        if options.out is not None:
            options.out.mkdir(parents=True)
        report = watch(options.out or Path(folder), options.shards, options.workers)
    flat = all(growth.flat for growth in report["growths"])
    if options.json:
        growth = [asdict(growth) for growth in report["growths"]]
        print(json.dumps(report | {"growths": growth, "flat": flat}))
        return 0 if flat else 1
    print(
        f"{report['shards']:,} shards in {report['render_s']:,} s ({report['total_s']:,} s in "
        f"all), {report['early_shards_a_s']} a second at first, {report['late_shards_a_s']} at last"
    )
    for grown in report["growths"]:
        print(
            f"{grown.role:7} x{grown.processes}: {grown.early_mib} -> {grown.late_mib} MiB, "
            f"{grown.own_mib_a_thousand:+} MiB a thousand shards, peak "
            f"{report['peak_mib'][grown.role]} MiB{'' if grown.flat else '  GREW'}"
        )
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
