"""The training loop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from synth.corpus import Corpus
from synth.errors import SpecError
from train.config.run import TrainConfig
from train.data.audio import feature_cache
from train.data.loader import Assembler, Loader
from train.data.split import TRAIN, SplitData
from train.data.texts import added_words
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
from train.run_folder import Origin, refuse_occupied, save_settings


@dataclass(frozen=True, slots=True)
class TrainResult:
    """How a run ended.

    Args:
        folder: The run folder.
        step: Steps done, by this run and those it resumed.
        finished: False where it was interrupted; then `resume=True` goes on.
        loss: Loss of the last step done, in nats.
        best_step: Steps behind the weights that were kept.
        best_loss: Their validation loss in nats, None where nothing was validated.
        samples_per_s: Samples learnt from a second, by this run.
        data_wait: Share of the time spent waiting for data, 0 to 1.
    """

    folder: Path
    step: int
    finished: bool
    loss: float
    best_step: int
    best_loss: float | None
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
    Ctrl-C (or SIGTERM) ends the run after the current step with a checkpoint. Started by torchrun,
    several processes share every batch, and the first of them writes.

    Args:
        config: The run.
        progress: Is told how far it has come.
        resume: Go on from the checkpoint in `config.out`, if there is one.
        overwrite: Begin anew even if `config.out` holds a run.

    Raises:
        SpecError: If the settings do not fit the corpus, the machine or the checkpoint.
        CorpusError: If the corpus cannot be read.
    """
    refuse_occupied(config, resume, overwrite)
    # The caller's random state is left as it was, but for that of GPUs.
    with (
        torch.random.fork_rng(devices=[]),
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
    if name:
        tokenizer = TextTokenizer.of_model(name)
    else:
        tokenizer = TextTokenizer.of_texts(data.vocabulary() | added_words(config.text, data.tags))
    origin = Origin.of(corpus, tokenizer)
    state = fresh_state(config, corpus.sample_rate, len(tokenizer), process)
    assembler = Assembler.of(data, tokenizer, config, cached=False)
    for stage in config.stages:
        assembler.check(stage, data.pool(stage).tolist(), state.model.audio_tower.longest)
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
    loader = Loader(replace(assembler, cached=cache is not None), config, process.share)
    validator = Validator.of(corpus, tokenizer, config, state.model)
    if config.patience and validator is None:
        raise SpecError(
            "`patience` needs validation, and too few samples of split val are in play",
            mend="leave it out, or build the corpus with a split `val`",
        )
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
    return TrainResult(
        folder=config.out,
        step=state.step,
        finished=finished,
        loss=state.loss,
        best_step=state.best_step if validator else state.step,
        best_loss=state.best_loss if state.best_step else None,
        samples_per_s=meter.samples_per_s,
        data_wait=meter.data_wait,
    )


def _validate(
    state: State, validator: Validator | None, config: TrainConfig, log: RunLog, process: Process
) -> None:
    """Validate where the step asks for it, and keep the best weights."""
    last = state.step == config.steps
    if validator is None or not state.step or not (last or _due(state.step, config.eval_every)):
        return
    # What batch norms remember differs between processes: the first one's weights are kept.
    loss = process.told(validator.loss(state.kept) if process.leads else 0.0)
    log.write({"step": state.step, "val_loss": loss})
    if loss < state.best_loss:
        state.best_loss, state.best_step = loss, state.step
        if process.leads:
            save_best(state, config)


def _is_stale(state: State, config: TrainConfig) -> bool:
    """Whether too many validations in a row of the last stage have brought nothing better."""
    wait = config.patience * config.eval_every
    since = max(state.best_step, config.steps - config.stages[-1].steps)
    return bool(wait and state.best_step and state.step - since >= wait)


def _due(step: int, every: int) -> bool:
    return every > 0 and step % every == 0


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """An event that Ctrl-C or a request to end sets; a second one ends at once.

    Off the main thread, nothing.
    """
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def ask(number: int, frame: Any) -> None:
        event.set()
        restore()

    for number in before:
        signal.signal(number, ask)
    try:
        yield event
    finally:
        restore()
