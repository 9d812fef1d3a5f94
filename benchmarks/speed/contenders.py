"""Who contends in which case, and the order of their turns."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.speed.measure import Job

ROOT: Final = Path(__file__).resolve().parents[2]
LIMIT_S: Final = 3600
NEAR: Final = 0.02
"""Share by which the audio that a contender made may differ in length from what was asked."""


class TurnError(Exception):
    """A turn failed, or did other work than it was asked for."""


@dataclass(frozen=True, slots=True)
class SpeedContender:
    """One row of the table.

    Args:
        case: What is done.
        name: Who does it.
        module: Has `prepare(job)`.
        job: What it is given; `out`, an empty folder, is added.
        samples: That it must have made or read, None where the case itself tells.
        seconds: Of audio that it must have made, None for any.
        peer: Whether it runs in the peers' environment.
        once: Whether one turn is enough, as it is a long one.
    """

    case: str
    name: str
    module: str
    job: Job = field(default_factory=dict)
    samples: int | None = None
    seconds: float | None = None
    peer: bool = False
    once: bool = False


def take_turn(contender: SpeedContender, scratch: Path, python: Path) -> dict[str, Any]:
    """The figures of one turn, in a fresh process, checked to be of the work that was asked for.

    Raises:
        TurnError: If it failed, or did less or more.
    """
    out = scratch / "turn"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    file = scratch / "job.json"
    file.write_text(json.dumps(contender.job | {"out": str(out)}), encoding="utf-8")
    command = [str(python), "-m", "benchmarks.speed.turn", contender.module, str(file)]
    # One thread each: all are compared by what one processor does.
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    ran = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | threads | {"NUMBA_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    who = f"{contender.case}: {contender.name}"
    if ran.returncode:
        raise TurnError(f"{who} failed:\n{ran.stderr[-4000:]}")
    figures: dict[str, Any] = json.loads(ran.stdout.strip().splitlines()[-1])
    shutil.rmtree(out, ignore_errors=True)
    if contender.samples is not None and figures["samples"] != contender.samples:
        raise TurnError(f"{who} did {figures['samples']} samples, not {contender.samples}")
    if contender.seconds is not None:
        off = abs(figures["seconds"] - contender.seconds)
        if off > NEAR * contender.seconds:
            raise TurnError(
                f"{who} made {figures['seconds']:.1f} s of audio, not {contender.seconds:.1f} s"
            )
    return figures


def take_turns(
    contenders: Sequence[SpeedContender], repeats: int, scratch: Path, pythons: dict[bool, Path]
) -> list[dict[str, Any]]:
    """All contenders in turn, each repeat beginning with another one."""
    turns = []
    for repeat in range(repeats):
        due = [each for each in contenders if not (each.once and repeat)]
        first = repeat * len(due) // repeats
        for number, contender in enumerate([*due[first:], *due[:first]], 1):
            figures = take_turn(contender, scratch, pythons[contender.peer])
            turns.append(
                {"case": contender.case, "contender": contender.name, "repeat": repeat} | figures
            )
            each = figures["cpu_s"] / figures["samples"] * 1e3
            print(
                f"{repeat + 1}/{repeats} {number}/{len(due)} {contender.case}: "
                f"{contender.name}: {each:.3f} ms of CPU a sample",
                file=sys.stderr,
                flush=True,
            )
    return turns
