"""Small builds whose processes are killed (kill -9) at random moments, a hundred times in all.

The flow, its workers, the Dask scheduler and the Prefect server are killed; each build is started
again until it is done, and must then be, byte for byte, what an undisturbed one made; no finished
shard is made again, no process and no temporary file is left. The status is 1 where that is not so,
or where the time was over before all were killed. Needs Linux's /proc and distributed.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from benchmarks.core.table import markdown
from benchmarks.soak.lanes import FLOW, LANES, SCHEDULER, SERVER, WORKER
from benchmarks.soak.processes import ExpiredError, command, end_all, of, start
from benchmarks.soak.rounds import CLI, Round, RoundOutcome
from tests.kit.builds import TINY, merged

SPEC: Final = merged(TINY, {"corpus": "soak", "recipe": {"triplets": {"repeats": 6}}})
AT_ONCE: Final = 2
MOST_KILLS: Final = 7
"""Of one build."""
PLAN: Final[tuple[tuple[str, str, int], ...]] = (
    ("served", SERVER, 12),
    ("bare", FLOW, 14),
    ("dask", WORKER, 16),
    ("flow", SERVER, 8),
    ("dask", SCHEDULER, 12),
    ("flow", FLOW, 8),
    ("bare", WORKER, 10),
    ("served", FLOW, 6),
    ("dask", FLOW, 8),
    ("flow", WORKER, 6),
)
"""Lane, victim, kills."""


@dataclass
class SummaryRow:
    """A line of the summary: how it was built, who was killed, and what was seen in all rounds."""

    lane: str
    victim: str
    wanted: int
    outcome: RoundOutcome = field(default_factory=RoundOutcome)

    @property
    def name(self) -> str:
        return f"{self.lane}/{self.victim}"

    def add(self, outcome: RoundOutcome) -> None:
        for name, value in vars(outcome).items():
            setattr(self.outcome, name, getattr(self.outcome, name) + value)

    def to_json(self) -> dict[str, Any]:
        """Of what is wrong the numbers and, in `wrong`, the words."""
        counts = {k: len(v) if isinstance(v, list) else v for k, v in asdict(self.outcome).items()}
        names = {"lane": self.lane, "victim": self.victim, "wanted": self.wanted}
        return {**names, **counts, "wrong": self.outcome.wrong}


class Soak:
    """All rounds, some at a time, until a deadline of `time.monotonic`."""

    def __init__(self, home: Path, seed: int, deadline: float) -> None:
        self._home = home
        self._seed = seed
        self._deadline = deadline
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._killed = 0

    def prepare(self) -> None:
        """Write the spec, and build it in peace."""
        (self._home / "soak.yaml").write_text(yaml.safe_dump(SPEC))
        arguments = (self._home / "soak.yaml", "--out", self._home / "undisturbed")
        options = (*arguments, "--no-prefect", "--workers", "2", "--json")
        build = start(CLI, "build", *options, home=self._home / "first", name="build")
        if build.wait(600):
            sys.exit((self._home / "first" / "build.err").read_text())
        self.tell("the undisturbed build is done")

    def run(self, rows: Sequence[SummaryRow]) -> None:
        """Run the rounds of all rows, until they are done or the time is over."""
        threads = ThreadPoolExecutor(AT_ONCE)
        try:
            for future in [threads.submit(self._run, row) for row in rows]:
                future.result()
        finally:
            self._deadline = 0.0
            threads.shutdown(cancel_futures=True)

    def over(self) -> bool:
        """Whether the time is over, or the soak was interrupted."""
        return time.monotonic() > self._deadline

    def tell(self, text: str) -> None:
        """A line of progress."""
        with self._lock:
            print(f"{time.monotonic() - self._started:6.1f} s  {text}", file=sys.stderr, flush=True)

    def _run(self, row: SummaryRow) -> None:
        moments = random.Random(f"{self._seed}/{row.name}")
        folder = self._home / row.name
        lane = LANES[row.lane](folder / "services")
        number = 0
        try:
            while row.outcome.kills < row.wanted and not self.over():
                number += 1
                self._round(row, lane, folder / f"round-{number}", moments)
        finally:
            lane.close()

    def _round(self, row: SummaryRow, lane: Any, home: Path, moments: random.Random) -> None:
        def tell(text: str) -> None:
            self.tell(f"{row.name:15} {home.name}: {text}")

        def killed(text: str) -> None:
            with self._lock:
                self._killed += 1
            tell(f"kill {self._killed} {text}")

        round_ = Round(
            lane,
            row.victim,
            self._home / "soak.yaml",
            home,
            self._home / "undisturbed",
            min(MOST_KILLS, row.wanted - row.outcome.kills),
            moments,
            self.over,
            killed,
            tell,
        )
        try:
            round_.run()
        except ExpiredError:
            tell("the time is over")
        row.add(round_.outcome)
        for fault in round_.outcome.wrong:
            tell(f"WRONG: {fault}")
        if not round_.outcome.wrong:
            shutil.rmtree(home, ignore_errors=True)  # a Dask worker may be at its last shard yet


def kill_builds(minutes: float, seed: int | None, only: Sequence[str], as_json: bool) -> int:
    """Run a soak of the rows of these names, at moments of a seed. Returns the exit status."""
    seed = random.SystemRandom().randrange(10**6) if seed is None else seed
    rows = [
        row
        for row in (SummaryRow(*line) for line in PLAN)
        if any(part in row.name for part in only)
    ]
    home = Path(tempfile.mkdtemp(prefix="segue-soak-"))
    soak = Soak(home, seed, time.monotonic() + 60 * minutes)
    soak.tell(f"seed {seed}, in {home}")
    try:
        soak.prepare()
        soak.run(rows)
        leftover = [command(process) for process in of(home)]
    except KeyboardInterrupt:
        end_all(home)
        shutil.rmtree(home)
        return 130
    finally:
        end_all(home)
    return report(rows, leftover, seed, home, as_json)


def report(
    rows: Sequence[SummaryRow], leftover: Sequence[str], seed: int, home: Path, as_json: bool
) -> int:
    """Print what was seen. Returns the exit status."""
    values = [row.to_json() for row in rows]
    columns = ["kills", "wanted", "builds", "resumed", "lost", "differing", "leftover"]
    columns += ["temporary", "faults"]
    total = {name: sum(value[name] for value in values) for name in columns}
    names = [*(row.name for row in rows), "all"]
    cells = [[value[column] for column in columns] for value in (*values, total)]
    lines = ([name, *numbers] for name, numbers in zip(names, cells, strict=True))
    print(markdown(("Build/victim", *columns), lines))
    wrong = [fault for row in rows for fault in row.outcome.wrong] + list(leftover)
    short = total["kills"] < total["wanted"]
    if wrong:
        print(f"WRONG: {len(wrong)}, the first: {wrong[0]}; see {home}")
    else:
        shutil.rmtree(home)
    if short:
        print(f"the time was over after {total['kills']} of {total['wanted']} kills")
    if as_json:
        print(json.dumps({"seed": seed, "rows": values, "total": total, "left": list(leftover)}))
    return int(bool(wrong) or short)
