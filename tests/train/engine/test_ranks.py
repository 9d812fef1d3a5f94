"""Two processes that share every batch learn what one learns from the whole of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kit.runs import equal, lines
from tests.kit.waiting import PATIENCE_S
from train.config.model import Group, HeadConfig
from train.config.run import TrainConfig
from train.engine.loop import train

pytestmark = pytest.mark.slow
Settings = Callable[..., TrainConfig]


@pytest.fixture
def config(settings: Settings, tmp_path: Path) -> TrainConfig:
    """A run without dropout, whose batch norms rest: nothing in it depends on who holds a row."""
    base = settings(out=tmp_path / "one").scale_steps(24)
    learning = (Group.TEXT_TOWER, Group.AUDIO_HEAD, Group.TEXT_HEAD, Group.TEMPERATURE)
    changes = {"head": HeadConfig(dropout=0.0), "trainable": learning, "frames": True}
    first, second = base.stages
    stages = (first, second.model_copy(update={"frames": 1.0}))
    return base.model_copy(
        update={"model": base.model.model_copy(update=changes), "stages": stages}
    )


def command(config: TrainConfig, *more: str) -> list[str]:
    """torchrun's, for two processes on this machine."""
    file = config.out.with_suffix(".yaml")
    file.write_text(yaml.safe_dump(config.model_dump(mode="json")))
    return [
        *("--nproc-per-node", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"),
        *("--no-python", "segue", "train", str(config.corpus), "--config", str(file)),
        *("--out", str(config.out), "--json", *more),
    ]


def torchrun(commands: list[tuple[list[str], str | None]], folder: Path) -> list[dict[str, Any]]:
    """What the runs print, one after another."""
    file = folder / "commands.json"
    file.write_text(json.dumps(commands))
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("forked_ranks.py"), file],
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_two_processes_learn_as_one(config: TrainConfig, tmp_path: Path) -> None:
    train(config)
    two, broken = (
        config.model_copy(update={"out": config.out.with_name(name)}) for name in ("two", "broken")
    )
    commands = [
        (command(two), None),
        (command(broken), str(broken.out / "log.jsonl")),
        (command(broken, "--resume"), None),
    ]
    printed = torchrun(commands, tmp_path)
    results = [place for place, line in enumerate(printed) if "progress" not in line]
    assert len(results) == 2  # the first process alone speaks; of those killed, none ended
    ended = [line["progress"] for line in printed[: results[0]] if line["done"] == line["total"]]
    assert len(ended) == len(set(ended))
    alone, shared = (
        {row["step"]: row for row in lines(run.out) if "loss" in row} for run in (config, two)
    )
    assert alone.keys() == shared.keys()
    for step, facts in alone.items():
        for name in ("loss", "grad_norm", "scale", "lr"):
            assert shared[step][name] == pytest.approx(facts[name], rel=1e-4, abs=1e-5), (
                step,
                name,
            )

    assert equal(two.out, broken.out)
