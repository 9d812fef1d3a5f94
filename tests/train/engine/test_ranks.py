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
import torch
import yaml
from s3_store import free_port
from waiting import PATIENCE_S

from train.config.model import Group, HeadConfig
from train.config.run import TrainConfig
from train.engine.loop import train

Settings = Callable[..., TrainConfig]


@pytest.fixture
def config(settings: Settings, tmp_path: Path) -> TrainConfig:
    """A run without dropout, whose batch norms rest: nothing in it depends on who holds a row."""
    base = settings(out=tmp_path / "one").scale_steps(24)
    learning = (Group.TEXT_TOWER, Group.AUDIO_HEAD, Group.TEXT_HEAD, Group.TEMPERATURE)
    changes = {"head": HeadConfig(dropout=0.0), "trainable": learning}
    return base.model_copy(update={"model": base.model.model_copy(update=changes)})


def torchrun(config: TrainConfig) -> subprocess.Popen[str]:
    file = config.out.with_suffix(".yaml")
    file.write_text(yaml.safe_dump(config.model_dump(mode="json")))
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"),
            *("--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"),
            *("-m", "pipelines.cli", "train", str(config.corpus), "--config", str(file)),
            *("--out", str(config.out), "--json"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def finished(config: TrainConfig) -> str:
    """What a run prints. torchrun is given a second chance to bring the processes together."""
    for _ in range(2):
        process = torchrun(config)
        output, errors = process.communicate(timeout=PATIENCE_S)
        if process.returncode == 0 or config.out.exists():
            break
    assert process.returncode == 0, errors
    return output


def logged(folder: Path) -> dict[int, dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return {line["step"]: line for line in lines if "loss" in line}


def test_two_processes_learn_as_one_and_resume_to_equal_bits(
    config: TrainConfig, tmp_path: Path
) -> None:
    train(config)
    two = config.model_copy(update={"out": config.out.with_name("two")})
    told = [json.loads(line) for line in finished(two).splitlines()]
    ended = [each["progress"] for each in told[:-1] if each["done"] == each["total"]]
    assert len(ended) == len(set(ended))  # the first process alone speaks
    assert "progress" not in told[-1]
    alone, shared = logged(config.out), logged(two.out)
    assert alone.keys() == shared.keys()
    for step, facts in alone.items():
        for name in ("loss", "grad_norm", "scale", "lr"):
            assert shared[step][name] == pytest.approx(facts[name], rel=1e-4, abs=1e-5), (
                step,
                name,
            )

    broken = config.model_copy(update={"out": config.out.with_name("broken")})
    file = tmp_path / "broken.json"
    file.write_text(broken.model_dump_json())
    ports = [str(free_port()) for _ in range(2)]
    subprocess.run(
        [sys.executable, Path(__file__).with_name("forked_ranks.py"), file, *ports],
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    weights = [
        torch.load(run.out / "model.pt", weights_only=True)["model"] for run in (two, broken)
    ]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
