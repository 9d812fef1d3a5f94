"""CLAP: an audio tower and a text tower, each with a head, into one space."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from train.augment import SpecAugment
from train.config import HeadConfig, HeadKind, ModelConfig, TowerKind
from train.heads import MeanPoolHead, TransformerHead
from train.towers import (
    AudioTower,
    Chunks,
    EmbeddingTower,
    TextModel,
    cnn_tower,
    transformers_model,
    waveform_tower,
)

_MAX_SCALE = 100.0


class LogitScale(nn.Module):
    """The learned factor from cosine to logit: one over the temperature, at most 100.

    Args:
        temperature: Temperature at the start, above 0.
    """

    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.log = nn.Parameter(torch.tensor(-math.log(temperature)))

    def forward(self) -> Float[Tensor, ""]:
        """The factor, in float32."""
        return self.log.float().clamp(max=math.log(_MAX_SCALE)).exp()


class Clap(nn.Module):
    """Contrastive language-audio model.

    Args:
        audio_tower: From chunks of audio to tokens.
        text_tower: From token ids to tokens.
        audio_head: From audio tokens to an embedding.
        text_head: From text tokens to an embedding of the same width.
        temperature: Temperature at the start.
    """

    def __init__(
        self,
        audio_tower: AudioTower,
        text_tower: EmbeddingTower | TextModel,
        audio_head: nn.Module,
        text_head: nn.Module,
        temperature: float,
    ) -> None:
        super().__init__()
        self.audio_tower = audio_tower
        self.text_tower = text_tower
        self.audio_head = audio_head
        self.text_head = text_head
        self.scale = LogitScale(temperature)

    def encode_chunks(self, chunks: Chunks) -> Float[Tensor, "batch dim"]:
        """Unit-length embeddings of audio whose features are at hand."""
        return self.audio_head(self.audio_tower(chunks))  # type: ignore[no-any-return]

    def encode_audio(self, waveform: Float[Tensor, "batch samples"]) -> Float[Tensor, "batch dim"]:
        """Unit-length embeddings of audio at the model's rate, samples in -1 to 1."""
        return self.encode_chunks(self.audio_tower.features(waveform))

    def encode_text(
        self, ids: Int[Tensor, "batch words"], mask: Bool[Tensor, "batch words"]
    ) -> Float[Tensor, "batch dim"]:
        """Unit-length embeddings of texts."""
        return self.text_head(self.text_tower(ids, mask))  # type: ignore[no-any-return]


def build_model(config: ModelConfig, sample_rate: int, vocabulary: int) -> Clap:
    """The model that a config describes, with weights from the current random state.

    Args:
        config: Towers and heads.
        sample_rate: Of the audio, in Hz.
        vocabulary: Number of words, for a text tower that learns its own.

    Raises:
        SpecError: If a named transformers model cannot be loaded.
    """
    audio, text = config.audio, config.text
    if audio.kind is TowerKind.SMALL:
        audio_tower = cnn_tower(
            sample_rate,
            audio.chunk_s,
            audio.mels,
            audio.window_s,
            audio.hop_s,
            audio.width,
            SpecAugment(audio.mask_mels, audio.shift_mels),
            config.dim,
        )
    else:
        audio_tower = waveform_tower(audio.name, sample_rate, audio.chunk_s)
    text_tower: EmbeddingTower | TextModel
    if text.kind is TowerKind.SMALL:
        text_tower = EmbeddingTower(vocabulary, config.dim)
    else:
        text_tower = TextModel(transformers_model(text.name))
    return Clap(
        audio_tower,
        text_tower,
        _head(config.head, audio_tower.dim, config.dim),
        _head(config.head, text_tower.dim, config.dim),
        config.temperature,
    )


def _head(config: HeadConfig, inputs: int, dim: int) -> nn.Module:
    if config.kind is HeadKind.MLP:
        return MeanPoolHead(inputs, dim, config.dropout)
    return TransformerHead(inputs, dim, config.layers, config.heads, config.dropout)
