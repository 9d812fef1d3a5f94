"""The state of a run between two steps, and the checkpoint that holds it on disk."""

from __future__ import annotations

import math
import shutil
import sys
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from synth.base.atomic import write_bytes
from synth.base.errors import CorpusError, SpecError
from train.config.run import Precision, TrainConfig
from train.engine.log import LOG_FILE, TENSORBOARD, read_log
from train.engine.optimizer import build_optimizer, is_fused
from train.engine.ranks import RankProcess
from train.engine.run_folder import (
    BEST_FILE,
    CHECKPOINT_FILE,
    EARLIER_FILE,
    MODEL_FILE,
    RunData,
    check_same_run,
    load_tensors,
    load_weights,
    read_tensors,
    save_tensors,
)
from train.model.clap import Clap, build_model
from train.model.network import checkpoint_activations
from train.model.weights import RECEIPTS_FILE, is_damaged, read_receipts

_ANEW: Final = "start anew with --overwrite"


@dataclass
class State:
    """All that training changes; with the random states, all that a checkpoint holds.

    Args:
        average: Moving average of the model, None where none is kept.
        loss: Loss of the last of them when `settle` was called.
        best_loss: Lowest validation loss so far.
        best_step: Steps behind it.
        latest: Loss and norm of the gradient of the last step, on the device; None before any.
        fault: The first step that was not finite, and its loss, on the device; step -1 while there
            is none. From there on no step is applied.
    """

    model: Clap
    optimizer: torch.optim.Optimizer
    average: AveragedModel | None = None
    step: int = 0
    loss: float = math.nan
    best_loss: float = math.inf
    best_step: int = 0
    latest: Float[Tensor, 2] | None = None
    fault: Float[Tensor, 2] | None = None

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return self.model.scale.log.device

    @property
    def kept(self) -> Clap:
        """The model that is validated and kept: the average, where there is one."""
        return self.model if self.average is None else self.average.module  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class RandomState:
    """State of torch's random number generators."""

    cpu: Tensor
    device: Tensor | None

    @classmethod
    def of(cls, device: torch.device) -> RandomState:
        """The state of now."""
        state = None
        if device.type == "cuda":
            state = torch.cuda.get_rng_state(device)
        elif device.type == "mps":
            state = torch.mps.get_rng_state()
        return cls(torch.get_rng_state(), state)

    def restore(self, device: torch.device) -> None:
        """Make it the state of now."""
        torch.set_rng_state(self.cpu.cpu())
        if self.device is not None and device.type == "cuda":
            torch.cuda.set_rng_state(self.device.cpu(), device)
        elif self.device is not None and device.type == "mps":
            torch.mps.set_rng_state(self.device.cpu())


def create_state(
    config: TrainConfig, sample_rate: int, vocabulary: int, process: RankProcess
) -> State:
    """The state before the first step, its weights drawn from torch's generator."""
    model = build_model(config.model, sample_rate, vocabulary).to(process.device)
    if process.rank:
        # DDP replaces these weights by those of process 0; the dropout is this process's own.
        torch.manual_seed(config.seed + process.rank)
    average = None
    if config.ema:
        update = get_ema_multi_avg_fn(config.ema)  # type: ignore[no-untyped-call]
        average = AveragedModel(model, multi_avg_fn=update)
    if config.checkpoint_activations:
        checkpoint_activations(model)  # after the average, which never learns, was copied from it
    return State(model, build_optimizer(model, config, process.device), average)


def settle(state: State, config: TrainConfig) -> None:
    """Ask the device what has become of the steps since this was last asked, and wait for it.

    Called before anything is told or kept of a step: what follows a fault never gets that far.
    """
    if state.latest is None or state.fault is None:
        return
    (loss, _), (step, at_fault) = state.latest.tolist(), state.fault.tolist()
    if step < 0:
        state.loss = loss
        return
    what = f"loss is {at_fault}" if not math.isfinite(at_fault) else "gradient is not finite"
    raise SpecError(f"the {what} at step {step:.0f}; the step was not applied", fix=mend_of(config))


def save_checkpoint(
    state: State, config: TrainConfig, origin: RunData, process: RankProcess
) -> None:
    """Write a checkpoint atomically; it holds the state before the validation of its step.

    Called by every process; the leading one writes.
    """
    settle(state, config)
    if process.any(not is_finite(state)):
        raise SpecError(
            f"weights are not finite after step {state.step}; no checkpoint was written",
            fix=mend_of(config),
        )
    random = RandomState.of(state.device)
    states = process.gather(random.cpu)
    on_device = None if random.device is None else process.gather(random.device)
    if not process.is_leader:
        return
    save_tensors(
        config.out / CHECKPOINT_FILE,
        earlier=config.out / EARLIER_FILE,
        value={
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


def is_finite(state: State) -> bool:
    """Whether all weights, statistics of batch norms, averages and moments are finite numbers."""
    models = [state.model, state.kept]
    weights = (weight for model in models for weight in model.parameters())
    statistics = (
        value
        for model in models
        for name, value in model.named_buffers()
        if name.endswith(("running_mean", "running_var"))  # a mask may hold -inf by right
    )
    moments = (value for entry in state.optimizer.state.values() for value in entry.values())
    values = (value for value in chain(weights, statistics, moments) if isinstance(value, Tensor))
    return all(bool(value.isfinite().all()) for value in values)


def mend_of(config: TrainConfig) -> str:
    """What to do about numbers that are not finite."""
    mend = "try a lower learning rate `lr`"
    return mend if config.precision is Precision.FLOAT32 else f"{mend}, or `precision: float32`"


def load_checkpoint(
    state: State, config: TrainConfig, origin: RunData, process: RankProcess
) -> bool:
    """Take up the run's newest whole checkpoint: weights, optimizer and random state.

    Called by every process; the leading one tells of what is damaged. False where there is none.
    """
    path, notes = _choose_checkpoint(config.out)
    if path is None:
        return False
    saved = read_tensors(path, state.device)
    try:
        check_same_run(saved, config, origin, path)
        if len(saved["rng"]) != process.ranks:
            raise SpecError(
                f"{path}: was trained by {len(saved['rng'])} processes, not {process.ranks}",
                fix="resume with as many processes",
            )
        load_weights(state.model, saved, path)
        _take_up(state, config, saved, process.rank)
    except (KeyError, TypeError, ValueError, RuntimeError, AttributeError, IndexError) as error:
        raise CorpusError(f"{path}: its contents contradict each other", fix=_ANEW) from error
    if not is_finite(state):
        raise CorpusError(f"{path}: its numbers are not finite", fix=_ANEW)
    best = config.out / BEST_FILE
    if state.best_step and (not best.is_file() or is_damaged(best)):
        notes.append(f"{best}: missing or damaged; the best weights from here on are kept")
        state.best_loss, state.best_step = math.inf, 0
    process.wait()
    if process.is_leader:
        for note in notes:
            print(note, file=sys.stderr)
        if path.name == EARLIER_FILE:
            path.replace(config.out / CHECKPOINT_FILE)
        cut_log(config.out, state.step)
    return True


def _choose_checkpoint(folder: Path) -> tuple[Path | None, list[str]]:
    """The newest whole checkpoint of a run, and what a user should know about it."""
    paths = [folder / name for name in (CHECKPOINT_FILE, EARLIER_FILE) if (folder / name).is_file()]
    if not paths:
        return None, []
    if CHECKPOINT_FILE not in read_receipts(folder):
        unchecked = f"{paths[0]}: has no receipt, so that nobody knows whether it is whole"
        return paths[0], [unchecked]
    for path in paths:
        if not is_damaged(path, CHECKPOINT_FILE):
            lost = f"{folder / CHECKPOINT_FILE}: missing or damaged"
            is_last = path.name == CHECKPOINT_FILE
            return path, [] if is_last else [f"{lost}; resuming from the checkpoint before it"]
    raise CorpusError(
        f"{paths[0]}: damaged: it is not what its receipt says, and no whole checkpoint before it "
        "is left",
        fix=_ANEW,
    )


def _take_up(state: State, config: TrainConfig, saved: dict[str, Any], rank: int) -> None:
    """Put what a checkpoint holds beside the weights into the state; any error if it cannot be."""
    steps = saved["step"], saved["best_step"]
    if (
        any(type(step) is not int for step in steps)
        or not 0 <= steps[1] <= steps[0] <= config.steps
    ):
        raise ValueError(f"steps {steps}")
    for group in saved["optimizer"]["param_groups"]:  # it may have learnt on another device
        group["fused"] = is_fused(state.device)
    state.optimizer.load_state_dict(saved["optimizer"])
    if state.average is not None:
        state.average.load_state_dict(saved["average"])
    state.step, state.best_step = steps
    state.loss, state.best_loss = float(saved["loss"]), float(saved["best_loss"])
    on_device = saved["device_rng"]
    random = RandomState(saved["rng"][rank], None if on_device is None else on_device[rank])
    random.restore(state.device)


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
    (config.out / EARLIER_FILE).unlink(missing_ok=True)


def remove_run(folder: Path) -> None:
    """Delete what an earlier run left."""
    names = (CHECKPOINT_FILE, EARLIER_FILE, BEST_FILE, MODEL_FILE, LOG_FILE, RECEIPTS_FILE)
    for name in names:
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / TENSORBOARD, ignore_errors=True)


def cut_log(folder: Path, step: int) -> None:
    """Drop all after step `step`, which a resumed run does again, and any torn line."""
    if (folder / LOG_FILE).is_file():
        lines = [
            line
            for line, facts in read_log(folder)
            if facts["step"] < step or (facts["step"] == step and "val_loss" not in facts)
        ]
        write_bytes(folder / LOG_FILE, b"".join(lines))
