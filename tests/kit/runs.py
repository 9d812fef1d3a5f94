"""Training runs that end badly, and what tests ask of what they leave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from synth.base.progress import Silent


class Dies(Silent):
    """Dies without warning when a step is done."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.done = 0

    def start(self, phase: str, total: int, unit: str, done: int | None = None) -> None:
        self.done = done or 0

    def advance(self, phase: str, units: int = 1, note: str = "") -> None:
        self.done += units
        if phase == "train" and self.done == self.step:
            self.die()

    def die(self) -> None:
        raise RuntimeError("killed")


def weights(folder: Path) -> dict[str, Tensor]:
    """The weights that a run kept."""
    return torch.load(folder / "model.pt", weights_only=True)["model"]  # type: ignore[no-any-return]


def equal(left: Path, right: Path) -> bool:
    """Whether two runs kept the same weights, bit for bit."""
    one, other = weights(left), weights(right)
    return one.keys() == other.keys() and all(torch.equal(one[k], other[k]) for k in one)


def lines(folder: Path) -> list[dict[str, Any]]:
    """A run's log."""
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
