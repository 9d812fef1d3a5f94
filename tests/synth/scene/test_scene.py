"""The scene: values that cannot be wrong, and their JSON."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.errors import SceneError
from synth.corpus.schema import canonical_json
from synth.scene.scene import (
    Concat,
    Event,
    Excerpt,
    Overlay,
    Scene,
    events,
    from_json,
    from_text,
    labels,
    statement,
    to_text,
)
from tests.kit.cases import cases
from tests.kit.tables import read_cases

LABELS = st.text(min_size=1, max_size=12).filter(lambda text: text.strip() != "")
EXCERPTS = st.builds(
    Excerpt,
    clip=st.text(max_size=8),
    start=st.integers(0, 2**40),
    frames=st.integers(1, 2**40),
    gain_db=st.floats(-200, 200) | st.integers(-200, 200),
)
EVENTS = st.builds(Event, LABELS, st.none() | EXCERPTS)
SCENES: st.SearchStrategy[Scene] = st.recursive(
    EVENTS,
    lambda inner: st.one_of(
        st.builds(Concat, inner, inner, st.integers(-(2**40), 2**40)),  # below 0 it is a pause
        st.builds(Overlay, inner, inner, st.integers(-(2**40), 2**40)),
    ),
    max_leaves=12,
)
A, B, C = Event("A"), Event("B"), Event("C")


@given(SCENES)
def test_text_is_json_in_canonical_form_and_is_read_again(scene: Scene) -> None:
    text = to_text(scene)
    assert text == canonical_json(json.loads(text))
    assert from_text(text) == scene
    # It travels to workers and is a key.
    again = pickle.loads(pickle.dumps(scene))
    assert again == scene
    assert hash(again) == hash(scene)


@given(SCENES)
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
        _ = A.heard
    deep: Any = E_A
    for _ in range(5000):
        deep = {"overlay": [deep, E_B], "offset": 0}
    with pytest.raises(SceneError):
        from_json(deep)


E_A, E_B = {"event": "a"}, {"event": "b"}
HEARD = {"event": "a", "clip": "c", "start": 0, "frames": 3, "gain_db": 0.0}


@cases("value", read_cases("texts/claims.yaml")["no_scenes"])
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
