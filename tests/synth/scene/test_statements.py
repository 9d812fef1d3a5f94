"""What claims state: equal for the same meaning, another for every edit."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from synth.base.errors import SceneError
from synth.scene.claim import And, Claim, Count, Measured, Not, Only, Part, Quantity
from synth.scene.edit import meaning, recompositions
from synth.scene.scene import Event, Scene, parse
from synth.scene.statements import Statement, classify, complete, state
from tests.kit.cases import cases

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


@cases(
    ("claim", "kind"),
    [
        (DOG, "presence"),
        (And(DOG, RAIN), "presence"),
        (parse("dog + rain"), "order"),
        (parse("dog * rain"), "together"),
        (parse("dog * rain + cat"), "order and together"),
        (And(parse("dog + cat"), Not(RAIN)), "negation"),
        (Only(DOG), "negation"),
        (Count(DOG, 3), "count"),
        (And(parse("dog * rain"), Measured(Quantity.LOUDER, (DOG, RAIN), 1)), "measured"),
    ],
)
def test_kinds(claim: Claim, kind: str) -> None:
    assert classify(claim) == kind
