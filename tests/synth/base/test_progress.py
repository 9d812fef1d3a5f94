"""Progress as programs read it, and as logs keep it; what a stopped command has kept."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from pipelines.cli.common.bars import Bars, LeftOrTaken, Rate
from pipelines.cli.common.progress_display import (
    BEAT_S,
    LASTS_S,
    JsonLines,
    Lines,
    show_progress,
)
from pipelines.cli.common.tracker import Tracker
from synth.base.progress import UNOBSERVED, track
from tests.kit.cases import cases


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tracker(clock: Clock) -> Tracker:
    return JsonLines("audit", clock)


def told(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_quick_phase_is_one_line_at_its_end(
    tracker: Tracker, capsys: pytest.CaptureFixture[str]
) -> None:
    tracker.start("render", 12, "shards", done=3)
    for _ in range(9):
        tracker.advance("render")
    tracker.finish("render")
    assert told(capsys) == [
        {"progress": "render", "done": 12, "total": 12, "unit": "shards", "seconds": 0.0}
    ]


def test_a_long_phase_is_a_line_a_second(
    tracker: Tracker, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    tracker.start("audit", 100, "samples")
    for _ in range(100):
        clock.now += 0.25
        tracker.advance("audit")
    tracker.finish("audit")
    lines = told(capsys)
    assert [line["seconds"] for line in lines] == list(range(1, 26))
    assert [line["done"] for line in lines] == list(range(4, 101, 4))
    # Phases have their own seconds.
    tracker.start("ingest", 10, "clips")
    clock.now += 0.9
    tracker.start("plan", 10, "groups")
    clock.now += 0.2
    tracker.advance("ingest")
    tracker.advance("plan")
    assert [line["progress"] for line in told(capsys)] == ["ingest"]


def test_what_is_broken_off_ends_where_it_was(
    tracker: Tracker, capsys: pytest.CaptureFixture[str]
) -> None:
    tracker.start("ingest", 10, "clips")
    tracker.finish("ingest")
    tracker.start("render", 12, "shards", done=3)
    tracker.advance("render", 2)
    tracker.close()
    tracker.close()
    assert [(line["progress"], line["done"]) for line in told(capsys)] == [
        ("ingest", 10),
        ("render", 5),
    ]


def test_lines_of_several_threads_stay_whole(
    tracker: Tracker, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    def advance(_: int) -> None:
        clock.now += 1.0
        tracker.advance("render")

    tracker.start("render", 500, "shards")
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(advance, range(500)))
    tracker.finish("render")
    assert told(capsys)[-1]["done"] == 500


@cases(
    ("phases", "note"),
    [
        ([("ingest", 20, 20), ("render", 12, 5)], "5 of 12 shards are done"),
        ([("ingest", 20, 7), ("audit", 90, None)], "7 of 20 clips are done; audit was under way"),
        ([("audit", 90, None)], None),
        ([], None),
    ],
)
def test_an_interrupt_bears_what_will_not_be_done_again(
    phases: list[tuple[str, int, int | None]], note: str | None
) -> None:
    units = {"ingest": "clips", "render": "shards", "audit": "samples"}

    def interrupted() -> None:
        with show_progress(as_json=True) as observer:
            for name, total, done in phases:
                observer.start(name, total, units[name], done)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        interrupted()
    assert getattr(caught.value, "__notes__", [None]) == [note]


def test_plain_lines_come_soon_then_in_intervals_and_at_the_end_of_what_is_long(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Lines("train", clock)

    def wait(seconds: float) -> list[str]:
        """The lines of so many seconds; a beat comes with each eighth of one."""
        for _ in range(round(8 * seconds)):
            clock.now += 1 / 8
            lines.beat()
        return capsys.readouterr().err.splitlines()

    assert wait(0) == []
    assert wait(1 / 8) == ["train: under way"]
    lines.start("features", 2, "samples")
    assert wait(LASTS_S / 2) == []
    lines.finish("features")
    assert wait(2 * BEAT_S) == ["train: under way, 15 s", "train: under way, 30 s"]
    lines.start("train", 1400, "steps", done=100)
    assert wait(1) == ["train: 100 of 1,400 steps"]
    lines.advance("train", 20, "loss 2.1")
    assert wait(BEAT_S) == ["train: 120 of 1,400 steps, 16 s, loss 2.1"]
    lines.start("mend", 1, "files")
    lines.finish("mend", "made again: a\x1b.csv")
    lines.finish("train")
    assert wait(1) == [
        "mend: made again: a\\x1b.csv",
        "train: 1,400 of 1,400 steps, 16 s",
    ]


def test_a_program_is_told_of_what_does_not_move(
    tracker: Tracker, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    for phase in ("audit", "bank"):
        for _ in range(2):
            clock.now += BEAT_S
            tracker.beat()
            tracker.beat()
        assert [line["progress"] for line in told(capsys)] == [phase, phase]
        tracker.start("bank", 10, "banks")


def test_the_beat_ends_with_the_block(capfd: pytest.CaptureFixture[str]) -> None:
    threads = threading.active_count()
    with suppress(KeyboardInterrupt), show_progress(as_json=False) as observer:
        assert threading.active_count() == threads + 1
        for _ in track(range(5), observer, "audit", "samples"):
            pass
        raise KeyboardInterrupt
    assert threading.active_count() == threads
    assert capfd.readouterr().out == ""
    assert list(track(("a", "b"), Tracker(), "text", "captions")) == ["a", "b"]
    assert list(track((), UNOBSERVED, "text", "captions")) == []


def test_bars_show_count_rate_and_note() -> None:
    file = io.StringIO()
    columns = (TextColumn("{task.completed} of {task.total} {task.fields[unit]}"), Rate())
    with Progress(*columns, console=Console(file=file, width=80), get_time=Clock()) as progress:
        tracker = Bars(progress)
        tracker.start("render", 12, "shards", done=3)
        tracker.advance("render", 2, "well")
        assert [(task.completed, task.fields["note"]) for task in progress.tasks] == [(5, "well")]
        tracker.start("none", 0, "files")
        tracker.finish("none")
        tracker.close()
    assert "5 of 12 shards" in file.getvalue()


def test_time_left_becomes_time_taken(clock: Clock) -> None:
    progress = Progress(LeftOrTaken(), console=Console(quiet=True), get_time=clock)
    task = progress.add_task("plan", total=4)

    def shown() -> str:
        return LeftOrTaken().render(progress.tasks[0]).plain

    assert shown() == "--:-- left"
    for _ in range(2):
        clock.now += 30
        progress.advance(task)
    assert shown() == "01:00 left"
    progress.advance(task, 2)
    assert shown() == "01:00 taken"


# A sign of life: on a terminal, and nowhere else

WAIT = (
    "from synth.base.progress import show_waiting\nwith show_waiting('loading'): pass\n"
    "print('done')"
)


def test_it_is_shown_on_a_terminal_alone_and_leaves_other_output_alone() -> None:
    leader, terminal = pty.openpty()
    command = [sys.executable, "-c", WAIT]
    shown = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, check=True)
    os.close(terminal)
    assert shown.stdout == b"done\n"
    assert b"loading" in os.read(leader, 4096)
    os.close(leader)
    plain = subprocess.run(command, capture_output=True, check=True)
    assert (plain.stdout, plain.stderr) == (b"done\n", b"")
