"""Who contends in which case, and the order of their turns, each in a fresh process."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.core.turn import Figures, Job

ROOT: Final = Path(__file__).resolve().parents[2]
LIMIT_S: Final = 3600
NEAR: Final = 0.02
"""Share by which the audio that a contender made may differ in length from what was asked."""


class TurnError(Exception):
    """A turn failed, or did other work than it was asked for."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One row of a table.

    Args:
        module: Has `prepare(job)`.
        job: What it is given; `out`, an empty folder, is added.
        samples: That it must have made or read, None where the case itself tells.
        seconds: Of audio that it must have made, None for any.
        peer: Whether it runs in the peers' environment.
        once: Whether one turn is enough, as it is a long one.
        ranks: Processes that take the turn together, as torch's ranks.
    """

    case: str
    name: str
    module: str
    job: Job = field(default_factory=dict)
    samples: int | None = None
    seconds: float | None = None
    peer: bool = False
    once: bool = False
    ranks: int = 1

    def __str__(self) -> str:
        return f"{self.case}: {self.name}"


def take_turn(contender: Contender, scratch: Path, python: str = sys.executable) -> Figures:
    """The figures of one turn, checked to be of the work that was asked for; of ranks the most.

    Raises:
        TurnError: If it failed, or did less or more.
    """
    out = scratch / "turn"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    file = scratch / "job.json"
    file.write_text(json.dumps(contender.job | {"out": str(out)}), encoding="utf-8")
    # One thread each: all are compared by what one processor does.
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    environment = os.environ | dict.fromkeys(threads, "1")
    if contender.ranks > 1:
        environment |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    started = [
        subprocess.Popen(
            [python, "-m", "benchmarks.core.turn", contender.module, str(file)],
            cwd=ROOT,
            env=environment
            | {"WORLD_SIZE": str(contender.ranks), "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(contender.ranks)
    ]
    try:
        ended = [process.communicate(timeout=LIMIT_S) for process in started]
    finally:
        for process in started:
            process.kill()
    for process, (_, errors) in zip(started, ended, strict=True):
        if process.returncode:
            raise TurnError(f"{contender} failed:\n{errors[-4000:]}")
    shutil.rmtree(out, ignore_errors=True)
    all_figures = [json.loads(lines.strip().splitlines()[-1]) for lines, _ in ended]
    figures = {name: max(turn[name] for turn in all_figures) for name in all_figures[0]}
    if contender.samples not in (None, figures["samples"]):
        raise TurnError(f"{contender} did {figures['samples']} samples, not {contender.samples}")
    length = contender.seconds
    if length is not None and abs(figures["seconds"] - length) > NEAR * length:
        raise TurnError(f"{contender} made {figures['seconds']:.1f} s of audio, not {length:.1f} s")
    return figures


def take_turns(
    contenders: Sequence[Contender], repeats: int, scratch: Path, peers: Path | None = None
) -> list[dict[str, Any]]:
    """All contenders in turn, each repeat beginning with another one.

    Args:
        peers: Python of the peers, who are passed over without.
    """
    turns = []
    contenders = [contender for contender in contenders if peers or not contender.peer]
    for repeat in range(repeats):
        due = [contender for contender in contenders if not (contender.once and repeat)]
        first = repeat * len(due) // repeats
        for number, contender in enumerate([*due[first:], *due[:first]], 1):
            python = str(peers) if contender.peer else sys.executable
            figures = take_turn(contender, scratch, python)
            names = {"case": contender.case, "contender": contender.name, "repeat": repeat}
            turns.append(names | figures)
            print(
                f"{repeat + 1}/{repeats} {number}/{len(due)} {contender}: "
                f"{figures['cpu_s'] / figures['samples'] * 1e3:.3f} ms of CPU a sample",
                file=sys.stderr,
                flush=True,
            )
    return sorted(turns, key=lambda turn: int(turn["repeat"]))


def free_port() -> int:
    """A port on loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
