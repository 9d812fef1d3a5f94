"""Audio for the trainer: features kept in memory where they fit, else read and computed anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import torch
from jaxtyping import Int, Int16
from torch import Tensor

from synth.base.progress import UNOBSERVED, Observer
from synth.base.units import Frames, to_frames
from train.config.run import TrainConfig
from train.data.split import SplitData
from train.model.towers.base import AudioTower, Chunks

_TOGETHER: Final = 16
"""Samples that become features at once: their PCM takes least memory, and stays as it is."""
_BYTES: Final = 4
_FULL_SCALE: Final = 32768.0


def hear(pcm: Int16[Tensor, "batch samples"], tower: AudioTower) -> Chunks:
    """The features of a batch, a few samples at a time."""
    parts = [tower.features(part.float() / _FULL_SCALE) for part in torch.split(pcm, _TOGETHER)]
    return Chunks(
        torch.cat([part.values for part in parts]), torch.cat([part.mask for part in parts])
    )


def count_chunks(pcm: Int16[Tensor, "batch samples"], chunk: int) -> Int[Tensor, " batch"]:
    """How many chunks are part of each sound, as `split_chunks` finds it.

    Only what may be silence at the end is looked at, so that it takes next to no time.
    """
    counts = []
    for row in pcm.numpy():
        count = max(-(-len(row) // chunk), 1)
        while count > 1 and not row[(count - 1) * chunk : count * chunk].any():
            count -= 1
        counts.append(count)
    return torch.tensor(counts, dtype=torch.long)


def find_places(counts: Int[Tensor, " batch"], width: int) -> Int[Tensor, " heard"]:
    """Where the first `counts` of `width` chunks are, of all chunks row by row."""
    return (torch.arange(width) < counts[:, None]).flatten().nonzero()[:, 0]


@dataclass(frozen=True, slots=True)
class FeatureCache:
    """The features of a whole split.

    Args:
        chunks: Features of all samples, by position.
        counts: How many chunks are part of each sample, on the CPU.
    """

    chunks: Chunks
    counts: Int[Tensor, " samples"]

    @classmethod
    def of(cls, chunks: Chunks) -> FeatureCache:
        """These features, their chunks counted once."""
        return cls(chunks, chunks.mask.sum(dim=1).cpu())

    def at(self, positions: Sequence[int]) -> Chunks:
        """The features of a batch."""
        chosen = torch.as_tensor(positions)
        values, mask = self.chunks.values, self.chunks.mask
        places = find_places(self.counts[chosen], mask.shape[1])
        rows = chosen.to(mask.device, non_blocking=True)
        return Chunks(values[rows], mask[rows], places.to(mask.device, non_blocking=True))


def crop_frames(data: SplitData, config: TrainConfig) -> Frames | None:
    """Longest that the settings let a sample be; None where no sample is longer."""
    if config.crop_s is None:
        return None
    frames = to_frames(config.crop_s, data.corpus.sample_rate)
    return frames if data.longest > frames else None


def feature_cache(
    data: SplitData,
    config: TrainConfig,
    tower: AudioTower,
    device: torch.device,
    observer: Observer = UNOBSERVED,
) -> FeatureCache | None:
    """Read a split once and keep its features.

    Returns:
        The features, or None where they do not fit, or samples are cropped at random.
    """
    if crop_frames(data, config) is not None:
        return None
    silence = torch.zeros(1, data.longest, device=device)
    shape = tower.features(silence).values.shape[1:]
    if len(data) * shape.numel() * _BYTES > config.cache_mb * 2**20:
        return None
    observer.start("features", len(data), "samples")
    values = torch.zeros(len(data), *shape, device=device)
    mask = torch.zeros(len(data), shape[0], dtype=torch.bool, device=device)
    for start in range(0, len(data), _TOGETHER):
        stop = min(start + _TOGETHER, len(data))
        chunks = hear(data.sounds(data.rows(range(start, stop))).to(device), tower)
        count = chunks.mask.shape[1]
        values[start:stop, :count] = chunks.values
        mask[start:stop, :count] = chunks.mask
        observer.advance("features", stop - start)
    observer.finish("features")
    return FeatureCache.of(Chunks(values, mask))


@dataclass(frozen=True, slots=True)
class AudioBatch:
    """Audio of one batch.

    Args:
        positions: Of the samples in the split.
        pcm: Their audio, where the step computes features on its device.
        counts: How many chunks are part of each sound, where somebody has counted them.
        features: Those, where the loader computes them. Where they are kept, there is neither.
    """

    positions: tuple[int, ...]
    pcm: Int16[Tensor, "batch samples"] | None = None
    counts: Int[Tensor, " batch"] | None = None
    features: Chunks | None = None

    def pinned(self) -> AudioBatch:
        """The same in memory from which a GPU takes it by itself."""
        pcm, features = self.pcm, self.features
        return replace(
            self,
            pcm=None if pcm is None else pcm.pin_memory(),
            features=None if features is None else features.map(Tensor.pin_memory),
        )

    def split(self, count: int) -> list[AudioBatch]:
        """The batch in as many parts, nearly equally large, as `Tensor.tensor_split` has it."""
        size, rest = divmod(len(self.positions), count)
        ends = [number * size + min(number, rest) for number in range(count + 1)]
        return [self._take(slice(start, stop)) for start, stop in pairwise(ends)]

    def _take(self, part: slice) -> AudioBatch:
        pcm, counts, features = self.pcm, self.counts, self.features
        return AudioBatch(
            self.positions[part],
            None if pcm is None else pcm[part],
            None if counts is None else counts[part],
            None if features is None else features.map(lambda values: values[part]),
        )

    def chunks(self, cache: FeatureCache | None, tower: AudioTower, device: torch.device) -> Chunks:
        """The features, from the cache, as they are, or from the PCM."""
        if cache is not None:
            return cache.at(self.positions)
        if self.features is not None:
            counts, width = self.features.mask.sum(dim=1), self.features.mask.shape[1]
            counted = replace(self.features, places=find_places(counts, width))
            return counted.map(lambda part: part.to(device, non_blocking=True))
        if self.pcm is None:
            raise ValueError("a batch without audio needs the cache")
        chunks = hear(self.pcm.to(device, non_blocking=True), tower)
        if self.counts is None:
            return chunks
        places = find_places(self.counts, chunks.mask.shape[1])
        return replace(chunks, places=places.to(device, non_blocking=True))
