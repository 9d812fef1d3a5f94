"""The log of a run: JSON lines always, TensorBoard and Weights & Biases where asked for."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

from synth.base.atomic import translate_disk_errors
from synth.base.doors import open_regular, own_file, parse_json
from synth.base.errors import CorpusError, SpecError
from synth.base.rng import digest
from train.config.run import TrainConfig

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


@runtime_checkable
class Sink(Protocol):
    """Where facts of a step go."""

    def write(self, facts: Facts) -> None:
        """Keep the facts; `step` is one of them."""
        ...


@dataclass(frozen=True, slots=True)
class RunLog:
    """All sinks of a run; none on the processes that do not lead."""

    sinks: tuple[Sink, ...]

    def write(self, facts: Facts) -> None:
        """Keep the facts everywhere."""
        for sink in self.sinks:
            sink.write(facts)


@contextmanager
def open_log(config: TrainConfig, leads: bool) -> Iterator[RunLog]:
    """The log of a run, to be written on."""
    if not leads:
        yield RunLog(())
        return
    with ExitStack() as stack:
        path = own_file(config.out, LOG_FILE)
        # Without a buffer: what did not fit is not written again when the file is closed.
        sinks: list[Sink] = [_LogLines(stack.enter_context(path.open("ab", buffering=0)), path)]
        if config.tensorboard:
            sinks.append(stack.enter_context(_tensorboard(config.out)))
        if config.wandb:
            sinks.append(stack.enter_context(_wandb(config)))
        yield RunLog(tuple(sinks))


@dataclass(frozen=True, slots=True)
class _LogLines:
    file: FileIO
    path: Path

    def write(self, facts: Facts) -> None:
        rest = json.dumps(facts).encode() + b"\n"
        with name_file(self.path):
            while rest:
                rest = rest[self.file.write(rest) :]


@dataclass(frozen=True, slots=True)
class _TensorBoard:
    writer: Any
    folder: Path

    def write(self, facts: Facts) -> None:
        with name_file(self.folder):
            for name, value in facts.items():
                if name != "step":
                    self.writer.add_scalar(name, value, facts["step"])


@contextmanager
def _tensorboard(run: Path) -> Iterator[Sink]:
    from torch.utils.tensorboard import SummaryWriter

    folder = run / TENSORBOARD
    # An interrupted run may have written beyond its checkpoint: it is told anew from the lines.
    shutil.rmtree(folder, ignore_errors=True)
    with name_file(folder):
        writer = SummaryWriter(str(folder))
    sink = _TensorBoard(writer, folder)
    try:
        for _, facts in read_log(run):
            sink.write(facts)
        yield sink
    finally:
        with name_file(folder):
            writer.close()


@dataclass(frozen=True, slots=True)
class _WeightsAndBiases:
    run: Any

    def write(self, facts: Facts) -> None:
        values = {name: value for name, value in facts.items() if name != "step"}
        self.run.log(values, step=facts["step"])


@contextmanager
def _wandb(config: TrainConfig) -> Iterator[Sink]:
    try:
        import wandb
    except ImportError as error:
        raise SpecError(
            "wandb is not installed", fix="pip install wandb, or drop `wandb`"
        ) from error
    run = wandb.init(
        project=config.wandb,
        name=config.out.name,
        dir=str(config.out),
        id=digest(str(config.out.resolve()))[:16],
        resume="allow",
        config=config.model_dump(mode="json"),
    )
    try:
        yield _WeightsAndBiases(run)
    finally:
        run.finish()
