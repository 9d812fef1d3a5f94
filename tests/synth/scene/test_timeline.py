"""The timeline: durations add up, every event once, all inside the whole."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import count

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from synth.base.errors import SceneError
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, events
from synth.scene.timeline import Placement, duration, timeline
from tests.kit.cases import cases


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
    found = timeline(scene)
    assert [(p.label, p.onset, p.offset) for p in found.placements] == naive(scene)
    assert found.frames == duration(scene) == naive_duration(scene)


@given(scenes())
def test_every_event_is_placed_once_inside_the_whole(scene: Scene) -> None:
    found = timeline(scene)
    assert [place.excerpt for place in found.placements] == [e.heard for e in events(scene)]
    for place in found.placements:
        assert 0 <= place.onset < place.offset <= found.frames
        assert place.frames == place.excerpt.frames
    assert found.labels() == {e.label for e in events(scene)}
    assert min(place.onset for place in found.placements) == 0
    assert max(place.offset for place in found.placements) == found.frames


@given(scenes())
def test_all_is_in_whole_frames(scene: Scene) -> None:
    found = timeline(scene)
    text = json.dumps(asdict(found))
    assert json.loads(text)["frames"] == found.frames
    numbers = [n for p in found.placements for n in (p.onset, p.offset, p.excerpt.start)]
    assert {type(number) for number in [found.frames, *numbers]} == {int}


@cases(("first", "second"), [(10, 4), (4, 10)])
def test_a_crossfade_longer_than_a_part_is_a_scene_error(first: int, second: int) -> None:
    whole = Concat(event("A", first), event("B", second), 5)
    with pytest.raises(SceneError, match="crossfade of 5 frames cannot join"):
        duration(whole)
    with pytest.raises(SceneError, match="crossfade"):
        timeline(whole)
    with pytest.raises(SceneError, match="crossfade"):
        timeline(Overlay(event("C", 3), Concat(whole, event("D", 9))))


@given(scenes(2), scenes(2), st.integers(1, 50))
def test_any_longer_crossfade_is_refused(first: Scene, second: Scene, more: int) -> None:
    with pytest.raises(SceneError):
        timeline(Concat(first, second, min(duration(first), duration(second)) + more))


def test_an_event_without_excerpt_has_no_place() -> None:
    with pytest.raises(SceneError, match="'B' has no excerpt"):
        timeline(Concat(event("A", 3), Event("B")))


@given(scenes())
def test_gain_and_clip_travel_with_the_placement(scene: Scene) -> None:
    assume(len(list(events(scene))) > 1)
    for number, source in enumerate(events(scene)):
        place = timeline(scene).placements[number]
        end = place.onset + source.heard.frames
        assert place == Placement(source.label, place.onset, end, source.heard, number)


def test_positions_past_the_range_of_32_bits_are_exact() -> None:
    numbers = count()
    scene: Scene = event("A", 2**31 - 1)
    while next(numbers) < 5:
        scene = Concat(scene, event("B", 2**31 - 1), 1)
    assert timeline(scene).frames == 6 * (2**31 - 1) - 5
