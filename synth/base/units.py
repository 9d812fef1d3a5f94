"""Seconds and decibels at the edge, integer samples and linear gain inside; one rounding rule."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
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


# Names that are misspelt: what was meant, or what there is.


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known name that a misspelt one is most like; upper and lower case do not count.

    Args:
        name: As it was spelt.
        known: As they are spelt.
        likeness: Least that the two must have, 0 to 1: `difflib.SequenceMatcher.ratio`.

    Returns:
        None where none is near.
    """
    spelt = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(name.strip().casefold(), spelt, 1, likeness)
    return spelt[near[0]] if near else None


def suggestion(name: str, known: Iterable[str]) -> str:
    """The fix for a name that is none of the known ones.

    Returns:
        `did you mean 'esc50'?`, or all that there are where none is near.
    """
    names = tuple(known)
    near = nearest(name, names)
    return f"did you mean {near!r}?" if near else list_known(names)


def list_known(names: Sequence[str]) -> str:
    """`there is a`, `there are a, b`."""
    return f"there {'is' if len(names) == 1 else 'are'} {', '.join(names)}"
