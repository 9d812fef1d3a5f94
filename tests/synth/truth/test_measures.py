"""Measured claims: how long, when, how loud and how otherwise; in frames of 10 ms."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from random import Random

import pytest

from synth.base.errors import SceneError
from synth.labels.lexicon import Treatment
from synth.scene.activity import Acoustics
from synth.scene.claim import Claim, Measured, Part, Quantity, claim_from_text, claim_to_text
from synth.scene.scene import Event
from synth.scene.timeline import Timeline, timeline
from synth.truth.relations import Tolerance
from synth.truth.truth import proves, refutes
from tests.kit.cases import cases
from tests.kit.tables import read_data
from tests.synth.truth.cases import AUDIBLE, draw_case, read_heard
from tests.synth.truth.oracle import Oracle
from tests.synth.truth.test_oracle import production
from tests.synth.truth.test_oracle import verdict as judge_again

CASES = read_data("texts/measures.yaml")

Q = Quantity
A, B = Event("A"), Event("B")
DOG = Event("dog")
TOLERANCE = Tolerance(audible=AUDIBLE)


def tell(quantity: Quantity, value: int, *of: Event) -> Measured:
    return Measured(quantity, of or (A,), value)


def acoustics(
    mean: float = -20.0,
    peak: float = -15.0,
    thirds: tuple[float, float, float] = (-20.0, -20.0, -20.0),
    recording: str = "r",
    treatment: str = "",
    lufs: float | None = None,
) -> Acoustics:
    return Acoustics(mean, peak, thirds, mean if lufs is None else lufs, recording, treatment)


def sounds(text: str, *how: Acoustics | None) -> Timeline:
    """What a text says is heard, and how each sound of it sounds."""
    heard = read_heard(text)
    places = [
        place._replace(activity=replace(place.heard, acoustics=each))
        for place, each in zip(heard.placements, how, strict=True)
    ]
    return replace(heard, placements=tuple(places))


def verdict(where: Timeline, claim: Claim) -> str:
    """What production says; the second judge must say so, too."""
    found = production(where, claim)
    assert found == judge_again(where, claim)
    return found


def two(first: Acoustics | None, second: Acoustics | None, label: str = "B") -> Timeline:
    return sounds(f"{label.replace('B', 'A')} 0-100 | {label} 140-240", first, second)


@cases(
    ("first", "second", "expected"),
    [
        (acoustics(-20, -15), acoustics(-26, -21), "proven"),
        (acoustics(-20, -15), acoustics(-26, -20.9), "neither"),
        (acoustics(-20, -15), acoustics(-25.9, -21), "neither"),
        (acoustics(-20, -15), acoustics(-17, -12), "refuted"),
        (acoustics(-20, -15), acoustics(-17, -12.1), "neither"),
        # Weighted for loudness, one is hardly louder, or no quieter.
        (acoustics(-20, -15), acoustics(-30, -25, lufs=-25.9), "neither"),
        (acoustics(-20, -15), acoustics(-14, -9, lufs=-17.1), "neither"),
        # One is louder on the whole, the other at its loudest.
        (acoustics(-20, -15), acoustics(-30, -5), "neither"),
        (acoustics(-20, -15), None, "neither"),
    ],
)
def test_louder_is_what_is_so_on_the_whole_and_at_its_loudest(
    first: Acoustics, second: Acoustics | None, expected: str
) -> None:
    assert verdict(two(first, second), tell(Q.LOUDER, 1, A, B)) == expected
    assert verdict(two(first, second), tell(Q.LOUDER, -1, B, A)) == expected
    again = two(second, first, "A")
    assert verdict(again, tell(Q.AGAIN_LOUDER, 1)) == expected
    assert verdict(two(first, second, "A"), tell(Q.AGAIN_LOUDER, -1)) == expected


@cases(
    ("thirds", "expected"),
    [
        ((-30, -27, -24), "proven"),
        ((-30, -27.1, -24), "neither"),
        ((-30, -20, -24), "neither"),
        ((-24, -24, -24), "neither"),
        ((-24, -24, -27), "refuted"),
        # It rises before it falls, or after that.
        ((-24, -20, -30), "neither"),
        ((-20, -30, -24), "neither"),
    ],
)
def test_what_gets_louder_does_so_from_third_to_third(
    thirds: tuple[float, float, float], expected: str
) -> None:
    assert verdict(sounds("A 0-300", acoustics(thirds=thirds)), tell(Q.TREND, 1)) == expected
    fades = acoustics(thirds=thirds[::-1])
    assert verdict(sounds("A 0-300", fades), tell(Q.TREND, -1)) == expected


@cases(
    ("quantity", "less", "more"),
    [
        (Q.AGAIN_ROOMIER, "", Treatment.HALL),
        (Q.AGAIN_FARTHER, "", Treatment.FAR),
        (Q.AGAIN_HIGHER, "", Treatment.HIGH),
        (Q.AGAIN_HIGHER, Treatment.LOW, ""),
        (Q.AGAIN_HIGHER, Treatment.LOW, Treatment.HIGH),
        (Q.AGAIN_FASTER, Treatment.SLOW, Treatment.FAST),
    ],
)
def test_a_recording_is_compared_with_itself(quantity: Quantity, less: str, more: str) -> None:
    quiet = -15 if more == Treatment.FAR else 0
    one = acoustics(treatment=less)
    other = acoustics(-20 + quiet, -15 + quiet, treatment=more)
    assert verdict(two(one, other, "dog"), tell(quantity, 1, DOG)) == "proven"
    assert verdict(two(one, other, "dog"), tell(quantity, -1, DOG)) == "refuted"
    assert verdict(two(other, one, "dog"), tell(quantity, 1, DOG)) == "refuted"
    assert verdict(two(one, one, "dog"), tell(quantity, 1, DOG)) == "refuted"
    stranger = acoustics(treatment=more, recording="another")
    assert verdict(two(one, stranger, "dog"), tell(quantity, 1, DOG)) == "neither"
    part = acoustics(treatment=more, recording="")
    assert verdict(two(part, part, "dog"), tell(quantity, 1, DOG)) == "neither"
    unclear = acoustics(treatment=Treatment.RISING)
    assert verdict(two(one, unclear, "dog"), tell(quantity, 1, DOG)) == "neither"
    # A sound that is heard once may be heard twice by somebody.
    assert verdict(sounds("dog 0-100", one), tell(quantity, 1, DOG)) == "neither"
    # Rain has no rhythm.
    expected = "neither" if quantity is Q.AGAIN_FASTER else "proven"
    assert verdict(two(one, other, "rain"), tell(quantity, 1, Event("rain"))) == expected


@cases(
    ("treatment", "quieter_db", "expected"),
    [("", 0, "refuted"), ("", -5, "refuted"), ("", 10, "neither"), (Treatment.FAR, 0, "neither")],
)
def test_what_is_quieter_may_be_farther(treatment: str, quieter_db: int, expected: str) -> None:
    second = acoustics(-20 - quieter_db, -15 - quieter_db, treatment=treatment)
    assert verdict(two(acoustics(), second, "A"), tell(Q.AGAIN_FARTHER, 1)) == expected


def draw_measured(rng: Random, names: str) -> Measured:
    quantity = rng.choice([*Quantity])
    of = tuple(map(Event, rng.sample(names, quantity.arity)))
    if quantity.is_time:
        return Measured(quantity, of, rng.choice([0, 50, 100, 200, 300]))
    values = [*Part] if quantity is Quantity.POSITION else [-1, 1]
    return Measured(quantity, of, rng.choice(values))


def draw_acoustics(rng: Random) -> Acoustics | None:
    if not rng.randrange(5):
        return None
    levels = [-10.0, -13.0, -16.0, -20.0, -30.0]
    thirds = rng.choice([*permutations(levels, 3)])
    treatment = rng.choice(["", "", *Treatment])
    return acoustics(
        rng.choice(levels), rng.choice(levels), thirds, rng.choice(["", "r", "s"]), treatment
    )


def test_no_ear_denies_a_measure() -> None:
    proven = refuted = 0
    for seed in range(600):
        rng = Random(seed)
        case = draw_case(rng)
        where = timeline(
            case.scene, [replace(each, acoustics=draw_acoustics(rng)) for each in case.activities]
        )
        oracle = Oracle(where, AUDIBLE, seed=seed)
        for _ in range(6):
            claim = draw_measured(rng, "ABCD")
            assert claim_from_text(claim_to_text(claim)) == claim
            if proves(where, claim, TOLERANCE):
                proven += 1
                assert oracle.proves(claim), (where, claim)
            if refutes(where, claim, TOLERANCE):
                refuted += 1
                assert oracle.refutes(claim), (where, claim)
    assert proven > 40
    assert refuted > 400


@cases("text", CASES["none"])
def test_what_is_no_measure_is_refused(text: str) -> None:
    with pytest.raises(SceneError, match=r"measure|tell it of|values of"):
        claim_from_text(text)
