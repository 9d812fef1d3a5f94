"""One step of learning."""

from __future__ import annotations

import math

import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from synth.base.errors import SpecError
from train.config.run import TrainConfig
from train.data.audio import FeatureCache
from train.data.loader import Batch
from train.engine.checkpoint import State
from train.engine.forward import Encoder, Inputs
from train.engine.log import Facts
from train.engine.objective import Objective
from train.engine.ranks import Process
from train.model.clap import build_model
from train.schedule import learning_rate


def fresh_state(config: TrainConfig, sample_rate: int, vocabulary: int, process: Process) -> State:
    """The state before the first step, from the current random state.

    Raises:
        SpecError: If a model cannot be loaded, or has no such part to train.
    """
    model = build_model(config.model, sample_rate, vocabulary).to(process.device)
    if process.rank:
        # The others' weights are the leader's; their dropout is their own.
        torch.manual_seed(config.seed + process.rank)
    # Weight decay pulls towards zero, which is no neutral value for gains, biases and temperature.
    parameters = [one for one in model.parameters() if one.requires_grad]
    groups = [
        {
            "params": [one for one in parameters if one.dim() > 1],
            "weight_decay": config.weight_decay,
        },
        {"params": [one for one in parameters if one.dim() <= 1], "weight_decay": 0.0},
    ]
    average = None
    if config.ema:
        decayed = get_ema_multi_avg_fn(config.ema)  # type: ignore[no-untyped-call]
        average = AveragedModel(model, multi_avg_fn=decayed)
    return State(model, torch.optim.AdamW(groups, lr=config.lr), average)


class Learner:
    """Learns from batches.

    Args:
        config: The run.
        state: What it changes.
        process: This one.
        cache: Features of the split, where they are kept.
    """

    def __init__(
        self, config: TrainConfig, state: State, process: Process, cache: FeatureCache | None
    ) -> None:
        self._config = config
        self._state = state
        self._process = process
        self._cache = cache
        self._objective = Objective(config, process.world)
        encoder = Encoder(state.model, config.precision)
        if config.compile:
            encoder.compile(backend=config.compile)
        self._encoder = process.wrapped(encoder)

    def learn(self, batch: Batch) -> Facts:
        """Learn from one batch.

        Returns:
            What the log says of it.

        Raises:
            SpecError: If the loss is no longer finite.
        """
        config, state = self._config, self._state
        rate = learning_rate(batch.step, config.steps, config.lr, config.warmup, config.schedule)
        for group in state.optimizer.param_groups:
            group["lr"] = rate
        state.model.train()
        state.optimizer.zero_grad()
        inputs = Inputs.of(batch, state.model, self._cache)
        loss = self._objective.backward(self._encoder, inputs, batch)
        norm = torch.nn.utils.clip_grad_norm_(state.model.parameters(), config.grad_clip)
        state.loss = self._process.mean(loss)
        if not math.isfinite(state.loss):
            raise SpecError(
                f"the loss is {state.loss} at step {batch.step}",
                mend="try a lower learning rate `lr`",
            )
        state.optimizer.step()
        state.model.scale.limit()
        if state.average is not None:
            state.average.update_parameters(state.model)
        state.step = batch.step + 1
        facts: Facts = {
            "step": state.step,
            "loss": state.loss,
            "lr": rate,
            "grad_norm": norm.item(),
            "scale": state.model.scale().item(),
        }
        return facts | ({"uncropped": batch.whole} if config.crop_s is not None else {})
