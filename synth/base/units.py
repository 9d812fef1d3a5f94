"""Seconds and decibels at the edge, integer samples and linear gain inside; one rounding rule."""

from __future__ import annotations

import math
from typing import TypeAlias

Seconds: TypeAlias = float
Decibels: TypeAlias = float
Frames: TypeAlias = int


def to_frames(seconds: Seconds, rate: int) -> Frames:
    """Sample frames in `seconds` at `rate` Hz, halves rounded up.

    Raises:
        ValueError: If `seconds` is negative or not finite.
    """
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError(f"a duration must be finite and not negative, got {seconds}")
    return math.floor(seconds * rate + 0.5)


def to_seconds(frames: Frames, rate: int) -> Seconds:
    """Duration in seconds of `frames` sample frames at `rate` Hz."""
    return frames / rate


def resampled_frames(frames: Frames, rate: int, target_rate: int) -> Frames:
    """Frames that `frames` at `rate` Hz fill at `target_rate` Hz, in exact integer arithmetic."""
    return (2 * frames * target_rate + rate) // (2 * rate)


def to_gain(decibels: Decibels) -> float:
    """Linear amplitude of a level in dB."""
    return float(10.0 ** (decibels / 20.0))


def to_decibels(gain: float, floor: Decibels = -120.0) -> Decibels:
    """Level in dB of a linear amplitude, never below `floor`."""
    return max(20.0 * math.log10(gain), floor) if gain > 0 else floor
