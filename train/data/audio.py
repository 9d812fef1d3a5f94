"""Audio for the trainer: features kept in memory where they fit, else read and computed anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from synth.base.progress import Observer, Silent
from synth.base.units import Frames, to_frames
from train.config.run import TrainConfig
from train.data.split import SplitData
from train.model.towers.base import AudioTower, Chunks

_READ_TOGETHER: Final = 32
_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class FeatureCache:
    """The features of a whole split.

    Args:
        chunks: Features of all samples, by position.
    """

    chunks: Chunks

    def at(self, positions: Sequence[int]) -> Chunks:
        """The features of a batch."""
        chosen = torch.as_tensor(positions, device=self.chunks.mask.device)
        return Chunks(self.chunks.values[chosen], self.chunks.mask[chosen])


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
    observer: Observer | None = None,
) -> FeatureCache | None:
    """Read a split once and keep its features.

    Args:
        data: The split.
        config: Says how much memory they may take, and whether samples are cropped.
        tower: Gives the features.
        device: Where they are computed and kept.
        observer: Told of the progress.

    Returns:
        The features, or None where they do not fit, or samples are cropped at random.
    """
    if crop_frames(data, config) is not None:
        return None
    silence = torch.zeros(1, data.longest, device=device)
    shape = tower.features(silence).values.shape[1:]
    if len(data) * shape.numel() * _BYTES > config.cache_mb * 2**20:
        return None
    observer = observer or Silent()
    observer.start("features", len(data), "samples")
    values = torch.zeros(len(data), *shape, device=device)
    mask = torch.zeros(len(data), shape[0], dtype=torch.bool, device=device)
    for start in range(0, len(data), _READ_TOGETHER):
        stop = min(start + _READ_TOGETHER, len(data))
        chunks = tower.features(data.waveforms(data.rows(range(start, stop))).to(device))
        count = chunks.mask.shape[1]
        values[start:stop, :count] = chunks.values
        mask[start:stop, :count] = chunks.mask
        observer.advance("features", stop - start)
    observer.finish("features")
    return FeatureCache(Chunks(values, mask))


@dataclass(frozen=True, slots=True)
class AudioBatch:
    """Audio of one batch: where it is not in the cache, as waveform."""

    positions: tuple[int, ...]
    waveform: Tensor | None

    def chunks(self, cache: FeatureCache | None, tower: AudioTower, device: torch.device) -> Chunks:
        """The features, from the cache or from the waveform."""
        if cache is not None:
            return cache.at(self.positions)
        if self.waveform is None:
            raise ValueError("a batch without waveform needs the cache")
        return tower.features(self.waveform.to(device))
