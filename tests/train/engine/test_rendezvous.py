"""Only processes that can find each other train together; others are refused, not left alone."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from torch import distributed

from synth.base.errors import SpecError
from tests.kit.tables import read_data
from train.config.run import TrainConfig
from train.engine.loop import train
from train.engine.ranks import join_processes

Settings = Callable[..., TrainConfig]
TORCHRUN = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
LAUNCHERS = ("SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "TORCHELASTIC_RUN_ID")


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*TORCHRUN, *LAUNCHERS):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("given", "told"), read_data("train/lonely_ranks.yaml"))
def test_processes_that_cannot_meet_are_refused_before_anything_is_written(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], told: str
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SpecError, match=told) as error:
        train(settings())
    assert "\n" not in error.value.message
    assert "torchrun" in error.value.fix
    assert "unset" in error.value.fix
    assert not settings().out.exists()


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"WORLD_SIZE": "1"},
        {"RANK": "0", "WORLD_SIZE": "1"},
        {"SLURM_STEP_NUM_TASKS": "1", "SLURM_NTASKS": "4", "SLURM_PROCID": "0"},
    ],
)
def test_who_is_alone_trains_alone(monkeypatch: pytest.MonkeyPatch, given: dict[str, str]) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with join_processes("cpu") as process:
        assert (process.rank, process.ranks) == (0, 1)
    assert not distributed.is_initialized()


def test_a_whole_rendezvous_is_joined_whoever_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launchers other than torchrun set the same variables; srun may start torchrun, too."""
    met: list[str] = []

    def meet(backend: str) -> None:
        met.append(f"{backend} {os.environ['RANK']} of {os.environ['WORLD_SIZE']}")

    monkeypatch.setattr(distributed, "init_process_group", meet)
    monkeypatch.setattr(distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(distributed, "destroy_process_group", lambda: None)
    values = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "MASTER_ADDR": "localhost"}
    for name, value in (values | {"MASTER_PORT": "1", "SLURM_STEP_NUM_TASKS": "2"}).items():
        monkeypatch.setenv(name, value)
    with join_processes("cpu") as process:
        assert (process.rank, process.ranks) == (1, 2)
    assert met == ["gloo 1 of 2"]
