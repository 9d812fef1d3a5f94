"""A training run, as far as a plan can be judged by it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import Final

from synth.base.errors import SpecError

MOST_LOST: Final = 10.0
"""Percent of a split that an epoch may leave unseen before that is told."""


class LoaderKind(StrEnum):
    """How samples come to the ranks.

    `trainer`: `segue train` shares each batch of the manifest; shards do not matter.
    `bounded`: shards are dealt to ranks and loader workers, and the epoch has a fixed number of
        steps, as in open_clip and LAION-CLAP, or by `WebLoader(...).with_epoch(steps)`.
    """

    TRAINER = "trainer"
    BOUNDED = "bounded"


@dataclass(frozen=True, slots=True)
class Training:
    """A training run.

    Args:
        gpus: Ranks, one a GPU; 1 or more.
        workers: Loader workers of each rank; 0 loads in the rank itself.
        batch: Samples a step, those of all ranks together.
        loaders: Those that must be able to run.
        splits: Those that are trained on; none: `train`, or all where there is no `train`.
        keep_groups: Whether the trainer keeps minimal-pair groups together in a batch.
        steps_per_s: Steps in a second, as the user measured it.
    """

    gpus: int
    workers: int
    batch: int
    loaders: tuple[LoaderKind, ...] = (LoaderKind.TRAINER, LoaderKind.BOUNDED)
    splits: tuple[str, ...] = ()
    keep_groups: bool = True
    epochs: int = 1
    steps_per_s: float | None = None
    price_per_gpu_hour: float | None = None

    @property
    def deals(self) -> bool:
        """Whether a loader that deals shards must be able to run."""
        return LoaderKind.BOUNDED in self.loaders

    @property
    def readers(self) -> int:
        """Processes of a rank that read shards."""
        return max(1, self.workers)

    @property
    def places(self) -> int:
        """Processes of all ranks that read shards."""
        return self.gpus * self.readers

    @property
    def rank_batch(self) -> int:
        """Samples of a rank in a step; what open_clip and LAION-CLAP call `--batch-size`."""
        return self.batch // self.gpus

    def check(self) -> None:
        """Refuse what no plan can fix."""
        for name in ("steps_per_s", "price_per_gpu_hour"):
            value = getattr(self, name)
            if value is not None and not isfinite(value):
                option = f"--{name.replace('_', '-')}"
                raise SpecError(f"{option} {value}: not finite", fix="give a number such as 1.5")
        if self.batch < self.gpus:
            raise SpecError(
                f"a batch of {self.batch} samples is too small for {self.gpus} GPUs",
                fix=f"give --batch {self.gpus} or more (over all GPUs), or fewer GPUs",
            )
        if self.batch % self.gpus:
            below = self.batch - self.batch % self.gpus
            raise SpecError(
                f"a batch of {self.batch} samples does not divide among {self.gpus} GPUs",
                fix=f"--batch {below} or --batch {below + self.gpus}",
            )
        if self.price_per_gpu_hour is not None and self.steps_per_s is None:
            raise SpecError(
                "--price-per-gpu-hour needs --steps-per-s: the run's duration is unknown",
                fix="measure your model's speed and give --steps-per-s",
            )
