"""The halves of a model as modules that torch writes as graphs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from train.model.clap import Clap
from train.model.heads import Tokens
from train.model.towers.base import AudioTower, Chunks
from train.model.towers.spectrogram import SpectrogramTower


class _AllChunks(Chunks):
    """Chunks that are all encoded, so that no shape depends on what is heard."""

    def encode(self, encoder: Callable[[Tensor], Tensor], dim: int) -> Tokens:
        """One token a chunk; those that are no part of the sound are masked as ever."""
        found = encoder(self.values.flatten(0, 1))
        return Tokens(found.reshape(*self.mask.shape, dim), self.mask)


class AudioHalf(nn.Module):
    """From waveform to embedding, in operations whose shapes depend on shapes alone.

    Args:
        model: In evaluation mode; not changed.
    """

    def __init__(self, model: Clap) -> None:
        super().__init__()
        self.tower = _without_fusion(model.audio_tower)
        self.head = model.audio_head

    def forward(self, waveform: Float[Tensor, "batch samples"]) -> Float[Tensor, "batch dim"]:
        """Unit-length embeddings; of a sound that is too long for the model there is none."""
        longest = self.tower.longest
        if longest is not None:
            batch, samples = waveform.shape
            waveform = torch.cat([waveform, waveform.new_zeros(batch, longest - samples)], dim=1)
        found = self.tower.features(waveform)
        return self.head(self.tower(_AllChunks(found.values, found.mask)))  # type: ignore[no-any-return]


class TextHalf(nn.Module):
    """From ids and a mask of integers to embedding.

    Args:
        model: In evaluation mode; not changed.
    """

    def __init__(self, model: Clap) -> None:
        super().__init__()
        self.tower = model.text_tower
        self.head = model.text_head

    def forward(
        self, ids: Int[Tensor, "batch words"], mask: Int[Tensor, "batch words"]
    ) -> Float[Tensor, "batch dim"]:
        """Unit-length embeddings; the first word is always read, as `TextTokenizer` has it."""
        real: Bool[Tensor, "batch words"] = mask > 0
        first = torch.ones_like(real[:, :1])
        return self.head(self.tower(ids, torch.cat([first, real[:, 1:]], dim=1)))  # type: ignore[no-any-return]


def _without_fusion(tower: AudioTower) -> AudioTower:
    """A tower that does not look for longer sounds, of which a fused CLAP hears none in a run."""
    if not (isinstance(tower, SpectrogramTower) and tower.fused):
        return tower
    tower = copy.deepcopy(tower)
    encoder: Any = tower.model.audio_encoder
    tower.fused = encoder.enable_fusion = encoder.patch_embed.enable_fusion = False
    return tower
