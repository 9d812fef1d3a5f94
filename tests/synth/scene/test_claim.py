"""Claims: JSON both ways, and the labels they mention."""

from __future__ import annotations

import json
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.errors import SceneError
from synth.corpus.schema import canonical_json
from synth.scene.claim import (
    And,
    Claim,
    Count,
    Measured,
    Not,
    Only,
    Part,
    Quantity,
    Statement,
    claim_from_json,
    claim_from_text,
    claim_labels,
    claim_to_text,
    classify,
    complete,
    parts_of,
    state,
)
from synth.scene.edit import meaning, recompositions
from synth.scene.scene import Concat, Event, Overlay, Scene, parse
from tests.kit.cases import cases
from tests.kit.tables import read_data
from tests.synth.truth.cases import read_claim

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


# What claims state: equal for the same meaning, another for every edit


DOG, RAIN = Event("dog"), Event("rain")


def _every_composition(least: int = 12) -> list[Scene]:
    """Compositions of four sounds, each with all that is one edit away, and so on."""
    found = {meaning(first): first for first in map(parse, ("a", "a + b", "a + b + c", "a * b"))}
    waiting = [parse("(a + b) * c + d"), parse("a * b * c * d"), parse("(a + b) * (c + d)")]
    while waiting and len(found) < 400:
        scene = waiting.pop(0)
        if meaning(scene) not in found:
            found[meaning(scene)] = scene
            waiting += recompositions(scene)
    assert len(found) > least
    return list(found.values())


def test_compositions_state_the_same_if_and_only_if_they_mean_the_same() -> None:
    every = _every_composition()
    assert len({state(scene) for scene in every}) == len(every)
    for one, other in (("(a + b) + c", "a + (b + c)"), ("a * b", "b * a"), ("(a*b)*c", "a*(c*b)")):
        assert state(parse(one)) == state(parse(other))


def test_what_repeats_a_sound_is_not_taken_for_another_order_of_the_same() -> None:
    one, other = parse("a + b + a"), parse("b + a + b")
    assert state(one) != state(other)
    read = [each for each in state(other) if each.says in ("heard", "before")]
    assert complete(read) not in (state(one), state(other))
    assert (classify(one), classify(parse("a * a"))) == ("order", "together")


def test_pairs_that_follow_may_be_left_out() -> None:
    told = [Statement("before", pair) for pair in (("a", "b"), ("b", "c"))]
    assert complete(told) == state(parse("a + b + c"))
    together = [Statement("together", pair) for pair in (("b", "a"), ("b", "c"))]
    assert complete(together) != state(parse("a * b * c"))


def test_what_a_statement_implies_may_be_stated_too() -> None:
    gap = Measured(Quantity.GAP, (DOG, RAIN), 32_000)
    assert state(gap, 16_000) == state(And(gap, parse("dog + rain")), 16_000)
    again = Measured(Quantity.AGAIN_LOUDER, (DOG,), 1)
    assert state(again) == state(And(Count(DOG, 2), again))
    assert state(Count(DOG, 2)) != state(again)
    assert state(And(DOG, Not(RAIN))) == state(And(Not(RAIN), And(DOG, DOG)))


def test_each_claim_states_something_else() -> None:
    claims: list[Claim] = [
        *(DOG, RAIN, And(DOG, RAIN), And(DOG, Not(RAIN)), And(RAIN, Not(DOG)), Only(DOG)),
        *(parse(each) for each in ("dog + rain", "rain + dog", "dog * rain")),
        *(Count(DOG, times) for times in (1, 2, 3)),
        *(Measured(Quantity.POSITION, (DOG,), part) for part in Part),
    ]
    for quantity, value in product(Quantity, (-1, 1)):
        times = (8_000, 48_000) if quantity.is_time else (value,)
        if quantity is not Quantity.POSITION:
            of = (DOG, RAIN)[: quantity.arity]
            claims += [Measured(quantity, of, each) for each in times]
            claims += [Measured(quantity, of[::-1], each) for each in times]
    unlike = list(dict.fromkeys(claims))
    same = {Quantity.LONGER, Quantity.LOUDER}
    for one, other in combinations(unlike, 2):
        turned = (
            isinstance(one, Measured)
            and isinstance(other, Measured)
            and one.quantity is other.quantity
            and one.quantity in same
            and (one.of, one.value) == (other.of[::-1], -other.value)
        )
        assert (state(one, 16_000) == state(other, 16_000)) is turned, (one, other)


def test_times_are_compared_to_a_tenth_of_a_second() -> None:
    heard = state(Measured(Quantity.DURATION, (DOG,), 7_718), 11_025)
    assert heard == complete([Statement("lasts", ("dog",), 0.7)])
    with pytest.raises(SceneError, match="unknown rate"):
        state(Measured(Quantity.ONSET, (DOG,), 1))


@cases(("claim", "kind"), read_data("texts/claims.yaml")["kinds"])
def test_kinds(claim: str, kind: str) -> None:
    assert classify(read_claim(claim)) == kind
