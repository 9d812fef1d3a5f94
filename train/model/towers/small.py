"""Small towers with weights of their own."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from train.config.model import AudioConfig
from train.model.augment import SpecAugment
from train.model.features import LogMel
from train.model.heads import Tokens
from train.model.towers.base import ChunkTower, TextTower


class ChunkCnn(nn.Module):
    """A small convolutional network over time with mel bands as channels, averaged over time."""

    def __init__(self, mels: int, width: int, dim: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(mels, width, kernel_size=3, padding=1),
            nn.BatchNorm1d(width),
            nn.GELU(),
            nn.Conv1d(width, width, kernel_size=3, padding=1, stride=2),
            nn.BatchNorm1d(width),
            nn.GELU(),
        )
        self.out = nn.Linear(2 * width, dim)

    def forward(self, chunks: Float[Tensor, "chunks mels frames"]) -> Float[Tensor, "chunks dim"]:
        """One vector a chunk, from the mean and the maximum over its frames."""
        hidden = self.layers(chunks)
        return self.out(torch.cat([hidden.mean(dim=2), hidden.amax(dim=2)], dim=1))  # type: ignore[no-any-return]


class EmbeddingTower(TextTower):
    """One learned vector a word, of unit variance at the start."""

    def __init__(self, vocabulary: int, dim: int) -> None:
        super().__init__(dim)
        self.embedding = nn.Embedding(vocabulary, dim)

    def forward(self, ids: Int[Tensor, "batch words"], mask: Bool[Tensor, "batch words"]) -> Tokens:
        """One token a word."""
        return Tokens(self.embedding(ids), mask)


def cnn_tower(config: AudioConfig, sample_rate: int, dim: int) -> ChunkTower:
    """The small audio tower: log-mel chunks, augmented in training, and `ChunkCnn`."""
    frontend = LogMel(sample_rate, config.mels, config.window_s, config.hop_s)
    augment = SpecAugment(config.mask_mels, config.shift_mels, config.mask_frames)
    encoder = nn.Sequential(augment, ChunkCnn(config.mels, config.width, dim))
    return ChunkTower(frontend, encoder, round(config.chunk_s * sample_rate), dim)
