"""Augmentation of log-mel chunks in training."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn


class SpecAugment(nn.Module):
    """Frequency and time masking (Park et al. 2019, section 2) and small shifts in pitch.

    Each chunk gets a shift and masks of its own, from torch's generator. In evaluation chunks pass
    unchanged.

    Args:
        mask: Most mel bands that are masked; 0 masks none.
        shift: Most mel bands that a chunk is moved up or down; 0 moves none.
        frames: Most frames that are masked; 0 masks none and draws nothing.
    """

    def __init__(self, mask: int, shift: int, frames: int = 0) -> None:
        super().__init__()
        self.mask = mask
        self.shift = shift
        self.frames = frames

    def forward(
        self, chunks: Float[Tensor, "chunks mels frames"]
    ) -> Float[Tensor, "chunks mels frames"]:
        """The chunks, changed in training."""
        if not self.training:
            return chunks
        masked = self._mask_mels(self._shift_mels(chunks))
        # Without time masking the draws are those of runs from before there was any.
        return self._mask_frames(masked) if self.frames else masked

    def _shift_mels(
        self, chunks: Float[Tensor, "chunks mels frames"]
    ) -> Float[Tensor, "chunks mels frames"]:
        count, mels, frames = chunks.shape
        bands = torch.arange(mels, device=chunks.device)
        by = torch.randint(-self.shift, self.shift + 1, (count, 1), device=chunks.device)
        source = (bands + by).clamp(0, mels - 1)
        return chunks.gather(1, source[:, :, None].expand(count, mels, frames))

    def _mask_mels(
        self, chunks: Float[Tensor, "chunks mels frames"]
    ) -> Float[Tensor, "chunks mels frames"]:
        count, mels, _ = chunks.shape
        bands = torch.arange(mels, device=chunks.device)
        width = torch.randint(0, self.mask + 1, (count, 1), device=chunks.device)
        start = (torch.rand(count, 1, device=chunks.device) * (mels - width + 1)).long()
        hidden = (bands >= start) & (bands < start + width)
        return chunks.masked_fill(hidden[:, :, None], 0.0)

    def _mask_frames(
        self, chunks: Float[Tensor, "chunks mels frames"]
    ) -> Float[Tensor, "chunks mels frames"]:
        count, _, frames = chunks.shape
        places = torch.arange(frames, device=chunks.device)
        most = min(self.frames, frames)
        width = torch.randint(0, most + 1, (count, 1), device=chunks.device)
        start = (torch.rand(count, 1, device=chunks.device) * (frames - width + 1)).long()
        hidden = (places >= start) & (places < start + width)
        return chunks.masked_fill(hidden[:, None, :], 0.0)
