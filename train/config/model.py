"""The model: towers, heads, and what of it learns."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from pydantic import Field, model_validator

from train.config.section import Section

_T = TypeVar("_T")


class HeadKind(StrEnum):
    """How tokens become an embedding: `projection` is CLAP's own, over a pooled vector."""

    MLP = "mlp"
    TRANSFORMER = "transformer"
    PROJECTION = "projection"


class TowerKind(StrEnum):
    """A small network of ours with random weights, or a transformers model."""

    SMALL = "small"
    TRANSFORMERS = "transformers"


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


ALL_GROUPS = (
    Group.AUDIO_TOWER,
    Group.TEXT_TOWER,
    Group.AUDIO_HEAD,
    Group.TEXT_HEAD,
    Group.TEMPERATURE,
)


def _require_name(config: _T, kind: TowerKind, name: str) -> _T:
    if kind is TowerKind.TRANSFORMERS and not name:
        raise ValueError("a transformers tower needs `name`: a folder or a name on huggingface.co")
    return config


class HeadConfig(Section):
    """The heads, the same on both sides; `layers` and `heads` are the Transformer's."""

    kind: HeadKind = HeadKind.TRANSFORMER
    layers: int = Field(default=2, ge=1)
    heads: int = Field(default=2, ge=1)
    dropout: float = Field(default=0.0, ge=0, lt=1)


class AudioConfig(Section):
    """The audio tower. Times in seconds.

    `layers` belongs to transformers models that take waveform, `tokens` to any of transformers;
    what follows them belongs to the small tower.
    """

    kind: TowerKind = TowerKind.SMALL
    name: str = ""
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

    @model_validator(mode="after")
    def _check_name(self) -> AudioConfig:
        return _require_name(self, self.kind, self.name)


class TextConfig(Section):
    """The text tower."""

    kind: TowerKind = TowerKind.SMALL
    name: str = ""

    @model_validator(mode="after")
    def _check_name(self) -> TextConfig:
        return _require_name(self, self.kind, self.name)


class ModelConfig(Section):
    """Towers, heads, what learns, and the temperature (and sigmoid bias) at the start."""

    dim: int = Field(default=128, ge=2, multiple_of=2)
    head: HeadConfig = HeadConfig()
    audio: AudioConfig = AudioConfig()
    text: TextConfig = TextConfig()
    temperature: float = Field(default=0.07, gt=0, le=1)
    bias: float = 0.0
    trainable: tuple[Group, ...] = Field(default=ALL_GROUPS, min_length=1)

    @model_validator(mode="after")
    def _check_width(self) -> ModelConfig:
        if self.dim % self.head.heads:
            raise ValueError(f"dim {self.dim} is not divisible by {self.head.heads} heads")
        return self
