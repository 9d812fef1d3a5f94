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

from synth.base.progress import Observer, Silent
from train.config.run import TrainConfig
from train.engine.log import open_log
from train.engine.progress import PHASE, Meter
from train.engine.ranks import processes
from train.engine.run import Run
from train.run_folder import refuse_occupied


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
    observer: Observer | None = None,
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
        observer: Told of the progress.
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
        shown = observer if observer is not None and process.leads else Silent()
        run = Run.prepared(config, process, shown, resume)
        return _train(run, shown, interrupted)


def _train(run: Run, observer: Observer, interrupted: threading.Event) -> TrainResult:
    state = run.state
    observer.start(PHASE, run.config.steps, "steps", done=state.step)
    meter = Meter()
    with open_log(run.config, run.process.leads) as log:
        run.learn(log, meter, observer, interrupted.is_set)
    if state.step == run.config.steps:
        observer.finish(PHASE)
    run.close()
    return TrainResult(
        folder=run.config.out,
        step=state.step,
        finished=run.finished,
        loss=state.loss,
        best_step=state.best_step if run.validator else state.step,
        best_loss=state.best_loss if state.best_step else None,
        samples_per_s=meter.samples_per_s,
        data_wait=meter.data_wait,
    )


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
