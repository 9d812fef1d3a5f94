"""The timeline: durations add up, every event once, all inside the whole."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.errors import SceneError
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, events
from synth.scene.timeline import Placement, duration, timeline


def event(label: str, frames: int) -> Event:
    return Event(label, Excerpt(label.lower(), 0, frames))


@st.composite
def scenes(draw: st.DrawFn, depth: int = 3) -> Scene:
    """Scenes that can exist: no crossfade is longer than its parts."""
    kind = draw(st.sampled_from(["event", "sequence", "overlay"])) if depth else "event"
    if kind == "event":
        return event(draw(st.sampled_from("ABCD")), draw(st.integers(1, 60)))
    first, second = draw(scenes(depth - 1)), draw(scenes(depth - 1))
    if kind == "sequence":
        longest = min(naive_duration(first), naive_duration(second))
        return Concat(first, second, draw(st.integers(0, longest)))
    return Overlay(first, second, draw(st.integers(-90, 90)))


def naive_duration(scene: Scene) -> int:
    return max(offset for _, _, offset in naive(scene))


def naive(scene: Scene) -> list[tuple[str, int, int]]:
    """(label, onset, offset) from the definition: lay out both parts, then shift to start at 0."""
    if isinstance(scene, Event):
        return [(scene.label, 0, scene.heard.frames)]
    first, second = naive(scene.first), naive(scene.second)
    if isinstance(scene, Concat):
        shift = max(end for _, _, end in first) - scene.crossfade
    else:
        shift = scene.offset
    both = first + [(label, on + shift, off + shift) for label, on, off in second]
    start = min(0, shift)
    return [(label, on - start, off - start) for label, on, off in both]


@given(scenes())
def test_it_equals_the_definition(scene: Scene) -> None:
    placed = timeline(scene)
    definition = naive(scene)
    assert placed.placements == tuple(
        Placement(label, onset, offset, event.heard, number)
        for number, ((label, onset, offset), event) in enumerate(
            zip(definition, events(scene), strict=True)
        )
    )
    assert placed.frames == duration(scene) == naive_duration(scene)
    assert placed.labels() == {event.label for event in events(scene)}
    assert min(onset for _, onset, _ in definition) == 0
    text = json.dumps(asdict(placed))
    assert json.loads(text)["frames"] == placed.frames
    numbers = [n for p in placed.placements for n in (p.onset, p.offset, p.excerpt.start)]
    assert {type(number) for number in [placed.frames, *numbers]} == {int}


@given(scenes(2), scenes(2), st.integers(1, 50))
def test_a_crossfade_longer_than_a_part_is_a_scene_error(
    first: Scene, second: Scene, more: int
) -> None:
    crossfade = min(duration(first), duration(second)) + more
    whole = Concat(first, second, crossfade)
    for place in (duration, timeline):
        with pytest.raises(SceneError, match=f"crossfade of {crossfade} frames cannot join"):
            place(whole)
    with pytest.raises(SceneError, match="crossfade"):
        timeline(Overlay(event("C", 3), Concat(whole, event("D", 9))))


def test_an_event_without_excerpt_has_no_place() -> None:
    with pytest.raises(SceneError, match="'B' has no excerpt"):
        timeline(Concat(event("A", 3), Event("B")))


def test_positions_past_the_range_of_32_bits_are_exact() -> None:
    numbers = count()
    scene: Scene = event("A", 2**31 - 1)
    while next(numbers) < 5:
        scene = Concat(scene, event("B", 2**31 - 1), 1)
    assert timeline(scene).frames == 6 * (2**31 - 1) - 5
