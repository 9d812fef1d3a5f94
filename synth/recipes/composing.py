"""Composing: a statement over labels becomes a scene of excerpts, with joins, places and levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import assert_never

import numpy as np

from synth.base.units import Decibels
from synth.scene.scene import Concat, Event, Overlay, Scene, operands
from synth.scene.timeline import duration


class Mixing(StrEnum):
    """How overlaid parts are weighed.

    `between_class`: by perceived pressure at a ratio (Tokozume et al., 2018). `snr`: the shorter
    part is set against the longer by a level drawn from a range. `sum`: as they are.
    """

    BETWEEN_CLASS = "between_class"
    SNR = "snr"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class Joining:
    """How parts are put together.

    Args:
        crossfade: Share of the shorter of two joined parts over which they overlap.
        mixing: How overlaid parts are weighed.
        ratio: Mixing ratio of `between_class`.
        snr_db: Range of the longer part's level over the shorter one's, for `snr`.
    """

    crossfade: float
    mixing: Mixing
    ratio: float
    snr_db: tuple[Decibels, Decibels]


def compose(
    statement: Scene, sounds: Mapping[str, Event], joining: Joining, rng: np.random.Generator
) -> Scene:
    """The scene that a statement describes; a shorter part lies at random inside a longer one."""
    match statement:
        case Event(label):
            return sounds[label]
        case Concat():
            parts = [compose(part, sounds, joining, rng) for part in operands(statement)]
            return _join(parts, joining)
        case Overlay():
            parts = [compose(part, sounds, joining, rng) for part in operands(statement)]
            return _mix(parts, joining, rng)
        case _:
            assert_never(statement)


def _join(parts: list[Scene], joining: Joining) -> Scene:
    joined = parts[0]
    for previous, part in pairwise(parts):
        shorter = min(duration(previous), duration(part))
        joined = Concat(joined, part, int(joining.crossfade * shorter))
    return joined


def _mix(parts: list[Scene], joining: Joining, rng: np.random.Generator) -> Scene:
    longest_last = sorted(parts, key=duration)
    mixed = longest_last[0]
    ratio = joining.ratio if joining.mixing is Mixing.BETWEEN_CLASS else None
    for part in longest_last[1:]:
        if joining.mixing is Mixing.SNR:
            mixed = amplify(mixed, -round(float(rng.uniform(*joining.snr_db)), 2))
        room = duration(part) - duration(mixed)
        mixed = Overlay(part, mixed, int(rng.integers(room + 1)), ratio)
    return mixed


def amplify(scene: Scene, gain_db: Decibels) -> Scene:
    """The scene with every sound raised by `gain_db`."""
    match scene:
        case Event(label):
            heard = scene.heard
            return Event(label, replace(heard, gain_db=round(heard.gain_db + gain_db, 2)))
        case Concat(first, second) | Overlay(first, second):
            return replace(scene, first=amplify(first, gain_db), second=amplify(second, gain_db))
        case _:
            assert_never(scene)
