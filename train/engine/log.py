"""The log of a run (JSON lines, TensorBoard, Weights & Biases), and how fast the run is."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

import torch

from synth.base.atomic import translate_disk_errors
from synth.base.doors import open_regular, own_file, parse_json
from synth.base.errors import CorpusError, SpecError
from synth.base.rng import digest
from train.config.run import TrainConfig
from train.data.batch import Batch

LOG_FILE: Final = "log.jsonl"
TENSORBOARD: Final = "tensorboard"
_REMOVE: Final = "remove the line"

_LONGEST: Final = 2**20
"""Bytes of a line."""

Facts = dict[str, float | int]


@contextmanager
def name_file(path: Path) -> Iterator[None]:
    """What the system says while a file is written names it; a full disk is told clearly."""
    try:
        with translate_disk_errors(path):
            yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def read_log(folder: Path) -> Iterator[tuple[bytes, Facts]]:
    """The lines of a run's log, and the numbers that each tells.

    A last line that a killed run left unfinished is passed over.
    """
    path = folder / LOG_FILE
    with open_regular(path) as file:
        lines = iter(partial(file.readline, _LONGEST), b"")
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n") and len(line) < _LONGEST:
                return
            where = f"{path}: line {number}"
            try:
                facts = {
                    name: int(value) if name == "step" else float(value)
                    for name, value in parse_json(line, where, fix=_REMOVE).items()
                }
                _ = facts["step"]
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
                raise CorpusError(f"{where}: not the record of a step", fix=_REMOVE) from error
            yield line, facts


Sink: TypeAlias = Callable[[Facts], None]
"""Keeps the facts of a step, `step` being one of them."""


@contextmanager
def open_log(config: TrainConfig, leads: bool) -> Iterator[Sink]:
    """The log of a run, to be written on; processes that do not lead write nothing."""
    with ExitStack() as stack:
        sinks: list[Sink] = []
        if leads:
            sinks.append(stack.enter_context(_lines(config.out)))
        if leads and config.tensorboard:
            sinks.append(stack.enter_context(_tensorboard(config.out)))
        if leads and config.wandb:
            sinks.append(stack.enter_context(_wandb(config)))

        def write(facts: Facts) -> None:
            for sink in sinks:
                sink(facts)

        yield write


@contextmanager
def _lines(run: Path) -> Iterator[Sink]:
    path = own_file(run, LOG_FILE)
    # Without a buffer: what did not fit is not written again when the file is closed.
    with path.open("ab", buffering=0) as file:

        def write(facts: Facts) -> None:
            rest = json.dumps(facts).encode() + b"\n"
            with name_file(path):
                while rest:
                    rest = rest[file.write(rest) :]

        yield write


@contextmanager
def _tensorboard(run: Path) -> Iterator[Sink]:
    from torch.utils.tensorboard import SummaryWriter

    folder = run / TENSORBOARD
    # An interrupted run may have written beyond its checkpoint: it is told anew from the lines.
    shutil.rmtree(folder, ignore_errors=True)
    with name_file(folder):
        writer = SummaryWriter(str(folder))

    def write(facts: Facts) -> None:
        with name_file(folder):
            for name, value in facts.items():
                if name != "step":
                    writer.add_scalar(name, value, facts["step"])

    try:
        for _, facts in read_log(run):
            write(facts)
        yield write
    finally:
        with name_file(folder):
            writer.close()


@contextmanager
def _wandb(config: TrainConfig) -> Iterator[Sink]:
    try:
        import wandb
    except ImportError as error:
        raise SpecError(
            "wandb is not installed", fix="pip install wandb, or leave out `wandb`"
        ) from error
    run = wandb.init(
        project=config.wandb,
        name=config.out.name,
        dir=str(config.out),
        id=digest(str(config.out.resolve()))[:16],
        resume="allow",
        config=config.model_dump(mode="json"),
    )

    def write(facts: Facts) -> None:
        values = {name: value for name, value in facts.items() if name != "step"}
        run.log(values, step=facts["step"])

    try:
        yield write
    finally:
        run.finish()


PHASE: Final = "train"
_WINDOW_S: Final = 10.0
"""Time of learning that is looked at."""
_HELD_UP: Final = 0.5
"""Share of a processor below which this process is held up by others."""


class Meter:
    """Speed of a run, the share of its time spent waiting for data, and what holds it up.

    Args:
        clock: Time in s.
        ran: How long the thread that learns has run, in s; None where it may wait by right, for a
            GPU or for other processes.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        ran: Callable[[], float] | None = None,
    ) -> None:
        self.samples = 0
        self.warning = ""
        """What holds the run up, and what helps; empty while nothing does."""
        self._clock = clock
        self._ran = ran
        self._begun = clock()
        self._waited = 0.0
        self._steps, self._wall_s, self._ran_s = 0, 0.0, 0.0

    @contextmanager
    def learn(self, samples: int) -> Iterator[None]:
        """A step that learns from so many samples."""
        begun, ran = self._clock(), self._ran() if self._ran else 0.0
        yield
        self.samples += samples
        if self._ran is None:
            return
        self._steps += 1
        self._wall_s += self._clock() - begun
        self._ran_s += self._ran() - ran
        if self._wall_s >= _WINDOW_S:
            self.warning = self._describe_pace()
            self._steps, self._wall_s, self._ran_s = 0, 0.0, 0.0

    def _describe_pace(self) -> str:
        share, threads = self._ran_s / self._wall_s, torch.get_num_threads()
        if share >= _HELD_UP:
            return ""
        helps = f"OMP_NUM_THREADS={threads // 2}, or " if threads > 1 else ""
        return (
            f"{self._steps / self._wall_s:.2g} steps/s: other work leaves this process {share:.0%} "
            f"of a processor; {helps}stop the other work"
        )

    def time_waits(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches; the time until each is there counts as waiting."""
        while True:
            start = self._clock()
            batch = next(batches, None)
            self._waited += self._clock() - start
            if batch is None:
                return
            yield batch

    @property
    def samples_per_s(self) -> float:
        """Samples a second since the start."""
        return self.samples / max(self._clock() - self._begun, 1e-9)

    @property
    def data_wait(self) -> float:
        """Share of the time since the start, 0 to 1."""
        return self._waited / max(self._clock() - self._begun, 1e-9)

    def facts(self) -> dict[str, float | int]:
        """For the log."""
        return {
            "samples_per_s": round(self.samples_per_s, 1),
            "data_wait": round(self.data_wait, 4),
        }

    def __str__(self) -> str:
        speed = f"{self.samples_per_s:.0f} samples/s  data wait {self.data_wait:.0%}"
        return f"{speed}  held up by other work" if self.warning else speed
