"""Composing: a statement over labels becomes a scene of excerpts, with joins, places and levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import assert_never

import numpy as np

from synth.audio.dsp import between_class_gains
from synth.base.units import Decibels, Frames, to_decibels
from synth.scene.scene import Concat, Event, Overlay, Scene, operands
from synth.scene.timeline import duration
from synth.truth.ear import BLOCK_S
from synth.truth.listener import Listener


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
        pause: Range of the silence between two joined parts, in frames; none up to 0. It takes the
            place of a crossfade.
    """

    crossfade: float
    mixing: Mixing
    ratio: float
    snr_db: tuple[Decibels, Decibels]
    pause: tuple[Frames, Frames] = (0, 0)


@dataclass(frozen=True, slots=True)
class Composer:
    """Composes statements.

    Args:
        joining: How parts are put together.
        listener: Hears where parts are audible, and how loud they are.
    """

    joining: Joining
    listener: Listener

    def compose(
        self, statement: Scene, sounds: Mapping[str, Event], rng: np.random.Generator
    ) -> Scene:
        """The scene that a statement describes; a shorter part lies at random in a longer one."""
        match statement:
            case Event(label):
                return sounds[label]
            case Concat():
                return self.join([self.compose(p, sounds, rng) for p in operands(statement)], rng)
            case Overlay():
                return self._mix([self.compose(p, sounds, rng) for p in operands(statement)], rng)
            case _:
                assert_never(statement)

    def join(
        self,
        parts: Sequence[Scene],
        rng: np.random.Generator,
        limits: Sequence[Frames] | None = None,
    ) -> Scene:
        """The parts, one after the other, with crossfades or pauses.

        Args:
            parts: At least one.
            rng: Draws pauses.
            limits: The longest crossfade that each part bears; any if None. With limits, parts
                begin with a block of the listener's, so that they are heard as they are alone.
        """
        joined = parts[0]
        for at, (previous, part) in enumerate(pairwise(parts)):
            shorter = min(duration(previous), duration(part))
            crossfade = int(self.joining.crossfade * shorter)
            if limits is not None:
                crossfade = min(crossfade, *limits[at : at + 2])
            crossfade = -self._draw_pause(rng) or crossfade
            if limits is not None:
                crossfade = self._align(crossfade, duration(joined))
            joined = Concat(joined, part, crossfade)
        return joined

    def _align(self, crossfade: Frames, length: Frames) -> Frames:
        """The crossfade, or pause, with which the next part begins with a block, a little later."""
        block = BLOCK_S * self.listener.rate
        return length - round(math.ceil((length - crossfade) / block) * block)

    def _draw_pause(self, rng: np.random.Generator) -> Frames:
        least, most = self.joining.pause
        return int(rng.integers(least, most + 1)) if most > 0 else 0

    def _mix(self, parts: list[Scene], rng: np.random.Generator) -> Scene:
        longest_last = sorted(parts, key=duration)
        mixed = longest_last[0]
        for part in longest_last[1:]:
            part, mixed = self._weigh(part, mixed, rng)
            mixed = Overlay(part, mixed, self._draw_offset(part, mixed, rng))
        return mixed

    def _weigh(
        self, longer: Scene, shorter: Scene, rng: np.random.Generator
    ) -> tuple[Scene, Scene]:
        match self.joining.mixing:
            case Mixing.SUM:
                return longer, shorter
            case Mixing.SNR:
                return longer, amplify(shorter, -float(rng.uniform(*self.joining.snr_db)))
            case Mixing.BETWEEN_CLASS:
                louder, other = map(self.listener.loudest_weighted, (longer, shorter))
                gains = between_class_gains(louder, other, self.joining.ratio)
                one, other = map(to_decibels, gains)
                return amplify(longer, one), amplify(shorter, other)
            case _:
                assert_never(self.joining.mixing)

    def _draw_offset(self, longer: Scene, shorter: Scene, rng: np.random.Generator) -> Frames:
        """Where the shorter part starts: what is heard of it lies within what is of the longer."""
        outer, inner = (self.listener.extent(part) for part in (longer, shorter))
        room = duration(longer) - duration(shorter)
        first = min(max(outer.onset - inner.onset, 0), room)
        last = max(min(outer.offset - inner.offset, room), first)
        return int(rng.integers(first, last + 1))


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
