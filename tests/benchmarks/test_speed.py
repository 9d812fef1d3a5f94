"""The benchmark of speed measures what it says, and refuses turns that did other work."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.core import table
from benchmarks.core.contenders import Contender, TurnError, take_turn, take_turns
from benchmarks.core.turn import Done, Job, Stopwatch, Work, measure
from benchmarks.speed.__main__ import describe
from benchmarks.speed.aims import aims
from benchmarks.speed.stage import QUICK, BenchStage, few_labels, lay_out
from synth.sources.procedural.foley import CLASSES


def turn(case: str, contender: str, cpu_s: float, **changes: Any) -> dict[str, Any]:
    figures = {"samples": 10, "seconds": 0.0, "wall_s": 2 * cpu_s, "peak_mib": 100.0}
    return {"case": case, "contender": contender, "repeat": 0, "cpu_s": cpu_s} | figures | changes


def test_time_outside_the_watch_does_not_count() -> None:
    def prepare(job: Job) -> Work:
        def work(watch: Stopwatch) -> Done:
            for _ in range(2):
                with watch:
                    time.sleep(0.02)
                time.sleep(0.2)
            return Done(4, facts={"rate": float(job["rate"])})

        time.sleep(0.2)
        return work

    found = measure(prepare, {"rate": 8})
    assert found["samples"] == 4
    assert found["rate"] == 8.0
    assert found["wall_s"] >= 0.04
    assert found["cpu_s"] < found["wall_s"] + 0.05
    assert found["peak_mib"] > 1


def test_the_work_of_living_children_counts() -> None:
    loop = "import sys, time; sum(range(3_000_000)); print(flush=True); sys.stdin.read()"
    with Stopwatch() as watch:
        child = subprocess.Popen(
            [sys.executable, "-S", "-c", loop], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert child.stdout
        child.stdout.readline()
    child.communicate()
    assert watch.cpu_s >= 0.02


def test_a_turn_that_did_nothing_is_refused() -> None:
    with pytest.raises(RuntimeError, match="did nothing"):
        measure(lambda job: lambda watch: Done(0), {})


@pytest.fixture(scope="module", autouse=True)
def _few_takes() -> Iterator[None]:
    """Fewer sounds than the benchmark makes: to make them takes longer than the rest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmarks.speed.stage.TAKES", 2)
        yield


def test_made_sounds_stand_in_where_there_are_no_clips_and_are_told(tmp_path: Path) -> None:
    said = lay_out(tmp_path / "clips", tmp_path / "nowhere")
    assert "MADE" in said
    assert sorted(folder.name for folder in (tmp_path / "clips").iterdir()) == sorted(CLASSES)
    few_labels(tmp_path / "clips", tmp_path / "few", 2)
    assert [folder.name for folder in sorted((tmp_path / "few").iterdir())] == sorted(CLASSES)[:2]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> BenchStage:
    folder = tmp_path_factory.mktemp("speed")
    found = BenchStage(folder / "stage", folder / "nowhere", QUICK)
    found.prepare()
    return found


@pytest.mark.slow
def test_a_turn_is_checked_for_the_work_it_did(stage: BenchStage, tmp_path: Path) -> None:
    samples, seconds = stage.count("pair")
    job = {"corpus": str(stage.manifests("pair")), "work": "encode"}
    module = "benchmarks.speed.reading"
    contender = Contender("render pair", "encoder", module, job, samples, seconds)
    (figures,) = take_turns([contender], 1, tmp_path)
    assert figures["samples"] == samples
    assert figures["cpu_s"] > 0 < figures["wall_s"]
    more = Contender("render pair", "encoder", module, job, samples + 1, seconds)
    with pytest.raises(TurnError, match=f"{samples} samples, not {samples + 1}"):
        take_turn(more, tmp_path)


@pytest.mark.slow
def test_items_tell_peers_the_same_work(stage: BenchStage) -> None:
    for kind, events in (("pair", 2), ("triplet", 2), ("four events", 4)):
        items = json.loads(stage.items(kind).read_text(encoding="utf-8"))
        for item in items:
            assert len(item["events"]) == events
            ends = max(event["onset_s"] + event["seconds"] for event in item["events"])
            assert 0 < ends <= item["frames"] / item["rate"] + 1e-3  # silence is part of a sample
            assert all(Path(event["file"]).is_file() for event in item["events"])


def test_medians_ratios_and_aims() -> None:
    turns = [
        *(turn("render pair", "Segue", cpu) for cpu in (0.05, 0.09, 0.06)),
        *(turn("render pair", "FLAC encoder alone", cpu) for cpu in (0.04, 0.05, 0.06)),
        *(turn("render pair", "lhotse", cpu) for cpu in (0.2, 0.1, 0.12)),
    ]
    found = table.medians(turns)
    ours = found["render pair"]["Segue"]
    assert ours["cpu_ms"] == pytest.approx(6.0)
    assert ours["per_cpu_s"] == pytest.approx(1000 / 6)
    assert (ours["cpu_least_ms"], ours["cpu_most_ms"]) == pytest.approx((5.0, 9.0))
    assert found["render pair"]["lhotse"]["ratio"] == pytest.approx(2.0)
    held = {aim.aim: aim for aim in aims(found)}
    assert len(held) == 2
    floor = held["render pair: CPU over that of the encoder alone"]
    assert floor.reached == pytest.approx(1.2)
    assert floor.ok
    assert held["render pair: times as fast as lhotse"].ok
    report = {
        **{"machine": "a", "load": "b", "sounds": "c", "repeats": 3, "versions": {}, "peers": {}},
        **{"medians": found, "aims": [aim.to_json() for aim in held.values()]},
    }
    rows = [line for line in describe(report).splitlines() if line.startswith("| render pair")]
    assert len(rows) == 3 + 2
