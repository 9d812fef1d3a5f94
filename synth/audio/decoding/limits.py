"""Which files are decoded at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from synth.base.errors import ClipError
from synth.base.units import Frames, Seconds

MAX_SAMPLES: Final = 1 << 30
"""Frames times channels that are decoded at most (4 GiB), whatever the limits say."""


class Mislabelled(StrEnum):
    """What becomes of a file whose content is of another format than its name says."""

    REFUSE = "refuse"
    ACCEPT = "accept"


@dataclass(frozen=True, slots=True)
class Limits:
    """Which files are decoded; the defaults stop nothing but nonsense.

    Args:
        max_s: Longest file.
        max_channels: Most channels.
        min_rate: Lowest sampling rate in Hz.
        max_rate: Highest sampling rate in Hz.
        mislabelled: Whether a file's name must tell its format.
    """

    max_s: Seconds = 3600.0
    max_channels: int = 64
    min_rate: int = 1_000
    max_rate: int = 768_000
    mislabelled: Mislabelled = Mislabelled.ACCEPT

    def check(self, channels: int, rate: int) -> None:
        """Check what a file's header says of its form."""
        if rate < self.min_rate:
            raise ClipError(f"is sampled at {rate:,} Hz; clips.min_rate is {self.min_rate:,} Hz")
        if rate > self.max_rate:
            raise ClipError(f"is sampled at {rate:,} Hz; clips.max_rate is {self.max_rate:,} Hz")
        if channels < 1:
            raise ClipError(f"has {channels} channels according to its header")
        if channels > self.max_channels:
            raise ClipError(f"has {channels} channels; clips.max_channels is {self.max_channels}")

    def check_length(self, frames: Frames, channels: int, rate: int) -> None:
        """Check how long a file is, or says that it is."""
        if frames > self.max_s * rate:
            raise ClipError(f"lasts {frames / rate:,.1f} s; clips.max_s is {self.max_s:g} s")
        if frames * channels > MAX_SAMPLES:
            raise ClipError(f"needs {frames * channels * 4 / 2**30:.1f} GiB of memory")


_LIMITS: ContextVar[Limits | None] = ContextVar("limits of audio files", default=None)


@contextmanager
def use_limits(limits: Limits) -> Iterator[None]:
    """Within the block `read_audio` keeps to `limits`, whichever source calls it."""
    token = _LIMITS.set(limits)
    try:
        yield
    finally:
        _LIMITS.reset(token)


def current_limits() -> Limits:
    """Those of the innermost `use_limits`, else the defaults."""
    return _LIMITS.get() or Limits()
