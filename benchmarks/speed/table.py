"""The figures as JSON and in Markdown: medians, spreads, ratios, and what was aimed at."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final

MEASURES: Final = ("cpu_ms", "wall_ms", "per_cpu_s", "peak_mib")
Turn = dict[str, Any]
Medians = dict[str, dict[str, dict[str, float]]]


def medians(turns: Sequence[Turn]) -> Medians:
    """By case and contender, the median of every measure, a sample each; first the first's CPU."""
    found: Medians = {}
    for case in dict.fromkeys(turn["case"] for turn in turns):
        own = [turn for turn in turns if turn["case"] == case]
        found[case] = {
            name: _median([turn for turn in own if turn["contender"] == name])
            for name in dict.fromkeys(turn["contender"] for turn in own)
        }
        reference = next(iter(found[case].values()))["cpu_ms"]
        for values in found[case].values():
            values["ratio"] = values["cpu_ms"] / reference
    return found


def _median(turns: Sequence[Turn]) -> dict[str, float]:
    def each(measure: str) -> list[float]:
        return [turn[measure] / turn["samples"] * 1e3 for turn in turns]

    cpu = each("cpu_s")
    facts = {name: median(turn["facts"][name] for turn in turns) for name in turns[0]["facts"]}
    return facts | {
        "samples": turns[0]["samples"],
        "cpu_ms": median(cpu),
        "cpu_least_ms": min(cpu),
        "cpu_most_ms": max(cpu),
        "wall_ms": median(each("wall_s")),
        "per_cpu_s": 1e3 / median(cpu),
        "per_s": 1e3 / median(each("wall_s")),
        "peak_mib": median(turn["peak_mib"] for turn in turns),
    }


def machine() -> str:
    """The processor, and how busy it was when this is asked."""
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(encoding="utf-8").splitlines() if facts.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores"


def own_versions() -> dict[str, str]:
    """Of Segue and of what makes its bytes."""
    packages = ("segue-audio", "numpy", "soundfile", "pyarrow")
    return {"python": platform.python_version()} | {name: version(name) for name in packages}


def table(found: dict[str, Any]) -> str:
    """All cases in Markdown, then the aims."""
    lines = [
        "`python -m benchmarks.speed`",
        "",
        f"{found['machine']}, load {found['load']}; {found['sounds']}; {found['repeats']} repeats; "
        + ", ".join(f"{name} {number}" for name, number in found["versions"].items()),
    ]
    if found["peers"]:
        shown = ", ".join(f"{name} {number}" for name, number in found["peers"].items())
        lines += ["", f"Peers: {shown}"]
    lines += [
        "",
        "| Case | Contender | CPU a sample | least to most | of the first's | Wall a sample "
        "| Samples a CPU second | Peak memory |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for case, contenders in found["medians"].items():
        lines += [_row(case, name, values) for name, values in contenders.items()]
    waits = [
        f"| {name} | {values['data_wait']:.1%} | {values['longest_wait_s'] * 1e3:.0f} ms "
        f"| {values['per_s']:,.0f} |"
        for contenders in found["medians"].values()
        for name, values in contenders.items()
        if "data_wait" in values
    ]
    if waits:
        head = "| Loader | Waiting for data | Longest wait | Samples a second, unhindered |"
        lines += ["", head, "|---|---:|---:|---:|", *waits]
    lines += ["", "| Aim | Bound | Reached | |", "|---|---:|---:|---|"]
    for aim in found["aims"]:
        mark = "yes" if aim["met"] else "NO"
        lines.append(f"| {aim['aim']} | {aim['bound']} | {aim['reached']:,.2f} | {mark} |")
    return "\n".join(lines)


def _row(case: str, name: str, values: dict[str, float]) -> str:
    cells = (
        case,
        name,
        f"{values['cpu_ms']:.3f} ms",
        f"{values['cpu_least_ms']:.3f} to {values['cpu_most_ms']:.3f}",
        f"{values['ratio']:.2f}",
        f"{values['wall_ms']:.3f} ms",
        f"{values['per_cpu_s']:,.0f}",
        f"{values['peak_mib']:,.0f} MiB",
    )
    return f"| {' | '.join(cells)} |"
