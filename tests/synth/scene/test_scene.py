"""Scenes: values that cannot be wrong, in the papers' notation and in JSON, both ways."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from synth.base.errors import NotationError, SceneError
from synth.corpus.schema import canonical_json
from synth.scene.scene import (
    Concat,
    Event,
    Excerpt,
    Overlay,
    Scene,
    events,
    format_scene,
    from_json,
    from_text,
    labels,
    parse,
    statement,
    to_text,
)
from synth.scene.timeline import timeline
from tests.kit.cases import cases
from tests.kit.tables import read_data

CASES = read_data("texts/notation.yaml")

A, B, C, D = (Event(label) for label in "ABCD")

NASTY = st.text(alphabet="ab ,()'\"\\+*\n\t.é日\u00a0\u2003-_/;0", min_size=1, max_size=10)
LABELS = st.one_of(
    NASTY,
    st.text(min_size=1, max_size=10),
    st.sampled_from(["Whimper (dog)", "a (b", "a) b", ")(", "dentist's drill", '"x"', 'say "x"']),
).filter(lambda text: text.strip() != "")
SCENES: st.SearchStrategy[Scene] = st.recursive(
    st.builds(Event, LABELS),
    lambda inner: st.one_of(st.builds(Concat, inner, inner), st.builds(Overlay, inner, inner)),
    max_leaves=14,
)


@given(SCENES)
@example(Event(" a "))
@example(Event("\\"))
@example(Event('"'))
@example(Concat(Event("(a)"), Overlay(Event("a + b"), Event("a) * (b"))))
def test_format_and_parse_are_inverse(scene: Scene) -> None:
    assert parse(format_scene(scene)) == scene


@given(SCENES, st.integers(0, 3))
def test_more_parentheses_and_spaces_change_nothing(scene: Scene, depth: int) -> None:
    text = "( " * depth + format_scene(scene) + " )\n" * depth
    assert parse(f"  {text}  ") == scene


def parsed(text: str) -> Scene | NotationError:
    try:
        return parse(text)
    except NotationError as error:
        return error


@given(st.text(alphabet="ab ()\"\\+*'", max_size=20))
def test_any_text_is_a_scene_or_an_error_that_points_into_it(text: str) -> None:
    scene = parsed(text)
    if isinstance(scene, NotationError):
        assert 1 <= scene.column <= len(text) + 1
        assert scene.text == text
    else:
        assert parse(format_scene(scene)) == scene


@cases(
    ("text", "scene"),
    [
        ("A", A),
        ("A + B", Concat(A, B)),
        ("A*B", Overlay(A, B)),
        ("A + B * C", Concat(A, Overlay(B, C))),
        ("A * B + C", Concat(Overlay(A, B), C)),
        ("(A + B) * C", Overlay(Concat(A, B), C)),
        ("A + B + C", Concat(Concat(A, B), C)),
        ("A * B * C", Overlay(Overlay(A, B), C)),
        ("A + (B + C)", Concat(A, Concat(B, C))),
        ("A * (B * C)", Overlay(A, Overlay(B, C))),
        ("(A+B)*(C+D)", Overlay(Concat(A, B), Concat(C, D))),
        (
            "(Tap dance + Applause) * Female speech, woman speaking",
            Overlay(
                Concat(Event("Tap dance"), Event("Applause")),
                Event("Female speech, woman speaking"),
            ),
        ),
    ],
)
def test_overlay_binds_tighter_and_both_are_left_associative(text: str, scene: Scene) -> None:
    assert parse(text) == scene
    assert parse(format_scene(scene)) == scene


@cases(("label", "text"), CASES["quoted"])
def test_labels_that_would_be_misread_are_quoted(label: str, text: str) -> None:
    assert format_scene(Event(label)) == text
    assert parse(text) == Event(label)


def test_all_audioset_labels_round_trip(shared_data: Callable[[str], Path]) -> None:
    labels = list(json.loads(shared_data("labels/audioset_527.json").read_text(encoding="utf-8")))
    assert len(labels) == 527
    for label in labels:
        quoted = '"' + label.replace("\\", "\\\\").replace('"', '\\"') + '"'
        for text in (label, quoted, f"({label})", f"({quoted})"):
            assert parse(text) == Event(label)
        assert parse(f"(A + {label}) * {label}") == Overlay(Concat(A, Event(label)), Event(label))
        assert format_scene(Event(label)) == label


@cases(("text", "column", "reason"), CASES["bad"])
def test_bad_notation_points_at_the_column(text: str, column: int, reason: str) -> None:
    with pytest.raises(NotationError, match=reason) as caught:
        parse(text)
    assert caught.value.column == column
    pointer = str(caught.value).splitlines()[-1]
    assert pointer.index("^") - 2 == column - 1


def chain(count: int) -> Scene:
    parts: list[Scene] = [Event("A", Excerpt("c", 0, 8)) for _ in range(count)]
    return reduce(Concat, parts)


def right_chain(count: int) -> Scene:
    scene: Scene = Event("A", Excerpt("c", 0, 8))
    for _ in range(count - 1):
        scene = Overlay(Event("B", Excerpt("c", 0, 8)), scene, 3)
    return scene


@cases("deep", [chain(100), right_chain(100)])
def test_a_scene_of_a_hundred_events_can_be_used(deep: Scene) -> None:
    assert len(timeline(deep).placements) == 100
    assert from_text(to_text(deep)) == deep
    assert parse(format_scene(deep)) == statement(deep)


@cases(
    "text",
    [
        "(" * 50_000 + "A" + ")" * 50_000,
        "(" * 50_000,
        "A + " * 50_000 + "A",
        "A * " * 50_000 + "A",
        "(A + " * 5_000 + "A" + ")" * 5_000,
    ],
)
def test_deep_nesting_is_a_clear_error(text: str) -> None:
    with pytest.raises(NotationError, match="deep"):
        parse(text)


def test_depth_is_that_of_the_scene_not_of_one_level() -> None:
    # Each level kept the limit for itself, so that 100 levels of 100 terms made a scene 5,000 deep
    # that parsed and then broke format, JSON and timeline with RecursionError.
    text = "A"
    for level in range(98, -1, -1):
        text = f"({text})" + " + B" * (99 - level)
    scene = parsed(text)
    if isinstance(scene, NotationError):
        assert "deep" in str(scene)
    else:
        assert parse(format_scene(scene)) == scene


@cases("make", [chain, right_chain])
def test_what_can_be_made_can_be_written_down_and_read(make: Callable[[int], Scene]) -> None:
    # A chain of 150 was formatted into text that parse refused.
    assert parse(format_scene(make(101))) == statement(make(101))
    with pytest.raises(SceneError, match="deep"):
        make(150)


# The scene: values that cannot be wrong, and their JSON.


EXCERPTS = st.builds(
    Excerpt,
    clip=st.text(max_size=8),
    start=st.integers(0, 2**40),
    frames=st.integers(1, 2**40),
    gain_db=st.floats(-200, 200) | st.integers(-200, 200),
)
EVENTS = st.builds(Event, LABELS, st.none() | EXCERPTS)
PLACED_SCENES: st.SearchStrategy[Scene] = st.recursive(
    EVENTS,
    lambda inner: st.one_of(
        st.builds(Concat, inner, inner, st.integers(-(2**40), 2**40)),  # below 0 it is a pause
        st.builds(Overlay, inner, inner, st.integers(-(2**40), 2**40)),
    ),
    max_leaves=12,
)


@given(PLACED_SCENES)
def test_text_is_json_in_canonical_form_and_is_read_again(scene: Scene) -> None:
    text = to_text(scene)
    assert text == canonical_json(json.loads(text))
    assert from_text(text) == scene
    # It travels to workers and is a key.
    again = pickle.loads(pickle.dumps(scene))
    assert again == scene
    assert hash(again) == hash(scene)


@given(PLACED_SCENES)
def test_statement_keeps_labels_and_composition_and_drops_the_rest(scene: Scene) -> None:
    said = statement(scene)
    assert labels(said) == labels(scene)
    assert statement(said) == said
    assert all(event.excerpt is None for event in events(said))
    assert type(said) is type(scene)


def test_what_cannot_be_is_a_scene_error() -> None:
    assert labels(Concat(Overlay(B, A), Concat(A, C))) == ("B", "A", "A", "C")
    for label in ("", " ", "\t\n"):
        with pytest.raises(SceneError, match="label"):
            Event(label)
    for start, frames in ((-1, 5), (0, 0), (0, -3)):
        with pytest.raises(SceneError, match="clip-7"):
            Excerpt("clip-7", start, frames)
    with pytest.raises(SceneError, match="no excerpt"):
        _ = A.played
    deep: Any = E_A
    for _ in range(5000):
        deep = {"overlay": [deep, E_B], "offset": 0}
    with pytest.raises(SceneError):
        from_json(deep)


E_A, E_B = {"event": "a"}, {"event": "b"}
HEARD = {"event": "a", "clip": "c", "start": 0, "frames": 3, "gain_db": 0.0}


@cases("value", read_data("texts/claims.yaml")["no_scenes"])
def test_bad_json_is_a_scene_error(value: Any) -> None:
    with pytest.raises(SceneError):
        from_json(value)


@cases("sign", [1, -1])
@cases("size", [10**400, 2**53 + 1])
def test_numbers_in_json_are_bounded(size: int, sign: int) -> None:
    # math.isfinite raised OverflowError.
    for key in ("start", "frames", "gain_db"):
        with pytest.raises(SceneError) as caught:
            from_json(HEARD | {key: sign * size})
        assert len(str(caught.value)) < 200
    for value in ({"sequence": [E_A, E_B], "crossfade": 0}, {"overlay": [E_A, E_B], "offset": 0}):
        key = list(value)[1]
        with pytest.raises(SceneError):
            from_json(value | {key: sign * size})
