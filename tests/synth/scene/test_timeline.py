"""The timeline: durations add up, every event once, all inside the whole."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.errors import SceneError
from synth.recipes.casting import fill_labels, random_sequence
from synth.scene.activity import Acoustics, Activity, Stretch
from synth.scene.edit import EditKind, edit_kind, meaning
from synth.scene.scene import (
    Concat,
    Event,
    Excerpt,
    Overlay,
    Scene,
    events,
    labels,
    operands,
    parse,
)
from synth.scene.timeline import (
    PlacedEvent,
    Placement,
    arrange,
    duration,
    is_sequence,
    make_sequence,
    places,
    recompose,
    timeline,
)
from tests.kit.cases import cases
from tests.kit.tables import read_data

CASES = read_data("texts/activities.yaml")


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
        return [(scene.label, 0, scene.played.frames)]
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
        Placement(label, onset, offset, event.played, number)
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


# Arrangements: a scene from places in time, and back


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


# Sequences and their recompositions


LETTERS = "abcdefghijkl"


@cases(("text", "most", "expected"), CASES["sequences"])
def test_what_a_sequence_is(text: str, most: int, expected: bool) -> None:
    assert is_sequence(parse(text), most) is expected


def sequence(count: int, polyphony: int, seed: int) -> Concat:
    """A drawn sequence, never a single overlay."""
    rng = np.random.default_rng(seed)
    while True:
        found = fill_labels(random_sequence(count, polyphony, rng), iter(LETTERS))
        if isinstance(found, Concat):
            return found


@cases(("count", "polyphony"), [(3, 1), (4, 2), (6, 3), (12, 2)])
def test_recompositions_are_other_sequences_one_edit_away(count: int, polyphony: int) -> None:
    for seed in range(6):
        base = sequence(count, polyphony, seed)
        found = list(recompose(base, polyphony))
        forms = [meaning(each) for each in found]
        assert len(set(forms)) == len(forms)
        assert meaning(base) not in forms
        for each in found:
            assert is_sequence(each, polyphony)
            assert sorted(labels(each)) == sorted(labels(base))
            assert edit_kind(each, base) in (EditKind.REORDER, EditKind.RELATION, EditKind.REBIND)
            assert is_close(base, each)


def is_close(base: Scene, other: Scene) -> bool:
    """Whether at most two places of the sequences differ, or one has been parted or joined."""
    ours, theirs = ([frozenset(labels(part)) for part in operands(each)] for each in (base, other))
    if len(ours) == len(theirs):
        return sum(one != two for one, two in zip(ours, theirs, strict=True)) == 2
    gone = [each for each in ours if each not in theirs]
    come = [each for each in theirs if each not in ours]
    return 1 in (len(gone), len(come)) and frozenset().union(*gone) == frozenset().union(*come)


def test_every_kind_of_edit_is_found() -> None:
    base = make_sequence([parse("a * b"), parse("c"), parse("d"), parse("e * f")])
    assert isinstance(base, Concat)
    kinds = {edit_kind(each, base) for each in recompose(base, 2)}
    assert kinds == {EditKind.REORDER, EditKind.RELATION, EditKind.REBIND}


# When a sound is heard: as JSON and back, and what is left of it in a part of the time.


LOUD = Acoustics(-20.0, -18.5, (-20.0, -21.0, -19.0), -20.5, "r1", "far")
LIKELY = (Stretch(8, 33),)
HEARD = Activity((Stretch(10, 20), Stretch(25, 30)), (Stretch(5, 40),), 2, LOUD, LIKELY)
FORM = HEARD.to_json()


@cases("activity", [HEARD, Activity((), ()), Activity((), (Stretch(0, 1),), 0)])
def test_what_is_written_is_read_again(activity: Activity) -> None:
    assert Activity.from_json(activity.to_json()) == activity


@cases("change", CASES["none"])
def test_what_is_no_activity_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SceneError, match=r"^not (an activity|a stretch of time|the acoustics)"):
        Activity.from_json(FORM | change)


@cases(
    ("faint", "pause"),
    [([(5, 40)], 5), ([(10, 20), (25, 60)], 5), ([(0, 3), (9, 40)], 7), ([(10, 31), (50, 52)], 20)],
)
def test_somebody_hears_more_than_what_is_clear_and_a_longer_pause(
    faint: list[tuple[int, int]], pause: int
) -> None:
    whole = tuple(Stretch(*each) for each in faint)
    assert replace(HEARD, faint=whole).longest_pause == pause


def test_a_part_of_a_sound_tells_neither_how_often_it_begins_nor_how_it_sounds() -> None:
    assert HEARD.cut(5, 40) == HEARD
    assert HEARD.cut(12, 27) == Activity(
        (Stretch(12, 20), Stretch(25, 27)), (Stretch(12, 27),), likely=(Stretch(12, 27),)
    )
    assert HEARD.cut(32, 50) == Activity((), (Stretch(32, 40),), likely=(Stretch(32, 33),))
    assert HEARD.shift(7).cut(12, 47) == HEARD.shift(7)
