"""What turns come to: medians with the least and the most, aims, and tables in Markdown."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeAlias

from benchmarks.core.turn import Figures

Medians: TypeAlias = dict[str, dict[str, dict[str, float]]]
"""By case and contender."""
_NAMES: Final = ("case", "contender", "repeat")


@dataclass(frozen=True, slots=True)
class Aim:
    """What should be reached: at most a bound, or at least."""

    aim: str
    reached: float
    bound: float
    at_most: bool = False

    @property
    def ok(self) -> bool:
        return self.reached <= self.bound if self.at_most else self.reached >= self.bound

    def to_json(self) -> dict[str, Any]:
        bound = f"{'<=' if self.at_most else '>='} {self.bound:,g}"
        return {"aim": self.aim, "bound": bound, "reached": self.reached, "met": self.ok}


def medians(turns: Sequence[Figures]) -> Medians:
    """The median of every figure; of costs a sample each, and CPU over that of the case's first."""
    cases: Medians = {}
    for turn in turns:
        cases.setdefault(turn["case"], {}).setdefault(turn["contender"], {})
    for case, contenders in cases.items():
        for name, values in contenders.items():
            runs = [turn for turn in turns if (turn["case"], turn["contender"]) == (case, name)]
            values |= {
                key: median(turn[key] for turn in runs)
                for key, value in runs[0].items()
                if key not in _NAMES and isinstance(value, int | float)
            }
            cpu, wall = (
                [turn[cost] / turn["samples"] * 1e3 for turn in runs]
                for cost in ("cpu_s", "wall_s")
            )
            values |= {"cpu_ms": median(cpu), "cpu_least_ms": min(cpu), "cpu_most_ms": max(cpu)}
            values |= {"wall_ms": median(wall), "per_s": 1e3 / median(wall)}
            values |= {"per_cpu_s": 1e3 / median(cpu)}
            values["ratio"] = values["cpu_ms"] / next(iter(contenders.values()))["cpu_ms"]
    return cases


def over(
    case: Mapping[str, Mapping[str, float]], name: str, other: str, key: str = "cpu_ms"
) -> float:
    """A measure of one contender over that of another."""
    return case[name][key] / case[other][key]


def machine() -> str:
    """The processor, and its cores."""
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(encoding="utf-8").splitlines() if facts.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores"


def load() -> str:
    """How busy the machine is."""
    return f"{os.getloadavg()[0]:.1f}"


def versions(*packages: str) -> dict[str, str]:
    """Of Python and of packages; by default of Segue and of what makes its bytes."""
    packages = packages or ("segue-audio", "numpy", "soundfile", "pyarrow")
    return {"python": platform.python_version()} | {name: version(name) for name in packages}


def list_versions(numbers: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in numbers.items())


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]], text: int = 1) -> str:
    """A table; the first `text` columns hold words, the others figures."""
    align = ["---"] * text + ["---:"] * (len(head) - text)
    lines = [f"| {' | '.join(map(str, row))} |" for row in (head, *rows)]
    return "\n".join([lines[0], f"|{'|'.join(align)}|", *lines[1:]])


def aim_table(aims: Iterable[Mapping[str, Any]]) -> str:
    rows = (
        (aim["aim"], aim["bound"], f"{aim['reached']:,.2f}", "yes" if aim["met"] else "NO")
        for aim in aims
    )
    return markdown(("Aim", "Bound", "Reached", "Met"), rows)


def make_parser(name: str, about: str | None, repeats: int = 3) -> argparse.ArgumentParser:
    """Options that benchmarks share."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}", description=(about or "").partition("\n\n")[0]
    )
    parser.add_argument("--quick", action="store_true", help="little of everything: does it run?")
    parser.add_argument("--repeats", type=int, default=repeats, help="turns of each contender")
    parser.add_argument("--json", type=Path, help="where every figure goes")
    parser.add_argument("--folder", type=Path, help="where what is measured is made, and kept")
    return parser


def write_json(file: Path | None, report: object) -> None:
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
