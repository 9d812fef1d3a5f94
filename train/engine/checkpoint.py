"""The state of a run between two steps, and how it is kept on disk."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch.optim.swa_utils import AveragedModel

from synth.base.atomic import write_text
from synth.base.errors import SpecError
from train.config.run import TrainConfig
from train.engine.log import LOG_FILE, TENSORBOARD
from train.engine.random_state import RandomState
from train.engine.ranks import Process
from train.model.clap import Clap
from train.run_folder import (
    BEST_FILE,
    CHECKPOINT_FILE,
    MODEL_FILE,
    Origin,
    load_tensors,
    load_weights,
    same_run,
    save_tensors,
)


@dataclass
class State:
    """All that training changes; with the random states, all that a checkpoint holds.

    Args:
        model: The model.
        optimizer: Over its learning parameters.
        average: Moving average of the model, None where none is kept.
        step: Steps done.
        loss: Loss of the last of them.
        best_loss: Lowest validation loss so far.
        best_step: Steps behind it.
    """

    model: Clap
    optimizer: torch.optim.Optimizer
    average: AveragedModel | None = None
    step: int = 0
    loss: float = math.nan
    best_loss: float = math.inf
    best_step: int = 0

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return self.model.scale.log.device

    @property
    def kept(self) -> Clap:
        """The model that is validated and kept: the average, where there is one."""
        return self.model if self.average is None else self.average.module  # type: ignore[return-value]


def save_checkpoint(state: State, config: TrainConfig, origin: Origin, process: Process) -> None:
    """Write a checkpoint atomically; it holds the state before the validation of its step.

    Called by every process; the leading one writes.
    """
    random = RandomState.of(state.device)
    states = process.everyones(random.cpu)
    on_device = None if random.device is None else process.everyones(random.device)
    if not process.leads:
        return
    save_tensors(
        config.out / CHECKPOINT_FILE,
        {
            "model": state.model.state_dict(),
            "optimizer": state.optimizer.state_dict(),
            "average": None if state.average is None else state.average.state_dict(),
            "rng": states,
            "device_rng": on_device,
            "step": state.step,
            "loss": state.loss,
            "best_loss": state.best_loss,
            "best_step": state.best_step,
            "config": config.model_dump_json(),
            "origin": asdict(origin),
        },
    )


def load_checkpoint(state: State, config: TrainConfig, origin: Origin, process: Process) -> bool:
    """Take up the run's checkpoint, weights, optimizer and random state, if there is one.

    Raises:
        SpecError: If it was made with other settings, on another corpus, or by another number of
            processes.
        CorpusError: If it is damaged, or its weights are of another model.
    """
    path = config.out / CHECKPOINT_FILE
    if not path.is_file():
        return False
    saved = load_tensors(path, state.device)
    same_run(saved, config, origin, path)
    if len(saved["rng"]) != process.ranks:
        raise SpecError(
            f"{path}: was trained by {len(saved['rng'])} processes, not {process.ranks}",
            mend="resume with as many as the run was started with",
        )
    load_weights(state.model, saved, path)
    state.optimizer.load_state_dict(saved["optimizer"])
    if state.average is not None:
        state.average.load_state_dict(saved["average"])
    state.step, state.loss = saved["step"], saved["loss"]
    state.best_loss, state.best_step = saved["best_loss"], saved["best_step"]
    on_device = saved["device_rng"]
    RandomState(
        saved["rng"][process.rank], None if on_device is None else on_device[process.rank]
    ).restore(state.device)
    if process.leads:
        cut_log(config.out / LOG_FILE, state.step)
    return True


def save_best(state: State, config: TrainConfig) -> None:
    """Keep the weights of now as the best so far."""
    save_tensors(config.out / BEST_FILE, {"model": state.kept.state_dict()})


def save_model(state: State, config: TrainConfig) -> None:
    """Write the weights to keep: the best on validation, or the last."""
    best = config.out / BEST_FILE
    if best.is_file():
        weights: dict[str, Any] = load_tensors(best, torch.device("cpu"))["model"]
    else:
        weights = {name: value.cpu() for name, value in state.kept.state_dict().items()}
    save_tensors(config.out / MODEL_FILE, {"model": weights})


def remove_run(folder: Path) -> None:
    """Delete what an earlier run left."""
    for name in (CHECKPOINT_FILE, BEST_FILE, MODEL_FILE, LOG_FILE):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / TENSORBOARD, ignore_errors=True)


def cut_log(log: Path, step: int) -> None:
    """Drop what is done again, the steps behind `step` and its validation, and any torn line."""
    if log.is_file():
        lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
        whole = (line for line in lines if line.endswith("\n"))
        write_text(log, "".join(line for line in whole if _stays(json.loads(line), step)))


def _stays(facts: dict[str, Any], step: int) -> bool:
    return bool(facts["step"] < step or (facts["step"] == step and "val_loss" not in facts))
