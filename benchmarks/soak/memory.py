"""What the processes of a build hold in memory, and how that grows; from Linux's /proc."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tests.kit.pools import pool_workers

MOST_GROWTH: Final = 15.0
MOST_SHARE: Final = 0.05
EARLY: Final = (0.1, 0.2)
LATE: Final = (0.9, 1.0)
FLOW, SERVER, WORKER, OTHER = "flow", "server", "worker", "other"


@dataclass(frozen=True, slots=True)
class MemorySample:
    """What one process held at one time.

    Args:
        done: Shards rendered by then.
        process: Its id.
        role: What it does.
        rss: Resident, in MiB.
        own: Of it what no file backs, in MiB.
    """

    done: int
    process: int
    role: str
    rss: float
    own: float


@dataclass(frozen=True, slots=True)
class Growth:
    """How much the processes of a role grew; of several the one that grew most.

    Args:
        role: What it does.
        processes: So many.
        early_mib: Resident early, a median.
        late_mib: Resident late, a median.
        own_mib_a_thousand: Growth of what no file backs, in MiB for a thousand shards.
        ratio: Late over early.
        flat: Whether it is within the bounds.
    """

    role: str
    processes: int
    early_mib: float
    late_mib: float
    own_mib_a_thousand: float
    ratio: float
    flat: bool


def tree(root: int) -> list[int]:
    """A process and all below it."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := text_of(entry / "stat")):
            children[int(stat.rsplit(")", 1)[1].split()[1])].append(int(entry.name))
    found, pending = [], [root]
    while pending:
        process = pending.pop()
        found.append(process)
        pending += children[process]
    return found


def role_of(process: int, root: int) -> str:
    words = text_of(Path(f"/proc/{process}/cmdline"))
    if process == root:
        return FLOW
    if "pipelines.flows.servers" in words:
        return SERVER
    return WORKER if process in pool_workers(root) else OTHER


def resident(process: int) -> tuple[float, float] | None:
    """MiB that are resident, and those that no file backs; None of a process that is gone."""
    lines = text_of(Path(f"/proc/{process}/status")).splitlines()
    kib = {
        name: int(value.split()[0])
        for name, _, value in (line.partition(":") for line in lines)
        if name in ("VmRSS", "RssAnon")
    }
    return (kib["VmRSS"] / 1024, kib["RssAnon"] / 1024) if len(kib) == 2 else None


def text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def growths(samples: Sequence[MemorySample], shards: int) -> list[Growth]:
    """How each role grew between `EARLY` and `LATE`; short-lived processes are left out."""
    by_process: dict[tuple[str, int], list[MemorySample]] = defaultdict(list)
    for sample in samples:
        by_process[sample.role, sample.process].append(sample)
    found: dict[str, list[Growth]] = defaultdict(list)
    for (role, _), own in by_process.items():
        early, late = (
            [each for each in own if low * shards <= each.done < high * shards]
            for low, high in (EARLY, LATE)
        )
        if early and late:
            found[role].append(growth(role, early, late))
    return [
        max(each, key=lambda one: one.late_mib - one.early_mib)
        for each in (
            [Growth(**asdict(one) | {"processes": len(all_)}) for one in all_]
            for all_ in found.values()
        )
    ]


def growth(role: str, early: Sequence[MemorySample], late: Sequence[MemorySample]) -> Growth:
    before, after = (statistics.median(each.rss for each in part) for part in (early, late))
    own = [statistics.median(each.own for each in part) for part in (early, late)]
    done = [statistics.median(each.done for each in part) for part in (early, late)]
    return Growth(
        role=role,
        processes=1,
        early_mib=round(before, 1),
        late_mib=round(after, 1),
        own_mib_a_thousand=round((own[1] - own[0]) / (done[1] - done[0]) * 1000, 3),
        ratio=round(after / before, 3),
        flat=after - before <= max(MOST_GROWTH, MOST_SHARE * before),
    )


def peaks(samples: Sequence[MemorySample]) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for each in samples:
        found[each.role] = max(found[each.role], round(each.rss, 1))
    return dict(found)
