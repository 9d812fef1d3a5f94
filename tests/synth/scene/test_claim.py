"""Claims: JSON both ways, and the labels they mention."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.errors import SceneError
from synth.corpus.schema import canonical_json
from synth.scene.claim import (
    And,
    Claim,
    Not,
    Only,
    claim_from_json,
    claim_from_text,
    claim_labels,
    claim_to_text,
    parts_of,
)
from synth.scene.scene import Concat, Event, Overlay, Scene
from tests.kit.cases import cases

SCENES: st.SearchStrategy[Scene] = st.recursive(
    st.sampled_from(["a", "and", "not", "event", 'say "b"']).map(Event),
    lambda inner: st.one_of(st.builds(Concat, inner, inner), st.builds(Overlay, inner, inner)),
    max_leaves=5,
)
CLAIMS: st.SearchStrategy[Claim] = st.recursive(
    SCENES,
    lambda inner: st.one_of(
        st.builds(And, inner, inner), st.builds(Not, inner), st.builds(Only, inner)
    ),
    max_leaves=6,
)


@given(CLAIMS)
def test_text_is_json_in_canonical_form_and_is_read_again(claim: Claim) -> None:
    text = claim_to_text(claim)
    assert text == canonical_json(json.loads(text))
    assert claim_from_text(text) == claim


@given(CLAIMS)
def test_labels_survive_negation(claim: Claim) -> None:
    assert claim_labels(Not(claim)) == claim_labels(Only(claim)) == claim_labels(claim)
    assert claim_labels(And(claim, Event("more"))) == claim_labels(claim) | {"more"}


@cases(
    "value",
    [None, 1, "not", [], {}, {"and": [{"event": "a"}]}, {"not": None}, {"or": []}, {"event": ""}],
)
def test_bad_json_is_a_scene_error(value: Any) -> None:
    with pytest.raises(SceneError):
        claim_from_json(value)


def test_a_conjunction_has_the_parts_that_it_joins() -> None:
    one, other, third = Event("a"), Not(Event("b")), Event("c")
    assert parts_of(And(And(one, other), third)) == (one, other, third)
    assert parts_of(And(one, And(other, third))) == (one, other, third)
    assert parts_of(Not(And(one, third))) == (Not(And(one, third)),)
