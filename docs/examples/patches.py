"""A pair of towers of one's own: short patches of waveform, and words without order."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from train.config.model import AudioConfig, TextConfig
from train.model.features import split_chunks
from train.model.heads import Tokens
from train.model.towers.base import AudioTower, Chunks, TextTower


class Patches(AudioTower):
    """One token for each chunk, by a linear layer over patches of its samples."""

    def __init__(self, chunk: int, patch: int, dim: int) -> None:
        super().__init__(dim)
        self.chunk = chunk
        self.patch = patch
        self.layer = nn.Linear(patch, dim)

    @classmethod
    def build(cls, config: AudioConfig, sample_rate: int) -> Patches:
        """The tower of a run's settings."""
        return cls(round(config.chunk_s * sample_rate), int(config.settings.get("patch", 400)), 32)

    @torch.no_grad()
    def features(self, waveform: Float[Tensor, "batch samples"]) -> Chunks:
        """The patches of each chunk."""
        chunks, mask = split_chunks(waveform, self.chunk)
        return Chunks(chunks.unfold(2, self.patch, self.patch), mask)

    def forward(self, chunks: Chunks) -> Tokens:
        """One token a chunk."""
        return Tokens(self.layer(chunks.values).relu().mean(dim=2), chunks.mask)


class Bag(TextTower):
    """The mean of learned word vectors."""

    pooled = True

    def __init__(self, vocabulary: int, dim: int) -> None:
        super().__init__(dim)
        self.words = nn.Embedding(vocabulary, dim)

    @classmethod
    def build(cls, config: TextConfig, vocabulary: int) -> Bag:
        """The tower of a run's settings."""
        return cls(vocabulary, 32)

    def forward(self, ids: Int[Tensor, "batch words"], mask: Bool[Tensor, "batch words"]) -> Tokens:
        """One token a text."""
        words = self.words(ids) * mask[..., None]
        mean = words.sum(dim=1, keepdim=True) / mask.sum(dim=1)[:, None, None]
        return Tokens(mean, mask[:, :1])
