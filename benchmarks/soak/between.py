"""Commands killed between every pair of their writes, and given again.

What a command wrote must then be, byte for byte, what it writes undisturbed, certificates included;
and at the moment of the kill no certificate may say what is not so. Each point takes processes of
its own, forked from one that has imported everything.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.core.table import markdown
from benchmarks.soak.bench import Bench, ScenarioRow, describe
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


def soak(only: Sequence[str], points: int, as_json: bool) -> int:
    """Take so many points (0 for all) of the scenarios of these names. Returns the exit status."""
    scenarios = [*_select(only)]
    if not scenarios:
        names = ", ".join(describe(scenario) for scenario in list_scenarios())
        sys.exit(f"--only {','.join(only)}: there is no such command; there are {names}")
    home = Path(tempfile.mkdtemp(prefix="segue-soak-"))
    os.environ[LIBRARY] = str(home / "library")
    write_library(home / "library")
    import_all(home / "first")
    started = time.monotonic()

    def tell(text: str) -> None:
        print(f"{time.monotonic() - started:6.1f} s  {text}", file=sys.stderr, flush=True)

    tell(f"{len(scenarios)} commands, in {home}")
    rows = []
    with ProcessPoolExecutor(processors(), multiprocessing.get_context("fork")) as lanes:
        numbers = range(len(scenarios))
        futures = [lanes.submit(_take_points, number, home, points, only) for number in numbers]
        try:
            for lane in as_completed(futures):
                rows.append(row := lane.result())
                for fault in row.wrong:
                    tell(f"WRONG: {fault}")
                tell(f"{row.name}: {row.killed} kills, {len(scenarios) - len(rows)} commands left")
        except BaseException:
            lanes.shutdown(wait=False, cancel_futures=True)
            raise
    if not any(row.wrong for row in rows):
        shutil.rmtree(home, ignore_errors=True)
    return _report(sorted(rows, key=lambda row: row.name), home, as_json)


def _select(only: Sequence[str]) -> Iterator[Scenario]:
    """The scenarios in whose names one of these parts is."""
    for scenario in list_scenarios():
        if any(part in describe(scenario) for part in only or [""]):
            yield scenario


def _take_points(number: int, home: Path, points: int, only: Sequence[str]) -> ScenarioRow:
    """In a process of its own: the points of one scenario."""
    bench = Bench(next(islice(_select(only), number, None)), home / str(number), points)
    try:
        (home / str(number)).mkdir()
        bench.run()
        if not bench.row.wrong:
            shutil.rmtree(home / str(number))
    except Exception:
        bench.row.wrong.append(traceback.format_exc())
    return bench.row


def import_all(home: Path) -> None:
    """Import what commands import when they need it: else every point would pay for it."""
    path = home / "modules"
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
        path.write_text("\n".join(sys.modules), encoding="utf-8")
        os._exit(0)
    os.waitpid(process, 0)
    for name in path.read_text(encoding="utf-8").splitlines():
        with suppress(ImportError):
            importlib.import_module(name)
    parse_spec()


def _report(rows: Sequence[ScenarioRow], home: Path, as_json: bool) -> int:
    """Print what was seen. Returns the exit status."""
    columns = ("points", "killed", "refused")
    total: dict[str, Any] = {name: sum(getattr(row, name) for row in rows) for name in columns}
    wrong = [fault for row in rows for fault in row.wrong]
    total["wrong"] = len(wrong)
    cells = ([row.name, *(getattr(row, name) for name in columns), len(row.wrong)] for row in rows)
    print(markdown(("Command", *total), [*cells, ["all", *total.values()]]))
    if wrong:
        print(f"WRONG: {len(wrong)}, the first: {wrong[0]}; see {home}")
    if as_json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "total": total, "wrong": wrong}))
    return int(bool(wrong))
