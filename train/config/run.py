"""A training run: what is learnt from what, for how long, and what is kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

from pydantic import Field, ValidationError, model_validator

from synth.base.errors import SpecError
from synth.base.yaml_file import YamlFile, explain_errors, read_yaml
from train.config.loss import HardNegatives, Loss, Role
from train.config.model import Group, ModelConfig, TowerKind
from train.config.text import Section, TextSampling

Rate: TypeAlias = Annotated[float, Field(gt=0)]
Beta: TypeAlias = Annotated[float, Field(ge=0, lt=1)]


class AudioMode(StrEnum):
    """Where audio comes from; both give the same PCM."""

    SHARDS = "shards"
    VIRTUAL = "virtual"


class Precision(StrEnum):
    """Of the towers and heads; the loss is always float32."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


class Decay(StrEnum):
    """How the learning rate falls from its peak: half a cosine, a line, or not at all."""

    COSINE = "cosine"
    LINEAR = "linear"
    CONSTANT = "constant"


class CropTold(StrEnum):
    """The captions that a part of a sample is told by."""

    PROVEN = "proven"
    """Those that are proven in the part."""
    WHOLE = "whole"
    """Those of the whole sample, true of the part or not: to measure what proving adds."""


class Stage(Section):
    """A stretch of training.

    Args:
        steps: Its length.
        relations: Relations of the samples and captions in play; none means all.
        loss: What is minimised.
        dissimilarity: Weight of the mean cosine between captions and their full negations
            (Vasilakis et al., section 2.3); 0 leaves it out.
        frames: Weight of the frame-wise loss (FLAM, eq. 4), which learns when each sound is heard;
            0 leaves it out.
    """

    steps: int = Field(ge=1)
    relations: tuple[str, ...] = ()
    loss: Loss = HardNegatives()
    dissimilarity: float = Field(default=0.0, ge=0)
    frames: float = Field(default=0.0, ge=0)

    def tells(self, relation: str) -> bool:
        """Whether captions of this relation are in play."""
        return not self.relations or relation in self.relations

    @property
    def roles(self) -> frozenset[Role]:
        """The texts it needs beside the captions."""
        return self.loss.roles | ({Role.DENIED} if self.dissimilarity else set())


@dataclass(frozen=True, slots=True)
class StepPlace:
    """Where a step lies: in which stage, and how many of its steps came before."""

    stage: int
    step: int


def place(step: int, stages: Sequence[Stage]) -> StepPlace:
    """The stage of global step `step`."""
    left = step
    for number, stage in enumerate(stages):
        if left < stage.steps:
            return StepPlace(number, left)
        left -= stage.steps
    raise IndexError(f"step {step} lies behind the last of {step - left}")


class Mix(Section):
    """Samples of another corpus among those of every batch.

    Args:
        corpus: Its manifest folder, or a store's address.
        weight: Their share of all samples, in four decimals at most.
    """

    corpus: Path
    weight: float = Field(gt=0, lt=1)


class TrainConfig(Section):
    """A training run.

    Args:
        corpus: Manifest folder of the corpus.
        out: Run folder.
        mix: Other corpora whose samples take part, whatever relations are in play.
        mode: Read shards, or render from plan and bank.
        model: The model.
        stages: What is in play when, in order.
        batch: Samples per step, over all processes.
        keep_groups: Whether the members of a minimal-pair group share a batch.
        text: How captions are chosen and changed when loaded.
        crop_s: Longest audio in seconds; longer samples are cut to a random part. None keeps all
            whole.
        crop_told: The captions of such a part.
        lr: Peak learning rate.
        lr_of: Peak rates of groups that have their own; `.last` before that of its tower.
        layer_decay: Factor from a layer's rate to that of the layer below it, in towers of
            transformers.
        schedule: How the rates fall after the warm-up.
        warmup: Share of the steps in which the rates rise.
        weight_decay: Of AdamW.
        betas: Of AdamW: decay of the means of the gradient and of its square.
        eps: Of AdamW: what is added to the denominator.
        grad_clip: Largest norm of the gradient.
        accumulate: Parts in which a batch is encoded; the loss and its gradient are those of the
            whole batch, the memory is that of a part.
        ema: Decay of the moving average of the weights that is validated and kept; 0 for none.
        patience: Validations without improvement after which training stops; 0 never stops early.
        seed: Seed of weights, order, text choice and dropout.
        device: `cpu`, `cuda`, `cuda:1`, ...
        precision: Of towers and heads.
        tf32: Whether CUDA multiplies float32 matrices of towers and heads in TF32.
        checkpoint_activations: Whether the layers of transformers towers are computed again in the
            backward pass, which takes less memory and more time.
        compile: Backend of torch.compile for the model: `inductor` is the fast one; empty for none.
        tensorboard: Whether the log is also written for TensorBoard.
        wandb: Project on Weights & Biases that the log also goes to; empty for none.
        workers: Threads that prepare batches.
        prefetch: Batches prepared ahead; never fewer than there are workers, so that none is idle.
        cache_mb: Memory for features kept between epochs; a larger corpus is read anew.
        log_every: Steps between lines of the log.
        eval_every: Steps between validations, 0 for only one at the end.
        checkpoint_every: Steps between checkpoints, 0 for only one at the end.
    """

    corpus: Path
    out: Path
    mix: tuple[Mix, ...] = ()
    mode: AudioMode = AudioMode.SHARDS
    model: ModelConfig = ModelConfig()
    stages: tuple[Stage, ...] = Field(default=(Stage(steps=1000),), min_length=1)
    batch: int = Field(default=64, ge=2)
    keep_groups: bool = False
    text: TextSampling = TextSampling()
    crop_s: float | None = Field(default=None, ge=0.1)
    crop_told: CropTold = CropTold.PROVEN
    lr: float = Field(default=1e-3, gt=0)
    lr_of: dict[Group, Rate] = Field(default_factory=dict)
    layer_decay: float = Field(default=1.0, gt=0, le=1)
    schedule: Decay = Decay.COSINE
    warmup: float = Field(default=0.15, ge=0, le=1)
    weight_decay: float = Field(default=0.01, ge=0)
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    eps: float = Field(default=1e-8, gt=0)
    grad_clip: float = Field(default=1.0, gt=0)
    accumulate: int = Field(default=1, ge=1)
    ema: float = Field(default=0.0, ge=0, lt=1)
    patience: int = Field(default=0, ge=0)
    seed: int = Field(default=0, ge=0, lt=2**63)
    device: str = Field(default="cpu", pattern=r"^(cpu|mps|cuda(:\d+)?)$")
    precision: Precision = Precision.FLOAT32
    tf32: bool = True
    checkpoint_activations: bool = False
    compile: str = Field(default="", pattern="^(inductor|aot_eager|eager)?$")
    tensorboard: bool = True
    wandb: str = ""
    workers: int = Field(default=1, ge=1)
    prefetch: int = Field(default=4, ge=1)
    cache_mb: int = Field(default=1024, ge=0)
    log_every: int = Field(default=10, ge=1)
    eval_every: int = Field(default=0, ge=0)
    checkpoint_every: int = Field(default=200, ge=0)

    @model_validator(mode="after")
    def _check_consistency(self) -> TrainConfig:
        if self.patience and not self.eval_every:
            raise ValueError("patience counts validations: also give eval_every")
        grouped = [stage.loss.name for stage in self.stages if stage.loss.needs_groups]
        if grouped and not self.keep_groups:
            raise ValueError(f"loss {grouped[0]} needs keep_groups: true")
        if grouped and self.mix:
            raise ValueError(f"loss {grouped[0]} takes whole groups alone: drop mix")
        if self.own_share <= 0:
            raise ValueError("mix leaves no sample of `corpus`: let the weights sum to less than 1")
        if any(stage.frames for stage in self.stages) and not self.model.frames:
            raise ValueError("frames of a stage needs model.frames: true")
        if self.crop_told is CropTold.WHOLE and self.crop_s is None:
            raise ValueError("crop_told needs crop_s")
        return self

    @model_validator(mode="after")
    def _check_fine_tuning(self) -> TrainConfig:
        for group in self.lr_of:
            if not self.model.learns(group):
                learning = ", ".join(self.model.trainable)
                raise ValueError(f"lr_of: {group} does not learn; trainable: {learning}")
        for group in (Group.AUDIO_TOWER_LAST, Group.TEXT_TOWER_LAST):
            is_named = group in self.model.trainable or group in self.lr_of
            count = getattr(self.model.last_layers, group.whole)
            if count > 1 and not is_named:
                raise ValueError(
                    f"model.last_layers: {group.whole}: {count} has no effect: "
                    f"name {group} in model.trainable or lr_of"
                )
        if self.model.audio.kind is self.model.text.kind is TowerKind.SMALL:
            for name in ("layer_decay", "checkpoint_activations"):
                if getattr(self, name) != type(self).model_fields[name].default:
                    raise ValueError(f"{name} needs a tower of kind transformers")
        return self

    @property
    def steps(self) -> int:
        """Steps of all stages."""
        return sum(stage.steps for stage in self.stages)

    @property
    def own_share(self) -> Fraction:
        """Share of all samples that `corpus` gives; weights are taken as they are written."""
        return 1 - sum((Fraction(str(mix.weight)) for mix in self.mix), start=Fraction(0))

    def scale_steps(self, steps: int) -> TrainConfig:
        """The same run in `steps` steps, every stage shortened or lengthened alike."""
        if steps < len(self.stages):
            names = "; ".join(", ".join(stage.relations) or "all" for stage in self.stages)
            raise SpecError(
                f"--steps {steps} are too few for the {len(self.stages)} stages of these settings "
                f"(relations in play: {names})",
                fix=f"give {len(self.stages)} or more, one per stage",
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


_MEND: Final = "docs/training.md shows every setting"


def parse_config(values: Any, where: str | YamlFile) -> TrainConfig:
    """Settings from parsed YAML or JSON.

    Args:
        where: The file that they are from, or what errors call it.
    """
    file = YamlFile(where, values) if isinstance(where, str) else where
    if not isinstance(values, dict):
        raise _no_settings(file)
    try:
        return TrainConfig.model_validate(values)
    except ValidationError as error:
        raise explain_errors(error, file, TrainConfig, _MEND) from error


def read_settings(path: Path) -> tuple[dict[str, Any], YamlFile]:
    """The settings in a YAML file, unchecked, and the file as `parse_config` takes it."""
    file = read_yaml(path)
    if not isinstance(file.value, dict):
        raise _no_settings(file)
    return file.value, file


def _no_settings(file: YamlFile) -> SpecError:
    return SpecError(f"{file.place()}: expected settings, one `name: value` per line", fix=_MEND)
