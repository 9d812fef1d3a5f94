"""Composing: joins, places and levels of what a statement says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.recipes.composing import Composer, Mixing, amplify
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, events, parse
from synth.scene.timeline import duration, timeline
from synth.truth.ear import Ear, Envelope
from synth.truth.listener import Listener

RATE = 400
BLOCK = 20
QUIET = -100.0


def composer(
    weighted: dict[str, list[float]], mixing: Mixing = Mixing.BETWEEN_CLASS, ratio: float = 0.5
) -> Composer:
    """Over clips of these A-weighted levels; unweighted ones say nothing of how loud they seem."""
    envelopes = {
        name: Envelope((-20.0,) * len(each), tuple(each), BLOCK, BLOCK * len(each))
        for name, each in weighted.items()
    }
    return Composer(Listener(Ear(), RATE, envelopes), 0.1, mixing, ratio, (-6.0, 6.0))


def composed(
    statement: str, weighted: dict[str, list[float]], ratio: float, gains: dict[str, float]
) -> Scene:
    sounds = {
        name: Event(name, Excerpt(name, 0, BLOCK * len(each), gains.get(name, 0.0)))
        for name, each in weighted.items()
    }
    made = composer(weighted, ratio=ratio)
    return made.compose(parse(statement), sounds, np.random.default_rng(0))


def published(louder: float, other: float, ratio: float) -> tuple[float, float]:
    """Tokozume et al., 2018, in dB: t = 1 / (1 + 10^((G1 - G2) / 20) (1 - r) / r)."""
    t = 1 / (1 + 10 ** ((louder - other) / 20) * (1 - ratio) / ratio)
    root = math.sqrt(t * t + (1 - t) * (1 - t))
    return 20 * math.log10(t / root), 20 * math.log10((1 - t) / root)


LEVELS = st.floats(-50, -10)


@given(LEVELS, LEVELS, st.floats(0.2, 0.8), st.floats(-10, 10))
def test_two_sounds_are_weighed_by_their_loudest_blocks(
    loud: float, soft: float, ratio: float, gain: float
) -> None:
    weighted = {"a": [loud - 30] * 10 + [loud] + [loud - 8] * 30, "b": [soft - 3] * 20 + [soft]}
    gain = round(gain, 2)
    for statement in ("a * b", "b * a"):
        scene = composed(statement, weighted, ratio, {"a": gain})
        assert isinstance(scene, Overlay)
        found = {event.label: event.played.gain_db for event in events(scene)}
        # The longer sound is the first, whichever is named first.
        one, other = published(loud + gain, soft, ratio)
        assert found["a"] == pytest.approx(gain + one, abs=0.006)
        assert found["b"] == pytest.approx(other, abs=0.006)


def test_parts_are_weighed_as_wholes() -> None:
    """A joined part is as loud as its louder sound, and its sounds are raised alike."""
    weighted = {"a": [-30.0] * 30, "b": [-20.0] * 30, "c": [-26.0] * 20}
    scene = composed("(a + b) * c", weighted, 0.5, {})
    found = {event.label: event.played.gain_db for event in events(scene)}
    one, other = published(-20.0, -26.0, 0.5)
    assert found["a"] == found["b"] == pytest.approx(one, abs=0.006)
    assert found["c"] == pytest.approx(other, abs=0.006)


def test_nothing_but_overlays_is_weighed() -> None:
    weighted = {"a": [-30.0] * 30, "b": [-20.0] * 20}
    scene = composed("a + b", weighted, 0.5, {"a": 3.0, "b": -2.0})
    assert isinstance(scene, Concat)
    assert scene.crossfade == 2 * BLOCK
    assert [event.played.gain_db for event in events(scene)] == [3.0, -2.0]


@given(st.integers(0, 2**32 - 1))
def test_the_shorter_sound_is_heard_within_what_is_heard_of_the_longer(seed: int) -> None:
    levels = {
        "a": (QUIET,) * 10 + (-20.0,) * 40 + (QUIET,) * 20,
        "b": (QUIET,) * 5 + (-20.0,) * 10 + (QUIET,) * 3,
    }
    envelopes = {
        name: Envelope(each, each, BLOCK, BLOCK * len(each)) for name, each in levels.items()
    }
    made = Composer(Listener(Ear(), RATE, envelopes), 0.1)
    sounds = {
        name: Event(name, Excerpt(name, 0, BLOCK * len(each))) for name, each in levels.items()
    }
    scene = made.compose(parse("b * a"), sounds, np.random.default_rng(seed))
    assert duration(scene) == 70 * BLOCK
    inner = next(place for place in timeline(scene).placements if place.label == "b")
    assert inner.onset + 5 * BLOCK >= 10 * BLOCK
    assert inner.onset + 15 * BLOCK <= 50 * BLOCK


def test_amplify_raises_every_sound() -> None:
    scene = Overlay(
        Concat(Event("a", Excerpt("a", 0, 9, 1.0)), Event("b", Excerpt("b", 0, 9)), 2),
        Event("c", Excerpt("c", 0, 9, -4.0)),
        3,
    )
    raised = amplify(scene, 2.004)
    assert [event.played.gain_db for event in events(raised)] == [3.0, 2.0, -2.0]
    assert timeline(raised).joins == timeline(scene).joins
    assert isinstance(raised, Overlay)
    assert raised.offset == 3
