"""The points of one command: it is killed before each of its writes, and given again."""

from __future__ import annotations

import os
import shutil
import signal
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn

from benchmarks.soak.scenarios import FOLDER, Action, Scenario, Site, simplify
from benchmarks.soak.writes import WriteWatch
from pipelines.checks.audit import audit
from pipelines.look.inspection import draw, verify
from synth.base.errors import SegueError
from synth.corpus.corpus import CORPUS_FILE, Corpus

HANGS_S: Final = 1800
REFUSED: Final = 1
CRASHED: Final = 2


@dataclass
class ScenarioRow:
    """What was seen of a scenario.

    Args:
        points: Writes of the undisturbed command.
        killed: Points at which it was killed.
        refused: Points after which the other command refused, as it may.
        wrong: What must not be.
    """

    name: str
    points: int = 0
    killed: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list)
    done: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: the signal that killed it or 0, its status, what it printed."""

    signal: int
    status: int
    output: str

    def __str__(self) -> str:
        last = self.output.strip().splitlines()[-1:] or ["nothing"]
        return f"signal {self.signal}, status {self.status}: {last[0]}"


class Bench:
    """Takes the points of one scenario in a folder of its own: all, or so many spread evenly."""

    def __init__(self, scenario: Scenario, home: Path, most: int) -> None:
        self._scenario = scenario
        self._site = Site(home / "root", scenario.way)
        self._begin = home / "begin"
        self._log = home / "log"
        self._most = most
        self.row = ScenarioRow(describe(scenario))

    def run(self) -> None:
        """Take them all."""
        os.environ["SEGUE_CACHE"] = str(self._site.cache)
        simplify()
        self._prepare()
        expected = self._see(self._scenario.after)
        other = self._see_elsewhere()
        writes = self._list_writes()
        self.row.points = len(writes)
        most = min(self._most, len(writes)) or len(writes)
        for number in ((2 * place + 1) * len(writes) // (2 * most) + 1 for place in range(most)):
            fault = self._take(number, expected, other)
            if fault:
                before = writes[number - 1].replace(f"{self._site.root}/", "")
                self.row.wrong.append(f"{self.row.name}, before {number}, {before}: {fault}")
        self.row.done = True

    def _take(
        self, number: int, expected: dict[str, str], other: dict[str, str] | None
    ) -> str | None:
        """Kill the command before a write, and go on. Returns what is wrong, if anything is."""
        scenario, site = self._scenario, self._site
        self._restore()
        ended = self._fork(scenario.killed, WriteWatch(site.root, number))
        if ended.signal != signal.SIGKILL:
            if ended.status == CRASHED:
                return f"it ended by itself: {ended}"
        else:
            self.row.killed += 1
        lies = list(site.find_lies())
        if lies:
            return "; ".join(lies)
        site.bury()
        ended = self._fork(scenario.after)
        if ended.status == REFUSED and scenario.refusal and scenario.refusal in ended.output:
            assert scenario.otherwise is not None
            assert other is not None
            self.row.refused += 1
            ended, expected = self._fork(scenario.otherwise), other
        if ended.signal or ended.status:
            return str(ended)
        files = site.contents()
        differing = sorted(
            name for name in files.keys() | expected.keys() if files.get(name) != expected.get(name)
        )
        lies = list(site.find_lies())
        return "; ".join([*(f"{name} differs" for name in differing), *lies]) or None

    def _prepare(self) -> None:
        self._site.root.mkdir(parents=True)
        for step in self._scenario.before:
            watch = WriteWatch(self._site.root, kill_before=step.killed_before)
            ended = self._fork(step.action, watch if step.killed_before else None)
            if ended.signal != (signal.SIGKILL if step.killed_before else 0) or ended.status:
                raise RuntimeError(f"{self.row.name}: what comes before: {ended}")
        shutil.copytree(self._site.root, self._begin)

    def _see(self, action: Action) -> dict[str, str]:
        """What a command leaves that nobody disturbs; its certificates are checked."""
        ended = self._fork(action)
        if ended.signal or ended.status:
            raise RuntimeError(f"{self.row.name}: undisturbed: {ended}\n{ended.output}")
        ended = self._fork(check_all)
        if ended.signal or ended.status:
            raise RuntimeError(f"{self.row.name}: its certificates: {ended}\n{ended.output}")
        return self._site.contents()

    def _see_elsewhere(self) -> dict[str, str] | None:
        """What the other command leaves in an empty folder."""
        if self._scenario.otherwise is None:
            return None
        shutil.rmtree(self._site.root)
        self._site.root.mkdir()
        return self._see(self._scenario.otherwise)

    def _list_writes(self) -> list[str]:
        """All writes of the command that is killed."""
        self._restore()
        path = self._begin.with_name("writes")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        watch = WriteWatch(self._site.root, note=lambda text: write_to(descriptor, f"{text}\n"))
        self._fork(self._scenario.killed, watch)
        os.close(descriptor)
        return path.read_text(encoding="utf-8").splitlines()

    def _restore(self) -> None:
        shutil.rmtree(self._site.root)
        shutil.copytree(self._begin, self._site.root)

    def _fork(self, action: Action, watch: WriteWatch | None = None) -> Ended:
        """Give a command in a process of its own."""
        process = os.fork()
        if not process:
            self._serve(action, watch)
        _, status = os.waitpid(process, 0)
        code = os.waitstatus_to_exitcode(status)
        output = self._log.read_text(encoding="utf-8", errors="replace")
        return Ended(-code if code < 0 else 0, max(0, code), output)

    def _serve(self, action: Action, watch: WriteWatch | None) -> NoReturn:
        status = CRASHED
        try:
            signal.alarm(HANGS_S)
            log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            if watch is not None:
                watch.start()
            action(self._site)
            status = 0
        except SegueError as error:
            write_to(2, f"{error}\n")
            status = REFUSED
        except BaseException:
            write_to(2, traceback.format_exc())
        finally:
            os._exit(status)


def check_all(site: Site) -> None:
    """Ask every finished version that has its shards, as `segue audit` and `segue check`."""
    if site.way != FOLDER:
        site = Site(site.root, FOLDER)
    for facts in sorted(site.files.glob(f"data_manifests/*/*/{CORPUS_FILE}")):
        violations = audit(facts.parent).violations
        assert not violations, violations
        if not (facts.parent / "removed.json").is_file():
            verify(Corpus.open(facts.parent), draw(facts.parent, 2))
    lies = list(site.find_lies())
    assert not lies, lies


def describe(scenario: Scenario) -> str:
    """A scenario's name, as `--only` takes it."""
    return f"{scenario.name}/{scenario.way}"


def write_to(descriptor: int, text: str) -> None:
    data = text.encode()
    while data:
        data = data[os.write(descriptor, data) :]
