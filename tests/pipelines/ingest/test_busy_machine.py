"""A busy machine changes nothing: a clip is judged by the processor time that it takes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.config.spec import Intake
from pipelines.engines.engine import engine
from pipelines.ingest.decoding import DecoderVerdict, DecoderWatch, measure_decoder_time
from pipelines.ingest.ingest import IngestedLibrary, ingest
from synth.base.errors import SegueError
from synth.base.progress import Silent
from synth.sources.catalogue import Acceptance
from tests.kit.hostile import RATE, Hostile, is_alive
from tests.kit.waiting import wait_for

LIMIT_S = 1.5


def take(source: Hostile, out: Path) -> IngestedLibrary:
    intake = Intake(source, RATE, Acceptance(decode_timeout_s=LIMIT_S, max_s=60))
    with engine(0) as where:
        return ingest(intake, out, where, Silent())


def test_a_clip_that_had_to_wait_is_kept(tmp_path: Path) -> None:
    """It waited for its disk, or its decoder for a processor: 185 of 185 were refused once."""
    library = take(Hostile(("waits", "fine", "pauses", "fine"), tmp_path), tmp_path / "banks")
    assert not library.quarantine
    assert len(library.clips) == 4


def test_a_decoder_that_is_ready_has_nothing_left_to_import(tmp_path: Path) -> None:
    take(Hostile(("imports", "imports"), tmp_path), tmp_path / "banks")
    first, second = (
        set((tmp_path / f"{number}-imports.modules").read_text().split()) for number in (0, 1)
    )
    assert second <= first, f"the first clip paid for {len(second - first)} modules"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to look for orphans")
def test_a_clip_over_the_limit_is_stopped_with_all_that_it_started(tmp_path: Path) -> None:
    source = Hostile(("fine", "burns", "fine", "delegates", "fine"), tmp_path)
    library = take(source, tmp_path / "banks")
    assert [clip["location"] for clip in library.clips] == ["0-fine", "2-fine", "4-fine"]
    assert {row["reason"] for row in library.quarantine} == {
        "takes more than 1.5 s of processor time to decode"
    }
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 4
    assert wait_for(lambda: not any(map(is_alive, pids)))
    assert not multiprocessing.active_children()


def test_a_stall_stops_the_run_and_is_no_property_of_the_clip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.ingest.decoder.STALL_S", 1.0)
    source = Hostile(("hangs", "fine"), tmp_path)
    with pytest.raises(SegueError, match=r"0-hangs: .* was idle for 1 s") as caught:
        take(source, tmp_path / "banks")
    assert "run the same command again" in caught.value.fix
    assert not multiprocessing.active_children()
    assert not list((tmp_path / "banks").rglob("part-*"))
    monkeypatch.undo()
    (tmp_path / "hurry").touch()
    assert len(take(source, tmp_path / "banks").clips) == 2


@pytest.mark.slow
def test_a_decoder_that_nobody_looks_at_ends_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.ingest.decoder.measure_decoder_time", lambda _: None)
    library = take(Hostile(("burns", "fine"), tmp_path), tmp_path / "banks")
    (refused,) = library.quarantine
    assert refused["reason"] == "takes more than 1.5 s of processor time to decode"


def test_work_is_judged_by_processor_time_or_by_looks_while_it_waits() -> None:
    watch = DecoderWatch(begun_s=10, limit_s=60, stall_s=300)
    assert {watch.judge(10 + work / 10) for work in range(600)} == {None}
    assert watch.judge(70.1) is DecoderVerdict.OVERTIME
    watch = DecoderWatch(begun_s=10, limit_s=60, stall_s=300)
    assert watch.judge(11) is None
    asleep = [watch.judge(11.0 + look / 10_000) for look in range(300)]  # it looks for its parent
    assert asleep == [None] * 299 + [DecoderVerdict.STALLED]
    starved = DecoderWatch(begun_s=10, limit_s=60, stall_s=300)
    assert {starved.judge(10 + look / 1000) for look in range(10_000)} == {None}
    watch = DecoderWatch(begun_s=10, limit_s=1, stall_s=3)
    assert [watch.judge(None) for _ in range(3)] == [None, None, DecoderVerdict.STALLED]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs process groups")
def test_the_time_of_what_a_decoder_starts_counts() -> None:
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
    process = subprocess.Popen([sys.executable, "-c", program], process_group=0)
    try:
        assert wait_for(lambda: (measure_decoder_time(process.pid) or 0) > 1)
        assert measure_decoder_time(os.getpid() + 10**7) is None
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
