"""Commands killed between every pair of their writes, and given again.

What a command wrote must then be, byte for byte, what it writes undisturbed, certificates included;
and at the moment of the kill no certificate may say what is not so. Each point takes processes of
its own, forked from one that has imported everything.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from benchmarks.soak.bench import Bench, ScenarioRow, describe, write_to
from benchmarks.soak.scenarios import (
    FOLDER,
    LIBRARY,
    REHEARSAL,
    STORE,
    Scenario,
    Site,
    list_scenarios,
    parse_spec,
    simplify,
    write_library,
)
from synth.base.processors import processors

TELL_S: Final = 5.0


def soak(only: Sequence[str], points: int, as_json: bool) -> int:
    """Take the points of all scenarios, some at a time. Returns the exit status.

    Args:
        only: Parts of the names of those that are wanted.
        points: So many of each; 0 for all.
        as_json: End with one line of JSON.
    """
    wanted = [
        each for each in list_scenarios() if any(part in describe(each) for part in only or [""])
    ]
    if not wanted:
        names = ", ".join(describe(each) for each in list_scenarios())
        sys.exit(f"--only {','.join(only)}: there is no such command; there are {names}")
    home = Path(tempfile.mkdtemp(prefix="segue-soak-"))
    os.environ[LIBRARY] = str(home / "library")
    write_library(home / "library")
    import_all(home / "first")
    rows = {describe(each): ScenarioRow(describe(each)) for each in wanted}
    lanes: dict[int, int] = {}
    try:
        _run_lanes(wanted, home, points, rows, lanes)
    finally:
        for process in lanes.values():
            _end(process)
        wrong = [fault for row in rows.values() for fault in row.wrong]
        if not wrong:
            shutil.rmtree(home, ignore_errors=True)
    return _report(list(rows.values()), home, as_json)


def _run_lanes(
    wanted: Sequence[Scenario],
    home: Path,
    points: int,
    rows: dict[str, ScenarioRow],
    lanes: dict[int, int],
) -> None:
    started = told = time.monotonic()

    def tell(text: str) -> None:
        print(f"{time.monotonic() - started:6.1f} s  {text}", file=sys.stderr, flush=True)

    tell(f"{len(wanted)} commands, in {home}")
    pending = list(enumerate(wanted))[::-1]
    rest: dict[int, bytes] = {}
    while pending or lanes:
        while pending and len(lanes) < processors():
            number, scenario = pending.pop()
            pipe, process = _start_lane(scenario, home / str(number), points)
            lanes[pipe], rest[pipe] = process, b""
        for pipe in select.select(list(lanes), [], [], 1.0)[0]:
            data = os.read(pipe, 1 << 20)
            *lines, rest[pipe] = (rest[pipe] + data).split(b"\n")
            for line in lines:
                row = ScenarioRow(**json.loads(line))
                for fault in row.wrong[len(rows[row.name].wrong) :]:
                    tell(f"WRONG: {fault}")
                rows[row.name] = row
                if row.done:
                    tell(f"{row.name}: {row.killed} kills")
            if not data:
                os.close(pipe)
                os.waitpid(lanes.pop(pipe), 0)
        if time.monotonic() - told > TELL_S:
            told = time.monotonic()
            tell(f"{sum(row.killed for row in rows.values())} kills, {len(pending)} commands left")


def _end(lane: int) -> None:
    """End a lane, and what it started."""
    with suppress(ProcessLookupError):
        os.killpg(lane, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(lane, 0)
    with suppress(ProcessLookupError):
        while True:  # they write until they are gone
            os.killpg(lane, signal.SIGKILL)
            time.sleep(0.01)


def _start_lane(scenario: Scenario, home: Path, points: int) -> tuple[int, int]:
    """A process that takes the points of a scenario. Returns where it tells of them, and its id."""
    ours, theirs = os.pipe()
    process = os.fork()
    if process:
        os.close(theirs)
        with suppress(OSError):
            os.setpgid(process, process)
        return ours, process
    row = ScenarioRow(describe(scenario))
    try:
        os.setpgid(0, 0)
        os.close(ours)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        bench = Bench(
            scenario, home, points, lambda row: write_to(theirs, f"{json.dumps(asdict(row))}\n")
        )
        row = bench.row
        home.mkdir()
        bench.run()
        if not row.wrong:
            shutil.rmtree(home)
    except BaseException:
        row.wrong.append(traceback.format_exc())
        write_to(theirs, f"{json.dumps(asdict(row))}\n")
    finally:
        os._exit(0)


def import_all(home: Path) -> None:
    """Import what commands import when they need it: else every point would pay for it."""
    told = home / "modules"
    home.mkdir()
    process = os.fork()
    if not process:
        os.environ["SEGUE_CACHE"] = str(home / "cache")
        simplify()
        with suppress(BaseException):
            for way in (FOLDER, STORE):
                site = Site(home / way, way)
                for action in REHEARSAL:
                    action(site)
        told.write_text("\n".join(sys.modules), encoding="utf-8")
        os._exit(0)
    os.waitpid(process, 0)
    for name in told.read_text(encoding="utf-8").splitlines():
        with suppress(ImportError):
            importlib.import_module(name)
    parse_spec()


def _report(rows: Sequence[ScenarioRow], home: Path, as_json: bool) -> int:
    """Print what was seen. Returns the exit status."""
    columns = ("points", "killed", "refused")
    total: dict[str, Any] = {name: sum(getattr(row, name) for row in rows) for name in columns}
    total["wrong"] = sum(len(row.wrong) for row in rows)
    width = max(len(row.name) for row in rows) + 2
    print(f"{'':{width}}" + "".join(f"{name:>9}" for name in total))
    for row in rows:
        counts = [*(getattr(row, name) for name in columns), len(row.wrong)]
        print(f"{row.name:{width}}" + "".join(f"{count:9}" for count in counts))
    print(f"{'all':{width}}" + "".join(f"{count:9}" for count in total.values()))
    wrong = list(_list_wrong(rows))
    if wrong:
        print(f"WRONG: {len(wrong)}, the first: {wrong[0]}; see {home}")
    if as_json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "total": total, "wrong": wrong}))
    return int(bool(wrong))


def _list_wrong(rows: Sequence[ScenarioRow]) -> Iterator[str]:
    for row in rows:
        yield from row.wrong
        if not row.done and not row.wrong:
            yield f"{row.name}: not ended"
