"""The model: towers, heads, and what of it learns."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Self, TypeAlias

from pydantic import AfterValidator, Field, JsonValue, model_validator

from synth.base.entry_points import find_entry_points
from synth.base.errors import nearest
from train.config.text import Section

TOWERS: Final = "segue.towers"
"""The group of entry points whose names are kinds of towers."""


class HeadKind(StrEnum):
    """How tokens become an embedding: `projection` is CLAP's own, over a pooled vector."""

    MLP = "mlp"
    TRANSFORMER = "transformer"
    PROJECTION = "projection"


class TowerKind(StrEnum):
    """A small network of ours with random weights, or a transformers model."""

    SMALL = "small"
    TRANSFORMERS = "transformers"


_SHIPPED: Final = frozenset(TowerKind)


def _check_kind(kind: str) -> str:
    """A kind of ours, or the name of a tower that another package offers."""
    if kind in _SHIPPED:
        return TowerKind(kind)
    others = find_entry_points(TOWERS, _SHIPPED)
    if kind not in others:
        known = sorted({*map(str, _SHIPPED), *others})
        near = nearest(kind, known)
        choose = f"choose one of {', '.join(known)}, or install the package that has it"
        raise ValueError(f"there is no {kind!r}; {f'did you mean {near!r}?' if near else choose}")
    return kind


AnyTowerKind: TypeAlias = Annotated[str, AfterValidator(_check_kind)]


class TokenKind(StrEnum):
    """What a token of audio is.

    `chunks`: a chunk that the tower heard alone. `map`: what the tower made of that stretch when
    it heard the whole. `pooled`: one token, the tower's own summary of the whole.
    """

    CHUNKS = "chunks"
    MAP = "map"
    POOLED = "pooled"


class LayerMix(StrEnum):
    """Which hidden layers of a waveform model are heard: the last, or all through a convolution."""

    LAST = "last"
    CONV = "conv"


class Group(StrEnum):
    """Parts of the model that learn or are frozen."""

    AUDIO_TOWER = "audio_tower"
    AUDIO_TOWER_LAST = "audio_tower.last"
    TEXT_TOWER = "text_tower"
    TEXT_TOWER_LAST = "text_tower.last"
    AUDIO_HEAD = "audio_head"
    TEXT_HEAD = "text_head"
    TEMPERATURE = "temperature"

    @property
    def whole(self) -> Group:
        """The group that it is the last part of, or itself."""
        return Group(self.removesuffix(".last"))


ALL_GROUPS = (
    Group.AUDIO_TOWER,
    Group.TEXT_TOWER,
    Group.AUDIO_HEAD,
    Group.TEXT_HEAD,
    Group.TEMPERATURE,
)


class Lora(Section):
    """Adapters of low rank beside frozen linear layers (LoRA, Hu et al. 2021).

    Args:
        rank: Of the matrix that is added to a layer's weights.
        alpha: That matrix is multiplied by alpha / rank.
        dropout: Of what an adapter takes.
        target: Names of the layers, or ends of their paths; all linear layers if empty.
    """

    rank: int = Field(default=8, ge=1)
    alpha: int = Field(default=16, ge=1)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    target: tuple[str, ...] = ()


class HeadConfig(Section):
    """The heads, the same on both sides; `layers` and `heads` are the Transformer's."""

    kind: HeadKind = HeadKind.TRANSFORMER
    layers: int = Field(default=2, ge=1)
    heads: int = Field(default=2, ge=1)
    dropout: float = Field(default=0.0, ge=0, lt=1)


class TowerConfig(Section):
    """What both towers have.

    Args:
        kind: A small one, one of transformers, or one that another package offers.
        name: A folder or a name on huggingface.co.
        settings: Of a tower of another package.
        lora: Adapters of a transformers tower.
    """

    kind: AnyTowerKind = TowerKind.SMALL
    name: str = ""
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    lora: Lora | None = None

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if self.kind == TowerKind.TRANSFORMERS and not self.name:
            raise ValueError(
                "a transformers tower needs `name`: a folder or a name on huggingface.co"
            )
        if self.kind in _SHIPPED and self.settings:
            raise ValueError(f"`settings` are those of another package's tower, not of {self.kind}")
        return self


class AudioConfig(TowerConfig):
    """The audio tower. Times in seconds.

    `layers` belongs to transformers models that take waveform, `tokens` to any of transformers;
    what follows them belongs to the small tower.
    """

    chunk_s: float = Field(default=0.5, gt=0)
    tokens: TokenKind = TokenKind.CHUNKS
    layers: LayerMix = LayerMix.LAST
    mels: int = Field(default=40, ge=1)
    window_s: float = Field(default=0.064, gt=0)
    hop_s: float = Field(default=0.032, gt=0)
    width: int = Field(default=128, ge=1)
    mask_mels: int = Field(default=8, ge=0)
    mask_frames: int = Field(default=0, ge=0)
    shift_mels: int = Field(default=2, ge=0)


class TextConfig(TowerConfig):
    """The text tower."""


class LastLayers(Section):
    """How many layers of each tower the groups `.last` are; stages, in the audio half of a CLAP."""

    audio_tower: int = Field(default=1, ge=1)
    text_tower: int = Field(default=1, ge=1)


class ModelConfig(Section):
    """Towers, heads, what learns, and the temperature (and sigmoid bias) at the start.

    With `frames`, each token of audio has an embedding of its own, which `stages.frames` trains.
    """

    dim: int = Field(default=128, ge=2, multiple_of=2)
    head: HeadConfig = HeadConfig()
    audio: AudioConfig = AudioConfig()
    text: TextConfig = TextConfig()
    temperature: float = Field(default=0.07, gt=0, le=1)
    bias: float = 0.0
    frames: bool = False
    trainable: tuple[Group, ...] = Field(default=ALL_GROUPS, min_length=1)
    last_layers: LastLayers = LastLayers()

    def learns(self, group: Group) -> bool:
        """Whether all of a group learns."""
        return group in self.trainable or group.whole in self.trainable

    @model_validator(mode="after")
    def _check_width(self) -> ModelConfig:
        if self.dim % self.head.heads:
            raise ValueError(f"dim {self.dim} is not divisible by {self.head.heads} heads")
        return self

    @model_validator(mode="after")
    def _check_adapters(self) -> ModelConfig:
        for side, last in (("audio", Group.AUDIO_TOWER_LAST), ("text", Group.TEXT_TOWER_LAST)):
            tower: AudioConfig | TextConfig = getattr(self, side)
            if tower.lora is None:
                continue
            if tower.kind != TowerKind.TRANSFORMERS:
                raise ValueError(f"{side}.lora needs a tower of kind transformers")
            if not self.learns(last):
                raise ValueError(f"{side}.lora does not learn: name {last.whole} in trainable")
        return self

    def without_adapters(self) -> ModelConfig:
        """The same model, its adapters merged into the weights."""
        towers = {
            "audio": self.audio.model_copy(update={"lora": None}),
            "text": self.text.model_copy(update={"lora": None}),
        }
        return self.model_copy(update=towers)
