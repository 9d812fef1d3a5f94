"""The training loop."""

from __future__ import annotations

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
from train.config.run import TrainConfig
from train.data.audio import feature_cache
from train.data.loader import Assembler, Loader
from train.data.split import TRAIN, SplitData
from train.data.tokenizer import TextTokenizer
from train.engine.checkpoint import (
    State,
    load_checkpoint,
    remove_run,
    save_best,
    save_checkpoint,
    save_model,
)
from train.engine.learner import Learner, fresh_state
from train.engine.log import RunLog, open_log
from train.engine.progress import Meter, Progress, Silent
from train.engine.ranks import Process, processes
from train.engine.validation import Validator
from train.run_folder import CHECKPOINT_FILE, Origin, save_settings


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
    Ctrl-C ends the run after the current step with a checkpoint. Started by torchrun, several
    processes share every batch, and the first of them writes.

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
    # The caller's random state is left as it was.
    with (
        torch.random.fork_rng(),
        _interruptible() as interrupted,
        processes(config.device) as process,
    ):
        torch.manual_seed(config.seed)
        shown = progress if progress is not None and process.leads else Silent()
        return _train(config, shown, resume, interrupted, process)


def _train(
    config: TrainConfig,
    progress: Progress,
    resume: bool,
    interrupted: threading.Event,
    process: Process,
) -> TrainResult:
    corpus = Corpus.open(config.corpus)
    data = SplitData(corpus, TRAIN, config.mode)
    name = config.model.text.name
    tokenizer = TextTokenizer.of_model(name) if name else TextTokenizer.of_texts(data.vocabulary())
    origin = Origin.of(corpus, tokenizer)
    state = fresh_state(config, corpus.sample_rate, len(tokenizer), process)
    config.out.mkdir(parents=True, exist_ok=True)
    if not (resume and load_checkpoint(state, config, origin, process)) and process.leads:
        remove_run(config.out)
    if process.leads:
        save_settings(config.out, config, corpus.sample_rate, tokenizer)

    cache = None
    if state.step < config.steps:
        progress.phase("reading", len(data))
        tower = state.model.audio_tower
        cache = feature_cache(data, config, tower, state.device, progress.advance)
    assembler = Assembler.of(data, tokenizer, config, cached=cache is not None)
    loader = Loader(assembler, config, process.share)
    validator = Validator.of(corpus, tokenizer, config, state.model)
    learner = Learner(config, state, process, cache)
    process.wait()

    progress.phase("training", config.steps, state.step)
    meter = Meter()
    with open_log(config, process.leads) as log:
        # A checkpoint holds the state before validation, so a resumed run begins with it.
        _validate(state, validator, config, log, process)
        steps = 0 if _is_stale(state, config) else config.steps
        for batch in meter.waiting(loader.between(state.step, max(steps, state.step))):
            facts = learner.learn(batch)
            meter.samples += len(batch.audio.positions) * process.ranks
            last = state.step == config.steps
            if last or _due(state.step, config.log_every):
                log.write(facts | meter.facts())
            progress.advance(state.step, f"loss {state.loss:.3f}  {meter}")
            stopped = process.any(interrupted.is_set())
            if last or stopped or _due(state.step, config.checkpoint_every):
                save_checkpoint(state, config, origin, process)
            _validate(state, validator, config, log, process)
            if stopped:
                break
            if _is_stale(state, config):
                save_checkpoint(state, config, origin, process)
                break

    finished = state.step == config.steps or _is_stale(state, config)
    if finished and process.leads:
        save_model(state, config)
    process.wait()
    best = state.best_step if validator else state.step
    return TrainResult(
        config.out, state.step, finished, state.loss, best, meter.samples_per_s, meter.data_wait
    )


def _validate(
    state: State, validator: Validator | None, config: TrainConfig, log: RunLog, process: Process
) -> None:
    """Validate where the step asks for it, and keep the best weights."""
    last = state.step == config.steps
    if validator is None or not state.step or not (last or _due(state.step, config.eval_every)):
        return
    # Every process measures the same; one number for all, so that all decide alike.
    loss = process.mean(validator.loss(state.kept))
    log.write({"step": state.step, "val_loss": loss})
    if loss < state.best_loss:
        state.best_loss, state.best_step = loss, state.step
        if process.leads:
            save_best(state, config)


def _is_stale(state: State, config: TrainConfig) -> bool:
    """Whether too many validations in a row have brought nothing better."""
    wait = config.patience * config.eval_every
    return bool(wait and state.best_step and state.step - state.best_step >= wait)


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
