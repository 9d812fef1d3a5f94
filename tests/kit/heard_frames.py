"""Frames of sounds: a model that hears levels, and scores at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class HalfLevels:
    """Hears how loud the first and the second half of a sound are; its frames are of 0.1 s."""

    sample_rate = 1000
    longest: int | None = None

    def __init__(self, frame: int | None = None) -> None:
        self.frame = frame
        self.lengths: list[int] = []

    def audio(self, waveforms: Sequence[np.ndarray]) -> np.ndarray:
        self.lengths += [len(each) for each in waveforms]
        return np.array([[each.mean(), 1.0] for each in waveforms])

    def frames(self, waveforms: Sequence[np.ndarray]) -> list[np.ndarray]:
        step = self.frame or 1
        return [
            np.array([[each[k : k + step].mean(), 1.0] for k in range(0, len(each), step)])
            for each in waveforms
        ]

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[1.0, 0.0] for _ in texts])


def draw_scores(
    seed: int, samples: int = 12, texts: int = 3, run: int = 6
) -> tuple[list[Any], list[Any]]:
    """Random scores that repeat, and how the sounds are heard."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(8, 20, samples)
    states = [
        np.repeat(rng.integers(0, 3, (count, texts)), run, axis=0).astype(np.int8)
        for count in lengths
    ]
    return [rng.integers(0, 9, each.shape) / 8 for each in states], states
