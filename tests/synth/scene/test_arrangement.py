"""Arrangements: a scene from places in time, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.errors import SceneError
from synth.scene.scene import Concat, Event, Excerpt, Overlay
from synth.scene.timeline import PlacedEvent, arrange, places


def place(label: str, onset: int, frames: int) -> PlacedEvent:
    return PlacedEvent(onset, Event(label, Excerpt(f"lib/{label}", 0, frames)))


@given(sounds=st.lists(st.tuples(st.integers(0, 300), st.integers(1, 120)), min_size=1, max_size=8))
def test_every_sound_begins_at_its_place(sounds: list[tuple[int, int]]) -> None:
    first = min(onset for onset, _ in sounds)
    found = [place(f"s{at}", onset - first, frames) for at, (onset, frames) in enumerate(sounds)]
    scene = arrange(found)
    assert sorted(places(scene), key=lambda each: each.event.label) == found
    assert arrange(reversed(found)) == scene


def test_what_follows_is_joined_and_what_overlaps_is_overlaid() -> None:
    dog, rain, cat = place("dog", 0, 10), place("rain", 15, 20), place("cat", 18, 5)
    assert arrange([dog, rain, cat]) == Concat(dog.event, Overlay(rain.event, cat.event, 3), -5)


def test_silence_does_not_begin_a_scene() -> None:
    with pytest.raises(SceneError, match="frame 0"):
        arrange([place("dog", 1, 10)])
