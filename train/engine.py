"""The training loop."""

from __future__ import annotations

import json
import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from synth.corpus import Corpus
from synth.errors import SpecError
from train.audio import FeatureCache, cache_features
from train.checkpoint import (
    State,
    load_checkpoint,
    remove_run,
    save_best,
    save_checkpoint,
    save_model,
)
from train.config import TrainConfig
from train.data import TRAIN, SplitData
from train.device import torch_device
from train.loader import Batch, Loader
from train.model import build_model
from train.objective import batch_loss
from train.progress import Meter, Progress, Silent
from train.run_folder import CHECKPOINT_FILE, LOG_FILE, Origin, save_settings
from train.schedule import one_cycle
from train.tokenizer import TextTokenizer
from train.validation import Validator


@dataclass(frozen=True, slots=True)
class TrainResult:
    """How a run ended.

    Args:
        folder: The run folder.
        step: Steps done, by this run and those it resumed.
        finished: False where it was interrupted; then `resume=True` goes on.
        loss: Loss of the last step done, in nats.
        best_step: Steps behind the weights that were kept.
        samples_per_s: Samples learnt from a second, by this run.
        data_wait: Share of the time spent waiting for data, 0 to 1.
    """

    folder: Path
    step: int
    finished: bool
    loss: float
    best_step: int
    samples_per_s: float
    data_wait: float


def train(
    config: TrainConfig,
    progress: Progress | None = None,
    *,
    resume: bool = False,
    overwrite: bool = False,
) -> TrainResult:
    """Train a model on the training split of a corpus.

    The weights kept are those with the lowest validation loss, or the last ones where fewer than
    two samples of split `val` are in play in the last stage. The test split is never touched.
    Ctrl-C ends the run after the current step with a checkpoint.

    Args:
        config: The run.
        progress: Is told how far it has come.
        resume: Go on from the checkpoint in `config.out`, if there is one.
        overwrite: Begin anew even if `config.out` holds a run.

    Raises:
        SpecError: If the settings do not fit the corpus, the machine or the checkpoint.
        CorpusError: If the corpus cannot be read.
    """
    if (config.out / CHECKPOINT_FILE).is_file() and not (resume or overwrite):
        raise SpecError(
            f"{config.out}: holds a run",
            mend="go on with --resume, begin anew with --overwrite, or choose another --out",
        )
    torch_device(config.device)
    # The caller's random state is left as it was.
    with torch.random.fork_rng(), _interruptible() as interrupted:
        torch.manual_seed(config.seed)
        return _train(config, progress or Silent(), resume, interrupted)


def _train(
    config: TrainConfig, progress: Progress, resume: bool, interrupted: threading.Event
) -> TrainResult:
    corpus = Corpus.open(config.corpus)
    data = SplitData(corpus, TRAIN, config.mode)
    name = config.model.text.name
    tokenizer = TextTokenizer.of_model(name) if name else TextTokenizer.of_texts(data.vocabulary())
    origin = Origin.of(corpus, tokenizer)
    state = _fresh(config, corpus.sample_rate, len(tokenizer))
    config.out.mkdir(parents=True, exist_ok=True)
    if not (resume and load_checkpoint(state, config, origin)):
        remove_run(config.out)
    save_settings(config.out, config, corpus.sample_rate, tokenizer)

    cache = None
    if state.step < config.steps:
        progress.phase("reading", len(data))
        tower = state.model.audio_tower
        cache = cache_features(data, tower, state.device, config.cache_mb, progress.advance)
    loader = Loader(data, tokenizer, config, cached=cache is not None)
    validator = Validator.of(corpus, tokenizer, config, state.model)

    progress.phase("training", config.steps, state.step)
    meter = Meter()
    with (config.out / LOG_FILE).open("a", encoding="utf-8") as log:
        # A checkpoint holds the state before validation, so a resumed run begins with it.
        _validate(state, validator, config, log)
        for batch in meter.waiting(loader.between(state.step, config.steps)):
            facts = _step(state, batch, cache, config)
            meter.samples += len(batch.audio.positions)
            last = state.step == config.steps
            if last or _due(state.step, config.log_every):
                _write(log, facts | meter.facts())
            progress.advance(state.step, f"loss {state.loss:.3f}  {meter}")
            if last or interrupted.is_set() or _due(state.step, config.checkpoint_every):
                save_checkpoint(state, config, origin)
            _validate(state, validator, config, log)
            if interrupted.is_set():
                break

    finished = state.step == config.steps
    if finished:
        save_model(state, config)
    best = state.best_step if validator else state.step
    return TrainResult(
        config.out, state.step, finished, state.loss, best, meter.samples_per_s, meter.data_wait
    )


def _fresh(config: TrainConfig, sample_rate: int, vocabulary: int) -> State:
    model = build_model(config.model, sample_rate, vocabulary).to(config.device)
    # Weight decay pulls towards zero, which is no neutral value for gains, biases and temperature.
    parameters = list(model.parameters())
    groups = [
        {
            "params": [one for one in parameters if one.dim() > 1],
            "weight_decay": config.weight_decay,
        },
        {"params": [one for one in parameters if one.dim() <= 1], "weight_decay": 0.0},
    ]
    return State(model, torch.optim.AdamW(groups, lr=config.lr))


def _step(
    state: State, batch: Batch, cache: FeatureCache | None, config: TrainConfig
) -> dict[str, float | int]:
    """Learn from one batch.

    Returns:
        What the log says of it.
    """
    rate = one_cycle(batch.step, config.steps, config.lr, config.warmup)
    for group in state.optimizer.param_groups:
        group["lr"] = rate
    state.model.train()
    loss = batch_loss(state.model, batch, cache, config.precision)
    state.optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    norm = torch.nn.utils.clip_grad_norm_(state.model.parameters(), config.grad_clip)
    state.loss = loss.item()
    if not math.isfinite(state.loss):
        raise SpecError(
            f"the loss is {state.loss} at step {batch.step}", mend="try a lower learning rate `lr`"
        )
    state.optimizer.step()
    state.step = batch.step + 1
    scale = state.model.scale().item()
    return {
        "step": state.step,
        "loss": state.loss,
        "lr": rate,
        "grad_norm": norm.item(),
        "scale": scale,
    }


def _validate(state: State, validator: Validator | None, config: TrainConfig, log: Any) -> None:
    """Validate where the step asks for it, and keep the best weights."""
    last = state.step == config.steps
    if validator is None or not state.step or not (last or _due(state.step, config.eval_every)):
        return
    loss = validator.loss(state.model)
    _write(log, {"step": state.step, "val_loss": loss})
    if loss < state.best_loss:
        state.best_loss, state.best_step = loss, state.step
        save_best(state, config)


def _write(log: Any, facts: dict[str, float | int]) -> None:
    log.write(json.dumps(facts) + "\n")
    log.flush()


def _due(step: int, every: int) -> bool:
    return every > 0 and step % every == 0


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets; a second Ctrl-C ends at once. Off the main thread, nothing."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = signal.getsignal(signal.SIGINT)

    def ask(number: int, frame: Any) -> None:
        event.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, ask)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)
