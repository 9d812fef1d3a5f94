"""What Segue should reach, held against the medians of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from benchmarks.core.table import Aim, Medians
from benchmarks.speed.building import BY_WORKERS
from benchmarks.speed.stage import KINDS

FLOOR: Final = "FLAC encoder alone"
TIMES_AS_FAST: Final = {"lhotse": 2.0, "scaper": 7.0, "pydub, FLAC": 1.0}
PLANNED: Final = dict(zip(KINDS, (5_000, 3_000, 1_200), strict=True))


def aims(medians: Medians) -> Iterator[Aim]:
    """The aims of the cases that were run."""

    def ratio(case: str, first: str, second: str, measure: str = "cpu_ms") -> list[float]:
        """None or one."""
        own = medians.get(case, {})
        return [own[first][measure] / own[second][measure]] if {first, second} <= own.keys() else []

    for kind in KINDS:
        case = f"render {kind}"
        for value in ratio(case, "Segue", FLOOR):
            yield Aim(f"{case}: CPU over that of the encoder alone", value, 1.25, at_most=True)
        for peer, least in TIMES_AS_FAST.items():
            for value in ratio(case, peer, "Segue"):
                yield Aim(f"{case}: times as fast as {peer}", value, least)
    for kind in KINDS:
        for value in ratio(f"read {kind}", "webdataset + FLAC decode", "Segue, virtual shards"):
            yield Aim(f"virtual shards of {kind}: times as fast as webdataset", value, 10)
    for kind in KINDS:
        if own := medians.get(f"plan {kind}"):
            speed = own["Segue"]["per_cpu_s"]
            yield Aim(f"plan {kind}: samples a second", speed, PLANNED[kind])
    for work, gain in (("scaling", 1.9), (BY_WORKERS, 1.8)):
        for value in ratio(work, "Segue, 1 worker", "Segue, 2 workers", "wall_ms"):
            yield Aim(f"{work}: two workers against one", value, gain)
    if own := medians.get("scaling"):
        heavy = own["Segue, 2 workers"]["worker_mib"]
        yield Aim("memory of a render worker, MiB", heavy, 500, at_most=True)
    for value in ratio("ingest", "Segue", "decoding alone"):
        yield Aim("ingest: CPU over that of decoding alone", value, 2.0, at_most=True)
    for name, own in medians.items():
        if name.startswith("rebuild"):
            seconds = own["Segue"]["wall_s"]
            yield Aim(f"{name}, which has nothing to do: seconds", seconds, 1, at_most=True)
        if name.startswith("catalogue"):
            yield Aim(f"{name}: memory, MiB", own["Segue"]["peak_mib"], 1_000, at_most=True)
    for work in ("plan", "build"):
        sizes = [
            own["Segue"]
            for name, own in medians.items()
            if name.startswith(work) and name.endswith("samples")
        ]
        if len(sizes) > 1:
            first, *_, last = sizes
            grown = {"a sample": "cpu_ms", "memory": "peak_mib"}
            for (what, measure), most in zip(grown.items(), (1.1, 1.2), strict=True):
                aim = f"{work}: {what} of the largest corpus over the smallest"
                yield Aim(aim, last[measure] / first[measure], most, at_most=True)
