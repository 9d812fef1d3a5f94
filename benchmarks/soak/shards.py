"""Memory over many shards: a corpus of one short sample a shard, its processes watched.

    python -m benchmarks.soak.shards [--shards 10000] [--workers 2] [--json] [--out DIR]

Builds with the Prefect flow on a server of its own and reports, for each role of process, what it
held from a tenth to a fifth of the way and over the last tenth. The status is 1 where one grew by
more than both `memory.MOST_GROWTH` and `memory.MOST_SHARE` of what it held. Needs Linux's /proc.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.soak.memory import Growth, MemorySample, growths, peaks, resident, role_of, tree
from benchmarks.soak.processes import environment

LOOK_S: Final = 1.0
TAKES: Final = 24


@dataclass(frozen=True, slots=True)
class ShardsReport:
    """What a run showed.

    Args:
        shards: Rendered.
        render_s: From the first shard to the last.
        total_s: Of the command.
        early_shards_a_s: Speed over the first fifth.
        late_shards_a_s: Speed over the last fifth.
        peak_mib: Most that was resident at once in each role's largest process.
        growths: By role.
    """

    shards: int
    render_s: float
    total_s: float
    early_shards_a_s: float
    late_shards_a_s: float
    peak_mib: dict[str, float]
    growths: list[Growth]

    @property
    def flat(self) -> bool:
        return all(each.flat for each in self.growths)


def spec_of(shards: int) -> dict[str, Any]:
    """A corpus of so many samples, one a shard, of which most take milliseconds to render."""
    return {
        "corpus": "soak",
        "seed": 11,
        "source": {"foley": {"classes": ["dog", "rain", "siren", "wind"], "takes": TAKES}},
        "recipe": {
            "acba": {
                "pairs": shards,
                "crossfade_s": 0.05,
                "max_event_s": 0.3,
                "style": "paper",
                "minimal_pairs": False,
            }
        },
        "audio": {"sample_rate": 16000, "length": "natural"},
        "splits": {"train": 1.0},
        "shards": {"samples": 1},
    }


def watch(out: Path, shards: int, workers: int) -> ShardsReport:
    """Build and look at every process meanwhile.

    Raises:
        SystemExit: If the build fails, or makes another number of shards.
    """
    spec = out / "soak.yaml"
    spec.write_text(json.dumps(spec_of(shards)), encoding="utf-8")
    started = time.monotonic()
    samples: list[MemorySample] = []
    times: list[tuple[int, float]] = []
    with building(spec, out / "built", workers) as process:
        progress = Progress(out / "built")
        while process.poll() is None:
            done = progress.rendered()
            times.append((done, time.monotonic()))
            samples += [
                MemorySample(done, each, role_of(each, process.pid), *held)
                for each in tree(process.pid)
                if (held := resident(each)) is not None
            ]
            time.sleep(LOOK_S)
        summary, told = process.communicate()
    if process.returncode:
        sys.exit(f"the build failed: {told.strip()}")
    rendered = json.loads(summary.splitlines()[-1])["rendered"]
    if rendered != shards:
        sys.exit(f"{rendered} shards were rendered, {shards} were asked for")
    rendering = [each for each in times if 0 < each[0] < shards]
    return ShardsReport(
        shards=shards,
        render_s=round(rendering[-1][1] - rendering[0][1], 1),
        total_s=round(time.monotonic() - started, 1),
        early_shards_a_s=speed(rendering, shards, (0.0, 0.2)),
        late_shards_a_s=speed(rendering, shards, (0.8, 1.0)),
        peak_mib=peaks(samples),
        growths=growths(samples, shards),
    )


@contextmanager
def building(spec: Path, out: Path, workers: int) -> Iterator[subprocess.Popen[str]]:
    """A build in a process of its own, ended on leaving."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "pipelines.cli", "build", str(spec), "--out", str(out)),
            *("--workers", str(workers), "--json"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


class Progress:
    """Counts the shards that a build's journal tells of, reading each line once."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._place = 0
        self._count = 0

    def rendered(self) -> int:
        journal = next(self._out.glob("data_manifests/*/*/journal.jsonl"), None)
        if journal is not None:
            with journal.open("rb") as file:
                file.seek(self._place)
                found = file.read()
            self._place += len(found)
            self._count += found.count(b'"event": "rendered"')
        return self._count


def speed(times: Sequence[tuple[int, float]], shards: int, part: tuple[float, float]) -> float:
    """Shards a second over a part of the way."""
    found = [each for each in times if part[0] * shards <= each[0] <= part[1] * shards]
    seconds = found[-1][1] - found[0][1] if found else 0.0
    return round((found[-1][0] - found[0][0]) / seconds, 1) if seconds else 0.0


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the build ends with this
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shards", type=int, default=10_000, help="1,000 or more tell something")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="an empty folder to build in and keep")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if not Path("/proc/self/status").is_file():
        sys.exit("memory is read from /proc, which is not here")
    if given.out is not None:
        given.out.mkdir(parents=True)
        report = watch(given.out, given.shards, given.workers)
    else:
        with tempfile.TemporaryDirectory() as folder:
            report = watch(Path(folder), given.shards, given.workers)
    if given.json:
        print(json.dumps(asdict(report) | {"flat": report.flat}))
    else:
        print(
            f"{report.shards:,} shards in {report.render_s:,} s ({report.total_s:,} s in all), "
            f"{report.early_shards_a_s} a second at first, {report.late_shards_a_s} at last"
        )
        for each in report.growths:
            print(
                f"{each.role:7} x{each.processes}: {each.early_mib} -> {each.late_mib} MiB, "
                f"{each.own_mib_a_thousand:+} MiB a thousand shards, peak "
                f"{report.peak_mib[each.role]} MiB{'' if each.flat else '  GREW'}"
            )
    return 0 if report.flat else 1


if __name__ == "__main__":
    sys.exit(main())
