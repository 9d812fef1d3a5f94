"""Audio towers over frames, which a model's own feature extractor computes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from synth.audio.dsp import Audio
from synth.base.errors import SpecError
from train.config.model import AudioConfig, TokenKind
from train.model.features import LogMel, SpecAugment, split_chunks
from train.model.heads import Tokens
from train.model.towers.base import AudioTower, Chunks, ChunkTower, TextTower, averaging_weights


@dataclass(frozen=True, slots=True)
class EncodedSounds:
    """What a model makes of sounds.

    Args:
        states: Its last hidden states, evenly spaced in time.
        real: Which of them belong to the sound, or to the silence that the model always hears.
        span: Time that the states cover, in samples.
        summary: The model's own, if it has one.
    """

    states: Float[Tensor, "sounds positions dim"]
    real: Bool[Tensor, "sounds positions"]
    span: float
    summary: Float[Tensor, "sounds dim"] | None = None


class FrameModel(nn.Module, ABC):
    """A transformers model that hears frames, and its feature extractor.

    Args:
        width: Numbers in a frame.
        hop: Step between frames, in samples.
        shortest: Fewest samples that it takes.
        longest: Most samples that it takes; None for any number.
        frames: Frames of its input; None for any number.
    """

    def __init__(
        self,
        model: Any,
        extractor: Any,
        *,
        dim: int,
        width: int,
        hop: int,
        shortest: int = 1,
        longest: int | None = None,
        frames: int | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.extractor = extractor
        self.dim, self.width, self.hop = dim, width, hop
        self.shortest, self.longest, self.frames = shortest, longest, frames

    @abstractmethod
    def count_frames(self, samples: Int[Tensor, " sounds"]) -> Int[Tensor, " sounds"]:
        """How many frames hear something of sounds of these lengths."""

    @abstractmethod
    def extract(self, sounds: Sequence[Audio]) -> Sequence[Float[np.ndarray, "frames width"]]:
        """The frames of sounds; those that `count_frames` does not count may follow."""

    @abstractmethod
    def hear(
        self, frames: Float[Tensor, "sounds frames width"], real: Bool[Tensor, "sounds frames"]
    ) -> EncodedSounds:
        """What the model makes of the frames that are real; the others may hold anything."""

    def fit(
        self, frames: Shaped[Tensor, "sounds some width"], value: float = 0
    ) -> Shaped[Tensor, "sounds frames width"]:
        """As many frames as the model takes, the sound's own and more of one value."""
        missing = 0 if self.frames is None else self.frames - frames.shape[1]
        return nn.functional.pad(frames, (0, 0, 0, missing), value=value)

    def rows(self, chunk: int) -> int:
        """Frames for each chunk, so that those of all chunks hold all frames of a sound."""
        first = int(self.count_frames(torch.tensor([chunk])))
        return max(first, -(-chunk // self.hop))

    def fixed_parameters(self) -> list[nn.Parameter]:
        """Parameters of the model that never learn."""
        return []


class FrameTower(AudioTower):
    """Sounds as frames; tokens are stretches of the model's hidden states, or its summary.

    Args:
        tokens: `chunks`: each chunk is heard alone. `map`: the states of the whole, averaged over
            stretches of one chunk. `pooled`: the model's summary of the whole.
        chunk: Length of a chunk in samples.
    """

    hears_on_cpu = True

    def __init__(self, model: FrameModel, tokens: TokenKind, chunk: int) -> None:
        super().__init__(model.dim)
        self.model = model
        self.tokens = tokens
        self.chunk = chunk
        self.pooled = tokens is TokenKind.POOLED

    @property
    def longest(self) -> int | None:
        """The length of the model's input; any where it hears chunk by chunk."""
        return None if self.tokens is TokenKind.CHUNKS else self.model.longest

    @torch.no_grad()
    def features(self, waveform: Float[Tensor, "batch samples"]) -> Chunks:
        """The frames of each chunk, or those of the whole in equal parts."""
        chunks, mask = split_chunks(waveform, self.chunk)
        if self.tokens is TokenKind.CHUNKS:
            values = waveform.new_zeros(*mask.shape, self._rows, self.model.width)
            values[mask] = self._extract(list(chunks[mask]), self._rows)
            return Chunks(values, mask)
        counts = mask.sum(dim=1)
        self._check_length(counts)
        sounds = [
            row[: int(count)].flatten()[: self.longest]
            for row, count in zip(chunks, counts, strict=True)
        ]
        frames = self._extract(sounds, mask.shape[1] * self._rows)
        return Chunks(frames.reshape(*mask.shape, self._rows, -1), mask)

    @property
    def _rows(self) -> int:
        return self.model.rows(self.chunk)

    def _check_length(self, counts: Int[Tensor, " batch"]) -> None:
        longest, found = self.longest, int(counts.max())
        if longest is not None and (found - 1) * self.chunk >= longest:
            rate = self.model.extractor.sampling_rate
            raise SpecError(
                f"audio of {found * self.chunk / rate:g} s is longer than the "
                f"{longest / rate:g} s that this model takes",
                fix="build the corpus with shorter samples, crop with "
                f"`crop_s: {longest / rate:g}`, or choose `tokens: chunks`",
            )

    def _extract(self, sounds: Sequence[Tensor], rows: int) -> Float[Tensor, "sounds rows width"]:
        device = sounds[0].device
        found = torch.zeros(len(sounds), rows, self.model.width)
        arrays = self.model.extract([sound.cpu().numpy() for sound in sounds])
        for row, frames in zip(found, arrays, strict=True):
            row[: len(frames)] = torch.from_numpy(np.asarray(frames[:rows]))
        return found.to(device)

    def forward(self, chunks: Chunks) -> Tokens:
        """One token a chunk, or one in all."""
        if self.tokens is TokenKind.CHUNKS:
            return chunks.encode(self._hear_chunks, self.dim)
        counts = chunks.mask.sum(dim=1)
        heard = self._hear(chunks.values.flatten(1, 2), counts)
        if heard.summary is not None and self.pooled:
            return Tokens(heard.summary[:, None], chunks.mask[:, :1])
        return Tokens(self._average(heard, chunks.mask.shape[1]), chunks.mask)

    def _hear(
        self, frames: Float[Tensor, "sounds rows width"], counts: Int[Tensor, " sounds"]
    ) -> EncodedSounds:
        samples = (counts * self.chunk).clamp_max(self.longest or torch.iinfo(torch.long).max)
        rows = torch.arange(frames.shape[1], device=frames.device)
        return self.model.hear(frames, rows < self.model.count_frames(samples)[:, None])

    def _hear_chunks(
        self, frames: Float[Tensor, "chunks rows width"]
    ) -> Float[Tensor, "chunks dim"]:
        ones = torch.ones(len(frames), dtype=torch.long, device=frames.device)
        return self._average(self._hear(frames, ones), 1)[:, 0]

    def _average(self, heard: EncodedSounds, tokens: int) -> Float[Tensor, "sounds tokens dim"]:
        states = heard.states
        weights = averaging_weights(states.shape[1], heard.span, self.chunk, tokens, states)
        real = weights * heard.real[:, None]
        total = real.sum(dim=2, keepdim=True)
        # Tokens behind a sound have no states, and no meaning.
        return (real / total.masked_fill(total == 0, 1)) @ states

    def unused_parameters(self) -> list[nn.Parameter]:
        """Those of the model that never learn."""
        return self.model.fixed_parameters()


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
