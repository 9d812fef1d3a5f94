"""What a training run is: frozen settings, checked before any work starts."""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from synth.errors import SpecError

_T = TypeVar("_T")


class Mode(StrEnum):
    """Where audio comes from; both give the same PCM."""

    SHARDS = "shards"
    VIRTUAL = "virtual"


class HeadKind(StrEnum):
    """How tokens become an embedding."""

    MLP = "mlp"
    TRANSFORMER = "transformer"


class TowerKind(StrEnum):
    """A small network of ours with random weights, or a transformers model."""

    SMALL = "small"
    TRANSFORMERS = "transformers"


class Precision(StrEnum):
    """Of the towers and heads; the loss is always float32."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


class _Config(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _needs_name(config: _T, kind: TowerKind, name: str) -> _T:
    if kind is TowerKind.TRANSFORMERS and not name:
        raise ValueError("a transformers tower needs `name`: a folder or a name on huggingface.co")
    return config


class HeadConfig(_Config):
    """The heads, the same on both sides; `layers` and `heads` are the Transformer's."""

    kind: HeadKind = HeadKind.TRANSFORMER
    layers: int = Field(default=2, ge=1)
    heads: int = Field(default=2, ge=1)
    dropout: float = Field(default=0.0, ge=0, lt=1)


class AudioConfig(_Config):
    """The audio tower; all but `chunk_s` and `name` belong to the small one. Times in seconds."""

    kind: TowerKind = TowerKind.SMALL
    name: str = ""
    chunk_s: float = Field(default=0.5, gt=0)
    mels: int = Field(default=40, ge=1)
    window_s: float = Field(default=0.064, gt=0)
    hop_s: float = Field(default=0.032, gt=0)
    width: int = Field(default=128, ge=1)
    mask_mels: int = Field(default=8, ge=0)
    shift_mels: int = Field(default=2, ge=0)

    @model_validator(mode="after")
    def _named(self) -> AudioConfig:
        return _needs_name(self, self.kind, self.name)


class TextConfig(_Config):
    """The text tower."""

    kind: TowerKind = TowerKind.SMALL
    name: str = ""

    @model_validator(mode="after")
    def _named(self) -> TextConfig:
        return _needs_name(self, self.kind, self.name)


class ModelConfig(_Config):
    """Towers, heads and the temperature at the start."""

    dim: int = Field(default=128, ge=2, multiple_of=2)
    head: HeadConfig = HeadConfig()
    audio: AudioConfig = AudioConfig()
    text: TextConfig = TextConfig()
    temperature: float = Field(default=0.07, gt=0, le=1)

    @model_validator(mode="after")
    def _divisible(self) -> ModelConfig:
        if self.dim % self.head.heads:
            raise ValueError(f"dim {self.dim} is not divisible by {self.head.heads} heads")
        return self


class Stage(_Config):
    """A stretch of training.

    Args:
        steps: Its length.
        relations: Relations of the samples and captions in play; none means all.
        negatives: Whether samples bring their own negatives.
    """

    steps: int = Field(ge=1)
    relations: tuple[str, ...] = ()
    negatives: bool = False


class TrainConfig(_Config):
    """A training run.

    Args:
        corpus: Manifest folder of the corpus.
        out: Run folder.
        mode: Read shards, or render from plan and bank.
        model: The model.
        stages: What is in play when, in order.
        batch: Samples a step.
        keep_groups: Whether the members of a minimal-pair group share a batch.
        restatements: Whether a sample may be told by any of its true captions.
        lr: Peak learning rate of the one-cycle schedule.
        warmup: Share of the steps in which the rate rises.
        weight_decay: Of AdamW.
        grad_clip: Largest norm of the gradient.
        seed: Of weights, order, text choice and dropout.
        device: `cpu`, `cuda`, `cuda:1`, ...
        precision: Of towers and heads.
        workers: Threads that prepare batches.
        prefetch: Batches prepared ahead.
        cache_mb: Memory for features kept between epochs; a larger corpus is read anew.
        log_every: Steps between lines of the log.
        eval_every: Steps between validations, 0 for only one at the end.
        checkpoint_every: Steps between checkpoints, 0 for only one at the end.
    """

    corpus: Path
    out: Path
    mode: Mode = Mode.SHARDS
    model: ModelConfig = ModelConfig()
    stages: tuple[Stage, ...] = Field(default=(Stage(steps=1000, negatives=True),), min_length=1)
    batch: int = Field(default=64, ge=2)
    keep_groups: bool = False
    restatements: bool = True
    lr: float = Field(default=1e-3, gt=0)
    warmup: float = Field(default=0.15, ge=0, le=1)
    weight_decay: float = Field(default=0.01, ge=0)
    grad_clip: float = Field(default=1.0, gt=0)
    seed: int = Field(default=0, ge=0, lt=2**63)
    device: str = Field(default="cpu", pattern=r"^(cpu|mps|cuda(:\d+)?)$")
    precision: Precision = Precision.FLOAT32
    workers: int = Field(default=1, ge=1)
    prefetch: int = Field(default=4, ge=1)
    cache_mb: int = Field(default=1024, ge=0)
    log_every: int = Field(default=10, ge=1)
    eval_every: int = Field(default=0, ge=0)
    checkpoint_every: int = Field(default=200, ge=0)

    @property
    def steps(self) -> int:
        """Steps of all stages."""
        return sum(stage.steps for stage in self.stages)

    def with_steps(self, steps: int) -> TrainConfig:
        """The same run in `steps` steps, every stage shortened or lengthened alike.

        Raises:
            SpecError: If there are more stages than steps.
        """
        if steps < len(self.stages):
            raise SpecError(
                f"{steps} steps cannot hold {len(self.stages)} stages",
                mend=f"take at least {len(self.stages)} steps",
            )
        ends = [sum(stage.steps for stage in self.stages[:k]) for k in range(len(self.stages) + 1)]
        cuts = [round(end * steps / self.steps) for end in ends]
        lengths = [max(right - left, 1) for left, right in pairwise(cuts)]
        lengths[lengths.index(max(lengths))] += steps - sum(lengths)
        stages = tuple(
            stage.model_copy(update={"steps": length})
            for stage, length in zip(self.stages, lengths, strict=True)
        )
        return self.model_copy(update={"stages": stages})


def parse_config(values: Any, where: str) -> TrainConfig:
    """Settings from parsed YAML or JSON.

    Args:
        values: Mapping of setting to value.
        where: What errors call it: a file name.

    Raises:
        SpecError: If a setting is unknown, missing or wrong; all faults in one error.
    """
    if not isinstance(values, dict):
        raise SpecError(f"{where}: expected settings, one `name: value` a line")
    try:
        return TrainConfig.model_validate(values)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'settings'}: {fault['msg']}"
            for fault in error.errors()
        )
        raise SpecError(f"{where}: {faults}") from error


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a YAML file, unchecked.

    Raises:
        SpecError: If there is no such file, or it is not YAML.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SpecError(f"{path}: no such file") from error
    except yaml.YAMLError as error:
        raise SpecError(f"{path}: not YAML: {error}") from error
    if not isinstance(values, dict):
        raise SpecError(f"{path}: expected settings, one `name: value` a line")
    return values
