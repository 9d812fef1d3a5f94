"""A training run from its first check to its last step: `train`."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import torch

from synth.base.atomic import GOES_ON
from synth.base.errors import DiskFullError, SpecError
from synth.base.progress import UNOBSERVED, Observer
from train.config.run import TrainConfig
from train.data.audio import feature_cache
from train.data.blended import join_splits, open_splits
from train.data.frames import frame_words
from train.data.loader import Assembler, Loader, share_processors
from train.data.recordings import Recordings
from train.data.split import SplitData
from train.data.texts import added_words
from train.data.tokenizer import CutTexts, TextTokenizer
from train.engine.checkpoint import (
    State,
    create_state,
    load_checkpoint,
    remove_run,
    save_best,
    save_checkpoint,
    save_model,
    settle,
)
from train.engine.log import PHASE, Meter, Sink, open_log
from train.engine.ranks import RankProcess, join_processes
from train.engine.run_folder import RunData, refuse_occupied, save_settings, sole_trainer
from train.engine.step import build_encoder, train_step
from train.engine.validation import Validator
from train.model.device import matmul_precision


@dataclass(frozen=True, slots=True)
class TrainResult:
    """How a run ended.

    Args:
        step: Steps done, by this run and those it resumed.
        finished: False where it was interrupted; then `resume=True` goes on.
        loss: Loss of the last step done, in nats.
        best_step: Steps behind the weights that were kept.
        best_loss: Their validation loss in nats, None where nothing was validated.
        data_wait: Share of the time spent waiting for data, 0 to 1.
        warning: What held the run up at its end, and what helps; may be empty.
    """

    folder: Path
    step: int
    finished: bool
    loss: float
    best_step: int
    best_loss: float | None
    samples_per_s: float
    data_wait: float
    warning: str = ""
    cut: CutTexts = field(default_factory=CutTexts)

    def _repr_html_(self) -> str:
        kept = f"of step {self.best_step:,}"
        facts = {
            "model": str(self.folder),
            "steps": f"{self.step:,}" + ("" if self.finished else ", stopped: resume=True goes on"),
            "loss": f"{self.loss:.3f}",
            "weights": kept if self.best_loss is None else f"{kept}, val_loss {self.best_loss:.3f}",
            "speed": f"{self.samples_per_s:.0f} samples/s, data wait {self.data_wait:.0%}",
            "held up": self.warning,
            "texts": str(self.cut) if self.cut.cut else "",
        }
        rows = (
            f"<tr><th>{name}</th><td>{escape(fact)}</td></tr>"
            for name, fact in facts.items()
            if fact
        )
        return f"<table>{''.join(rows)}</table>"


def train(
    config: TrainConfig,
    observer: Observer = UNOBSERVED,
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
        resume: Go on from the checkpoint in `config.out`, if there is one.
        overwrite: Begin anew even if `config.out` holds a run.
    """
    refuse_occupied(config, resume, overwrite)
    on_cuda = config.device.startswith("cuda")
    # The caller's random state is left as it was, but for that of GPUs.
    with (
        _tell_how_to_resume(),
        torch.random.fork_rng(devices=[]),
        _catch_interrupts() as interrupted,
        join_processes(config.device) as process,
        share_processors(config.workers),
        matmul_precision("high") if config.tf32 and on_cuda else nullcontext(),
        ExitStack() as held,
    ):
        torch.manual_seed(config.seed)
        shown = observer if process.is_leader else UNOBSERVED
        return _train(config, process, shown, interrupted, held, resume, overwrite)


@contextmanager
def _tell_how_to_resume() -> Iterator[None]:
    try:
        yield
    except DiskFullError as error:
        fix = error.fix.replace(GOES_ON, "run the same command again with --resume")
        raise DiskFullError(error.message, fix=fix) from error


def _train(
    config: TrainConfig,
    process: RankProcess,
    observer: Observer,
    interrupted: threading.Event,
    held: ExitStack,
    resume: bool,
    overwrite: bool,
) -> TrainResult:
    # Everything is checked before anything is written: the corpus must hold what every stage needs.
    splits = open_splits(config)
    corpus, data = splits[0].corpus, join_splits(splits)
    tokenizer = _build_tokenizer(config, data)
    origin = RunData.of([split.corpus for split in splits], tokenizer)
    cut = data.count_cut(tokenizer) if process.is_leader else CutTexts()
    if cut.cut:
        print(f"note: {cut}; their ends are not learnt", file=sys.stderr)
    state = create_state(config, corpus.sample_rate, len(tokenizer), process)
    tower = state.model.audio_tower
    assembler = Assembler.of(data, tokenizer, config, cached=False, tower=tower)
    for stage in config.stages:
        assembler.check(stage, np.concatenate([data.pool(stage), *data.mixed]), tower.longest)
    loader = Loader(assembler, config, process.rank, process.ranks)
    validator = Validator.of(corpus, tokenizer, config, state.model)
    if config.patience and validator is None:
        raise SpecError(
            "`patience` needs validation, and too few samples of split val are in play",
            fix="drop it, or build the corpus with a split `val`",
        )

    # The run folder: go on from its checkpoint, or clear it. No other process may write it.
    if process.is_leader:
        held.enter_context(sole_trainer(config.out))
        refuse_occupied(config, resume, overwrite)  # by a run that has ended meanwhile
    resumed = resume and load_checkpoint(state, config, origin, process)
    if process.is_leader:
        if not resumed:
            remove_run(config.out)
        save_settings(config.out, config, corpus.sample_rate, tokenizer)
        Recordings.of(*splits).save(config.out)

    cache = None
    if state.step < config.steps:
        cache = feature_cache(data, config, tower, state.device, observer)
    loader.assembler = replace(assembler, cached=cache is not None)
    encoder = build_encoder(state.model, config, process)
    process.wait()

    observer.start(PHASE, config.steps, "steps", done=state.step)
    alone = state.device.type == "cpu" and process.ranks == 1
    meter = Meter(ran=time.thread_time if alone else None)
    with open_log(config, process.is_leader) as log:
        # A checkpoint holds the state before the validation of its step: a resumed run repeats it.
        _validate(validator, state, config, process, log)
        stop = state.step if _is_finished(state, config) else config.steps
        for batch in meter.time_waits(loader.iterate(state.step, stop)):
            with meter.learn(len(batch.audio.positions) * process.ranks):
                figures = train_step(batch, config, state, encoder, process, cache)
            if _is_due(config.log_every, state, config):
                settle(state, config)
                log(figures.read() | meter.facts())
            # That of the last line of the log; there is none before the first.
            loss = "" if math.isnan(state.loss) else f"loss {state.loss:.3f}  "
            observer.advance(PHASE, note=f"{loss}{meter}")
            # All processes stop at the same step, or those left would wait for the others.
            stopped = process.any(interrupted.is_set())
            if stopped or _is_due(config.checkpoint_every, state, config):
                save_checkpoint(state, config, origin, process)
            _validate(validator, state, config, process, log)
            if stopped:
                break
            if _is_stale(state, config):
                save_checkpoint(state, config, origin, process)
                break
    if state.step == config.steps:
        observer.finish(PHASE)
    settle(state, config)
    finished = _is_finished(state, config)
    if finished and process.is_leader:
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
        warning=meter.warning,
        cut=cut,
    )


def _build_tokenizer(config: TrainConfig, data: SplitData) -> TextTokenizer:
    """The text tower's own tokenizer, or one of the words of the corpus."""
    name = config.model.text.name
    if name:
        return TextTokenizer.of_model(name)
    words = data.vocabulary() | added_words(config.text, data.tags)
    if any(stage.frames for stage in config.stages):
        words |= frame_words(data.find_labels())
    return TextTokenizer.of_texts(words)


def _validate(
    validator: Validator | None,
    state: State,
    config: TrainConfig,
    process: RankProcess,
    log: Sink,
) -> None:
    """Validate where the step asks for it, and keep the best weights."""
    if validator is None or not state.step or not _is_due(config.eval_every, state, config):
        return
    settle(state, config)
    loss = validator.loss(state.kept, process)
    log({"step": state.step, "val_loss": loss})
    if loss < state.best_loss:
        state.best_loss, state.best_step = loss, state.step
        if process.is_leader:
            save_best(state, config)


def _is_due(every: int, state: State, config: TrainConfig) -> bool:
    """Whether it is time for what is done every so many steps, and after the last."""
    return state.step == config.steps or (every > 0 and state.step % every == 0)


def _is_stale(state: State, config: TrainConfig) -> bool:
    """Whether `patience` validations in a row of the last stage have found nothing better."""
    wait = config.patience * config.eval_every
    since = max(state.best_step, config.steps - config.stages[-1].steps)
    return bool(wait and state.best_step and state.step - since >= wait)


def _is_finished(state: State, config: TrainConfig) -> bool:
    """Whether nothing is left to learn."""
    return state.step == config.steps or _is_stale(state, config)


@contextmanager
def _catch_interrupts() -> Iterator[threading.Event]:
    """An event that Ctrl-C or SIGTERM sets; a second one ends the process at once.

    Off the main thread, where Python allows no signal handlers, nothing sets it.
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
