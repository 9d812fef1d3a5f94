"""Truth before a second judge: what production proves or refutes, brute force does not deny.

The scenes are in frames of 10 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple, assert_never

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.scene.activity import Activity, Stretches
from synth.scene.claim import And, Claim, Count, Not, Only, claim_to_text
from synth.scene.edit import rename_labels
from synth.scene.scene import Concat, Event, Overlay, Scene, to_text
from synth.scene.timeline import Timeline, timeline
from synth.truth import relations, truth
from synth.truth.relations import Tolerance
from synth.truth.truth import proves, refutes
from tests.kit.cases import cases
from tests.kit.tables import read_data
from tests.synth.truth.cases import (
    AUDIBLE,
    SceneCase,
    draw_case,
    draw_claim,
    draw_pair,
    read_claim,
    read_heard,
)
from tests.synth.truth.oracle import Oracle, judge_row

TOLERANCE = Tolerance(audible=AUDIBLE)
A, B, C = (Event(name) for name in "ABC")


class Judged(NamedTuple):
    case: SceneCase
    claim: Claim
    proven: bool
    refuted: bool


def judge(case: SceneCase, claims: list[Claim], seed: int) -> list[Judged]:
    oracle = Oracle(case.heard, AUDIBLE, seed=seed)
    return [Judged(case, each, oracle.proves(each), oracle.refutes(each)) for each in claims]


def deny(judged: Judged, heard: Timeline, tolerance: Tolerance = TOLERANCE) -> bool:
    """Whether production says more than is so."""
    _, claim, proven, refuted = judged
    more_proven = proves(heard, claim, tolerance) and not proven
    return more_proven or (refutes(heard, claim, tolerance) and not refuted)


@pytest.fixture(scope="module")
def many() -> list[Judged]:
    """Any claims, all ears."""
    found = []
    for seed in range(750):
        rng = Random(seed)
        case = draw_case(rng)
        found += judge(case, [draw_claim(rng, case.scene) for _ in range(5)], seed)
    return found


@pytest.fixture(scope="module")
def simple() -> list[Judged]:
    """Claims of two sounds, where all ears hear alike."""
    found = []
    for seed in range(600):
        rng = Random(seed)
        case = draw_case(rng, sure=True)
        found += judge(case, [draw_pair(rng, case.scene) for _ in range(4)], seed)
    return found


def test_production_decides_what_all_ears_agree_on_and_most_of_what_some_do(
    many: list[Judged], simple: list[Judged]
) -> None:
    assert not [each for each in many if deny(each, each.case.heard)]
    for judged, least in ((simple, 1.0), (many, 0.95)):
        same = 0
        decided = [each for each in judged if each.proven or each.refuted]
        for case, claim, proven, refuted in decided:
            same += production(case.heard, claim) == in_words(proven, refuted)
        assert same >= least * len(decided)
        assert sum(each.proven for each in judged) > 250
        assert sum(each.refuted for each in judged) > 750
    # Who is sure of less is denied nothing.
    unsure = as_if(lambda each: Activity((), each.faint))
    assert not any(deny(each, unsure(each.case)) for each in many)


WRONG_RULES: Mapping[str, Mapping[str, Any]] = {
    "more must remain of a sound": {"LEAST_REMAINDER": 0.3},
    "more of a long sound must remain": {"_REMAINDER": 50},
    "a transition is all of a sound": {"MOST_FADED": 1.0},
    "a transition is most of a sound": {"MOST_FADED": 0.6},
    "any moment is company": {"LEAST_COMPANY": 0.0},
    "less is company": {"LEAST_COMPANY": 0.15},
    "the strictest reading is the loosest": {"STRICTEST": truth.LOOSEST},
    "the loosest reading is the strictest": {"LOOSEST": truth.STRICTEST},
    "some pair is enough for a proof": {"STRICTEST": replace(truth.STRICTEST, every=False)},
    "every pair must fit": {"LOOSEST": replace(truth.LOOSEST, every=True)},
}


@cases("wrong", WRONG_RULES.values())
def test_a_wrong_rule_is_denied(
    monkeypatch: pytest.MonkeyPatch,
    many: list[Judged],
    simple: list[Judged],
    wrong: Mapping[str, Any],
) -> None:
    for name, value in wrong.items():
        module = relations if hasattr(relations, name) else truth
        monkeypatch.setattr(module, name, value)
    assert any(deny(each, each.case.heard) for each in simple + many)


def as_if(change: Callable[[Activity], Activity]) -> Callable[[SceneCase], Timeline]:
    return lambda case: timeline(case.scene, [change(each) for each in case.activities])


WRONG_EARS: Mapping[str, Callable[[SceneCase], Timeline]] = {
    "a sound is heard from first to last": lambda case: timeline(case.scene),
    "nobody hears the faint": as_if(lambda each: Activity(each.clear, each.clear)),
    "everybody hears the faint": as_if(lambda each: Activity(each.faint, each.faint)),
}


@cases("hear", WRONG_EARS.values())
def test_a_wrong_ear_is_denied(many: list[Judged], hear: Callable[[SceneCase], Timeline]) -> None:
    assert any(deny(each, hear(each.case)) for each in many)


@cases("audible", [AUDIBLE - 2, AUDIBLE + 2])
def test_a_wrong_tolerance_is_denied(simple: list[Judged], audible: int) -> None:
    wrong = Tolerance(audible=audible)
    assert any(deny(each, each.case.heard, wrong) for each in simple)


def verdict(heard: Timeline, claim: Claim) -> str:
    oracle = Oracle(heard, AUDIBLE)
    return in_words(oracle.proves(claim), oracle.refutes(claim))


def production(heard: Timeline, claim: Claim) -> str:
    return in_words(proves(heard, claim, TOLERANCE), refutes(heard, claim, TOLERANCE))


def in_words(proven: bool, refuted: bool) -> str:
    assert not (proven and refuted)
    return "proven" if proven else "refuted" if refuted else "neither"


def test_a_sound_that_could_be_called_by_the_name_keeps_a_count_from_being_proven() -> None:
    claim = Count(Event("dog"), 1)
    for other, expected in (("Bark", "neither"), ("rain", "proven")):
        heard = read_heard(f"dog 0-20 x1 | {other} 40-60 x1")
        assert verdict(heard, claim) == production(heard, claim) == expected


@given(st.randoms(use_true_random=False))
def test_no_ear_denies_a_count(rng: Random) -> None:
    case = draw_case(rng)
    heard = case.heard
    known = tuple(
        place._replace(activity=replace(place.heard, onsets=rng.choice([None, 0, 1, 1, 1, 2])))
        for place in heard.placements
    )
    oracle = Oracle(counting := replace(heard, placements=known), AUDIBLE, seed=0)
    for name in "AB":
        for times in (1, 2, 3):
            claim = Count(Event(name), times)
            judged = Judged(case, claim, oracle.proves(claim), oracle.refutes(claim))
            assert not deny(judged, counting)


@cases(("sounds", "audible", "claims"), read_data("truth/rules.yaml"))
def test_the_rules(sounds: str, audible: int, claims: dict[str, str]) -> None:
    heard, tolerance = read_heard(sounds), Tolerance(audible=audible)
    oracle = Oracle(heard, audible)
    for text, expected in claims.items():
        claim = read_claim(text)
        found = in_words(proves(heard, claim, tolerance), refutes(heard, claim, tolerance))
        assert found == expected.replace("open", "neither"), text
        judged = in_words(oracle.proves(claim), oracle.refutes(claim))
        assert judged == expected or expected == "open", text


def test_sounds_that_meet_in_a_transition_are_no_company() -> None:
    heard, together = read_heard("A 0-60 85-90 |60| B 40-80 | 100"), Overlay(A, B)
    assert verdict(heard, together) == production(heard, together) == "neither"
    assert production(replace(heard, joins=()), together) == "proven"


CALLED = {"A": "airplane", "B": "engine", "C": "dog", "D": "Bark"}
"""The first could be called by the second's name, and of the others either by the other's."""


def test_no_ear_denies_what_is_said_with_names_that_are_confused() -> None:
    decided = 0
    for seed in range(300):
        rng = Random(seed)
        case = draw_case(rng)
        heard = replace(
            case.heard,
            placements=tuple(p._replace(label=CALLED[p.label]) for p in case.heard.placements),
        )
        oracle = Oracle(heard, AUDIBLE, seed=seed)
        for claim in (rename_claim(draw_claim(rng, case.scene)) for _ in range(6)):
            judged = Judged(case, claim, oracle.proves(claim), oracle.refutes(claim))
            assert not deny(judged, heard)
            decided += production(heard, claim) != "neither"
    assert decided > 500


def rename_claim(claim: Claim) -> Claim:
    match claim:
        case And(first, second):
            return And(rename_claim(first), rename_claim(second))
        case Not(inner):
            return Not(rename_claim(inner))
        case Only(inner):
            return Only(rename_claim(inner))
        case Event() | Concat() | Overlay():
            return rename_labels(claim, CALLED)
        case _:
            assert_never(claim)


RATE = 44_100
PER_FRAME = RATE // 100


def row_of(
    case: SceneCase, claim: Claim, positives: list[Claim], negatives: list[Claim]
) -> dict[str, Any]:
    def values(heard: Stretches) -> list[dict[str, int]]:
        return [{"onset": a * PER_FRAME, "offset": b * PER_FRAME} for a, b in heard]

    def captions(claims: list[Claim]) -> list[dict[str, str]]:
        return [{"text": "...", "claim": claim_to_text(each)} for each in claims]

    return {
        "scene": to_text(at_rate(case.scene)),
        "caption": "...",
        "claim": claim_to_text(claim),
        "positives": captions(positives),
        "negatives": captions(negatives),
        "sample_rate": RATE,
        "activity": [
            {"clear": values(each.clear), "faint": values(each.faint)} for each in case.activities
        ],
    }


def at_rate(scene: Scene) -> Scene:
    if isinstance(scene, Event):
        return replace(scene, excerpt=replace(scene.played, frames=PER_FRAME * scene.played.frames))
    first, second = at_rate(scene.first), at_rate(scene.second)
    if isinstance(scene, Concat):
        return Concat(first, second, PER_FRAME * scene.crossfade)
    return Overlay(first, second, PER_FRAME * scene.offset)


@given(st.randoms(use_true_random=False))
def test_the_faults_of_a_row_are_named(rng: Random) -> None:
    case = draw_case(rng, sure=True)
    claims: list[Claim] = [draw_claim(rng, case.scene) for _ in range(6)]
    oracle = Oracle(case.heard, AUDIBLE)
    faults = judge_row(row_of(case, claims[0], claims, claims))
    expected = [("caption", 0)] if not oracle.proves(claims[0]) else []
    expected += [("positives", at) for at, each in enumerate(claims) if not oracle.proves(each)]
    expected += [("negatives", at) for at, each in enumerate(claims) if not oracle.refutes(each)]
    assert [(each.column, each.number) for each in faults] == expected
