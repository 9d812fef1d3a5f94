"""One build that is killed at random moments and started again until it is done."""

from __future__ import annotations

import json
import random
import re
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.soak.lanes import FLOW, SCHEDULER, SERVER, START_S, Lane, Process
from benchmarks.soak.processes import command, end_all, kill, of, start, wait_for
from tests.kit.builds import product

ATTEMPT_S: Final = 240.0
GONE_S: Final = 30.0
"""Orphans look for their parent every second."""
LONGEST_ABSENCE_S: Final = 3.0
"""Of a scheduler or server that was killed, before another takes its place."""
CLI: Final = "pipelines.cli"
_BEING_WRITTEN: Final = re.compile(r"\.(?P<shard>.+?\.tar)\..+\.partial")

Shards = dict[str, tuple[int, int]]
"""Finished shards by name: which file each is, and when that was written."""


@dataclass
class RoundOutcome:
    """What was seen in a round, or in all of a row.

    Args:
        resumed: Attempts that began with finished shards.
        lost: Shards that were finished, and were made again or are gone.
        differing: Files that differ from the undisturbed build's, or that one of both lacks.
        leftover: Processes that were still there.
        faults: Hangs, tracebacks, wrong statuses, errors that are not one clear line.
    """

    kills: int = 0
    builds: int = 0
    resumed: int = 0
    lost: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    leftover: list[str] = field(default_factory=list)
    temporary: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> list[str]:
        """All that must not be."""
        return self.lost + self.differing + self.leftover + self.temporary + self.faults


@dataclass
class Round:
    """A build in a fresh folder, whose processes of one kind are killed.

    Args:
        undisturbed: The root of the same corpus, built in peace.
        most: Kills.
        moments: When, and which of several.
        over: Whether the whole soak is over.
        killed: Told of each kill.
        tell: Told what a build ended with.
    """

    lane: Lane
    victim: str
    spec: Path
    home: Path
    undisturbed: Path
    most: int
    moments: random.Random
    over: Callable[[], bool]
    killed: Callable[[str], None]
    tell: Callable[[str], None]
    outcome: RoundOutcome = field(default_factory=RoundOutcome)

    def __post_init__(self) -> None:
        self.out = self.home / "out"
        self._expected = product(self.undisturbed)
        self._shards = len(finished(self.undisturbed))
        self._kept: Shards = {}
        self._attempts = 0

    def run(self) -> RoundOutcome:
        """Kill and go on until the build is done, then look at what it made and left.

        Raises:
            ExpiredError: If the soak ended before.
        """
        try:
            while not self._attempt() and len(self.outcome.faults) < 3:
                pass
            self.look()
            if not wait_for(lambda: not of(self.home), GONE_S, self.over):
                self.outcome.leftover += [f"process {command(pid)}" for pid in of(self.home)]
            self.compare()
        finally:
            end_all(self.home)
        return self.outcome

    def _attempt(self) -> bool:
        """Start the build and kill what is to be killed. Returns whether it is finished."""
        if not wait_for(self.lane.ready, START_S, self.over):
            self.outcome.faults.append("the lane's services do not start")
            return False
        self.look()
        before = len(self._kept)
        self.outcome.resumed += before > 0
        self._attempts += 1
        name = f"attempt-{self._attempts}"
        arguments = (self.spec, "--out", self.out, *self.lane.options, "--json")
        build = start(CLI, "build", *arguments, home=self.home, name=name, env=self.lane.env)
        kills = self.outcome.kills
        while self.outcome.kills < self.most and (victims := self._awaited(build)):
            self.look()
            kill(self.moments.choice(victims))
            self.outcome.kills += 1
            self.killed(f"with {len(self._kept)} of {self._shards} shards")
            if self.victim == FLOW:
                build.wait()
                return False
            if self.victim in (SCHEDULER, SERVER):
                dead = self.moments.uniform(0, LONGEST_ABSENCE_S)
                wait_for(lambda: build.poll() is not None, dead, self.over)
            wait_for(self.lane.ready, START_S, self.over)
        return self._ended(build, name, before, self.outcome.kills > kills)

    def _awaited(self, build: Process) -> list[int]:
        """Wait for a random moment. Returns who can be killed then; nobody if the build ended."""

        def ended() -> bool:
            return build.poll() is not None

        def is_ready() -> bool:
            victims = self.lane.ready() and self.lane.victims(self.victim, build)
            return ended() or bool(victims)

        done = len(finished(self.out))
        missing = self._shards - done
        kind = self.moments.random() if missing else 0.0
        longest = self.lane.early_s if missing else 3 * self.lane.early_s
        if not wait_for(is_ready, ATTEMPT_S, self.over):
            return []
        if kind < 0.4:  # any moment of the beginning, or of the next few seconds
            pause = self.moments.uniform(0, longest)
        else:  # while it renders; or at the very end
            target = done + (missing if kind > 0.92 else self.moments.randint(1, missing // 3 + 1))
            pause = self.moments.uniform(0, 0.3)
            most = min(target, self._shards)
            wait_for(lambda: ended() or len(finished(self.out)) >= most, ATTEMPT_S, self.over)
        wait_for(ended, pause, self.over)
        return [] if ended() else self.lane.victims(self.victim, build)

    def _ended(self, build: Process, name: str, before: int, disturbed: bool) -> bool:
        """Judge an attempt that ends by itself. Returns whether it is finished."""
        if not wait_for(lambda: build.poll() is not None, ATTEMPT_S, self.over):
            build.send_signal(signal.SIGABRT)  # tells where every thread stands
            build.wait()
            self._blame(name, f"hangs for {ATTEMPT_S:g} s")
            return False
        lines = (self.home / f"{name}.err").read_text(errors="replace").splitlines()
        errors = [line for line in lines if line.startswith("error: ")]
        if [line for line in lines if line not in errors and not line.startswith("fix:   ")]:
            self._blame(name, "says more than an error and a fix")
        if build.returncode == 1 and disturbed and len(errors) == 1:
            self.tell(errors[0])
            return False
        if build.returncode or errors:
            self._blame(name, f"status {build.returncode}")
            return False
        result = json.loads((self.home / f"{name}.out").read_text().splitlines()[-1])
        if result["skipped"] < before or result["skipped"] + result["rendered"] != self._shards:
            self._blame(name, f"began with {before} shards and says {result}")
        self.outcome.builds += 1
        return True

    def _blame(self, attempt: str, fault: str) -> None:
        self.outcome.faults.append(f"{self.home / attempt}.err: {fault}")

    def look(self) -> None:
        """No shard that was finished has been made again since, or has gone."""
        now = finished(self.out)
        self.outcome.lost += [
            f"shard {self.out.name}/{shard}"
            for shard, file in self._kept.items()
            if now.get(shard, file) != file
            or not any(self.out.glob(f"data_manifests/*/*/receipts/{shard}.json"))
        ]
        self._kept |= now

    def compare(self) -> None:
        """What was made is what the undisturbed build made, each shard once; nothing else is."""
        if self.outcome.builds:
            files = product(self.out)
            self.outcome.differing += [
                f"file {name}"
                for name in sorted(files.keys() | self._expected.keys())
                if files.get(name) != self._expected.get(name)
            ]
            rendered = Counter(
                event["shard"] for event in journal(self.out) if event["event"] == "rendered"
            )
            self.outcome.lost += [
                f"shard {shard}" for shard, times in rendered.items() if times > 1
            ]
        temporary = [*self.out.rglob("*.partial"), *self.out.rglob(".probe*")]
        self.outcome.temporary += [f"temporary file {path}" for path in temporary]


def finished(out: Path) -> Shards:
    """The shards below `out` that have a receipt; not those that an orphan is writing again."""
    writing = (_BEING_WRITTEN.fullmatch(path.name) for path in out.glob("shards/*/*/*/.*.partial"))
    busy = {match["shard"] for match in writing if match}
    receipts = {path.stem for path in out.glob("data_manifests/*/*/receipts/*.json")}
    files = [path for path in out.glob("shards/*/*/*/*.tar") if path.name in receipts - busy]
    stats = {path.name: path.stat() for path in files}
    return {name: (stat.st_ino, stat.st_mtime_ns) for name, stat in stats.items()}


def journal(out: Path) -> list[dict[str, Any]]:
    """What all attempts recorded."""
    lines = [line for path in out.rglob("journal.jsonl") for line in path.read_text().splitlines()]
    return [json.loads(line) for line in lines]
