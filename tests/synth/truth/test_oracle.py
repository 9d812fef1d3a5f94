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

from synth.scene.activity import Activity, Stretch, Stretches, shift
from synth.scene.claim import And, Claim, Count, Not, Only, claim_to_text
from synth.scene.edit import rename_labels
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, to_text
from synth.scene.timeline import Placement, Timeline, timeline
from synth.truth import relations, truth
from synth.truth.relations import Tolerance
from synth.truth.truth import proves, refutes
from tests.kit.cases import cases
from tests.synth.truth.cases import AUDIBLE, SceneCase, draw_case, draw_claim, draw_pair
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


Heard = list[tuple[int, int]]


def sounds(*heard: tuple[str, Heard, Heard]) -> Timeline:
    """Sounds by label, with what is clear and what is faint, on one clock."""
    last = max(faint[-1][1] for _, _, faint in heard)
    first, *rest = (Event(label, Excerpt(label, 0, last)) for label, _, _ in heard)
    scene: Scene = first
    for event in rest:
        scene = Overlay(scene, event)
    activities = [Activity(stretches(clear), stretches(faint)) for _, clear, faint in heard]
    return timeline(scene, activities)


def stretches(heard: Heard) -> Stretches:
    return tuple(Stretch(*each) for each in heard)


def clear(label: str, *heard: tuple[int, int]) -> tuple[str, Heard, Heard]:
    return label, list(heard), list(heard)


def counted(label: str, *heard: tuple[int, int, int]) -> Timeline:
    """One sound again and again: from where to where, and how often each may be said to begin."""
    first, *rest = (Event(label, Excerpt(label, 0, end - start)) for start, end, _ in heard)
    scene: Scene = first
    for event, (start, *_) in zip(rest, heard[1:], strict=True):
        scene = Overlay(scene, event, start - heard[0][0])
    activities = [
        Activity(one := stretches([(start - heard[0][0], end - heard[0][0])]), one, onsets)
        for start, end, onsets in heard
    ]
    return timeline(scene, activities)


def verdict(heard: Timeline, claim: Claim) -> str:
    oracle = Oracle(heard, AUDIBLE)
    return in_words(oracle.proves(claim), oracle.refutes(claim))


def production(heard: Timeline, claim: Claim) -> str:
    return in_words(proves(heard, claim, TOLERANCE), refutes(heard, claim, TOLERANCE))


def in_words(proven: bool, refuted: bool) -> str:
    assert not (proven and refuted)
    return "proven" if proven else "refuted" if refuted else "neither"


APART = sounds(clear("A", (0, 50)), clear("B", (50, 100)))
INSIDE = sounds(clear("A", (0, 100)), clear("B", (20, 60)))
GAP = sounds(clear("A", (0, 30), (70, 100)), clear("B", (30, 70)))


ONCE = counted("A", (0, 20, 1))
TWICE_APART = counted("A", (0, 20, 1), (40, 60, 1))


def test_a_sound_that_could_be_called_by_the_name_keeps_a_count_from_being_proven() -> None:
    dogs = counted("dog", (0, 20, 1))
    (dog,) = dogs.placements
    for other, expected in (("Bark", "neither"), ("rain", "proven")):
        heard = Timeline((dog, dog._replace(label=other, event=1)), dogs.frames)
        heard = replace(heard, placements=(dog, _moved(heard.placements[1])))
        claim = Count(Event("dog"), 1)
        assert verdict(heard, claim) == production(heard, claim) == expected


def _moved(place: Placement) -> Placement:
    later = replace(place.excerpt, start=1)
    return place._replace(excerpt=later, onset=40, offset=60, activity=place.heard.shift(40))


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


def joined(first: Heard, second: Heard, crossfade: int) -> Timeline:
    """A of 100 frames, then B of 60; what is heard of B is counted from its own start."""
    parts = Event("A", Excerpt("a", 0, 100)), Event("B", Excerpt("b", 0, 60))
    scene = Concat(*parts, crossfade)
    start = timeline(scene).placements[1].onset
    heard = stretches(first), shift(stretches(second), start)
    return timeline(scene, [Activity(each, each) for each in heard])


TWICE = sounds(clear("A", (0, 50)), clear("B", (60, 100)), clear("A", (120, 150)))


DOG, RAIN = Event("dog"), Event("rain")
FLIGHT = Overlay(Event("airplane"), Event("engine"))


RULES: list[tuple[Timeline, Claim, str]] = [
    (APART, Concat(A, B), "proven"),
    (APART, Concat(B, A), "refuted"),
    (APART, Overlay(A, B), "refuted"),
    (INSIDE, Overlay(A, B), "proven"),
    (INSIDE, Concat(A, B), "neither"),
    # B sounds in A's pause: between its first and its last moment, never with it.
    (GAP, Overlay(A, B), "neither"),
    (sounds(clear("A", (0, 50)), clear("B", (49, 100))), Concat(A, B), "neither"),
    (sounds(clear("A", (0, 9)), clear("B", (9, 100))), Concat(A, B), "neither"),
    (sounds(clear("A", (0, 10)), clear("B", (10, 100))), Concat(A, B), "proven"),
    (sounds(clear("A", (0, 9)), clear("B", (0, 100))), Overlay(A, B), "neither"),
    (sounds(clear("A", (0, 10)), clear("B", (0, 100))), Overlay(A, B), "proven"),
    # A quarter of the shorter one is company, or half a second or a fifth a rest.
    (sounds(clear("A", (0, 40)), clear("B", (0, 10), (50, 99))), Overlay(A, B), "proven"),
    (sounds(clear("A", (0, 41)), clear("B", (0, 10), (50, 99))), Overlay(A, B), "neither"),
    (sounds(clear("A", (0, 80)), clear("B", (0, 100))), Concat(A, B), "neither"),
    (sounds(clear("A", (0, 81)), clear("B", (0, 100))), Concat(A, B), "refuted"),
    # What some may hear keeps a claim from both; who misses a sound hears none.
    (sounds(("A", [(0, 50)], [(0, 51)]), clear("B", (50, 100))), Concat(A, B), "neither"),
    (sounds(("A", [], [(0, 50)]), clear("B", (50, 100))), Concat(A, B), "neither"),
    (sounds(("A", [], [(0, 50)]), clear("B", (50, 100))), Not(Concat(B, A)), "proven"),
    *((sounds(("A", [], [(0, 50)]), clear("B", (50, 100))), claim, "neither")
      for claim in (A, Only(B))),
    (APART, Not(C), "proven"),
    (APART, Only(A), "refuted"),
    (APART, Only(And(A, B)), "proven"),
    (APART, And(A, Not(C)), "proven"),
    (APART, Not(Overlay(A, B)), "proven"),
    # Counting
    (ONCE, Count(A, 1), "proven"),
    (ONCE, Count(A, 2), "refuted"),
    (ONCE, Count(B, 1), "refuted"),
    (ONCE, Not(Count(A, 2)), "proven"),
    (TWICE_APART, Count(A, 2), "proven"),
    (TWICE_APART, Count(A, 1), "refuted"),
    (TWICE_APART, Count(A, 3), "refuted"),
    # A pause of less than 0.2 s may go unheard.
    (counted("A", (0, 20, 1), (39, 60, 1)), Count(A, 2), "neither"),
    (counted("A", (0, 20, 1), (39, 60, 1)), Count(A, 1), "neither"),
    (counted("A", (0, 20, 1), (39, 60, 1)), Count(A, 3), "refuted"),
    # What may begin anew may be counted more often, and counts once at least.
    (counted("A", (0, 20, 3)), Count(A, 1), "neither"),
    (counted("A", (0, 20, 3)), Count(A, 3), "neither"),
    (counted("A", (0, 20, 3)), Count(A, 4), "refuted"),
    (counted("A", (0, 20, 3), (40, 60, 1)), Count(A, 1), "refuted"),
    # What only goes on need not be counted.
    (counted("A", (0, 20, 0)), Count(A, 1), "neither"),
    (counted("A", (0, 20, 0)), Count(A, 2), "refuted"),
    # Nobody knows how often it begins.
    (sounds(clear("A", (0, 50))), Count(A, 1), "neither"),
    (sounds(clear("A", (0, 50))), Count(A, 9), "neither"),
    (sounds(clear("A", (0, 50))), Count(B, 1), "refuted"),
    # Transitions
    (joined([(0, 100)], [(0, 60)], 20), Concat(A, B), "proven"),
    (joined([(0, 100)], [(0, 60)], 20), Overlay(A, B), "refuted"),
    # It is at most half of a sound, of what is heard of it.
    (joined([(60, 100)], [(0, 60)], 20), Concat(A, B), "proven"),
    (joined([(60, 100)], [(0, 60)], 20), Overlay(A, B), "refuted"),
    (joined([(61, 100)], [(0, 60)], 20), Concat(A, B), "neither"),
    (joined([(61, 100)], [(0, 60)], 20), Overlay(A, B), "neither"),
    # B is all in the crossfade, and with A for half of its time or for more.
    (joined([(0, 60)], [(0, 40)], 60), Overlay(A, B), "refuted"),
    (joined([(0, 61)], [(0, 40)], 60), Overlay(A, B), "neither"),
    (joined([(0, 70), (80, 90)], [(0, 40)], 60), Overlay(A, B), "proven"),
    (joined([(0, 50), (80, 90)], [(0, 40)], 60), Overlay(A, B), "neither"),
    # Compositions
    (sounds(clear("A", (0, 50)), clear("B", (50, 99)), clear("C", (9, 80))),
     Overlay(Concat(A, B), C), "proven"),
    (sounds(clear("A", (0, 50)), clear("B", (50, 99)), clear("C", (9, 50))),
     Overlay(Concat(A, B), C), "neither"),
    (TWICE, Concat(Concat(A, B), A), "neither"),
    (TWICE, Overlay(A, B), "refuted"),
    *((TWICE, order, "neither") for order in (Concat(A, B), Concat(B, A))),
    # Kin
    (sounds(clear("Bark", (0, 50))), DOG, "neither"),
    (sounds(clear("Bark", (0, 50))), Not(DOG), "neither"),
    (sounds(clear("Bark", (0, 50))), Only(DOG), "neither"),
    (sounds(clear("Bark", (0, 50)), clear("rain", (50, 99))), Concat(DOG, RAIN), "neither"),
    (sounds(clear("Bark", (0, 50)), clear("rain", (50, 99))), Concat(RAIN, DOG), "refuted"),
    # The bark after the rain could be the dog that the claim speaks of.
    (sounds(clear("dog", (0, 50)), clear("rain", (50, 80)), clear("Bark", (90, 140))),
     Concat(DOG, RAIN), "neither"),
    (sounds(clear("airplane", (0, 50))), Event("engine"), "neither"),
    (sounds(clear("engine", (0, 50))), Event("airplane"), "refuted"),
    (sounds(clear("airplane", (0, 50))), FLIGHT, "neither"),
    # What the claim itself tells apart is no other sound.
    (sounds(clear("engine", (0, 50)), clear("airplane", (50, 99))),
     Concat(Event("engine"), Event("airplane")), "proven"),
    # The airplane could be called an engine, too, but the sentence names an engine of its own.
    (sounds(clear("engine", (0, 50)), clear("airplane", (100, 300))), FLIGHT, "refuted"),
    # Who misses the engine may mean the airplane by both names.
    (sounds(("engine", [], [(0, 50)]), clear("airplane", (100, 300))), FLIGHT, "neither"),
    # Who hears A from 52 and B from 46 hears neither within the other.
    (sounds(("A", [(52, 222)], [(0, 222)]), ("B", [(58, 122)], [(46, 122)])),
     Overlay(A, B), "neither"),
]  # fmt: skip


@cases(("heard", "claim", "expected"), RULES)
def test_the_rules(heard: Timeline, claim: Claim, expected: str) -> None:
    assert verdict(heard, claim) == production(heard, claim) == expected


def test_sounds_that_meet_in_a_transition_are_no_company() -> None:
    heard = joined([(0, 60), (85, 90)], [(0, 40)], 60)
    assert verdict(heard, Overlay(A, B)) == production(heard, Overlay(A, B)) == "neither"
    assert production(replace(heard, joins=()), Overlay(A, B)) == "proven"


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
        return replace(scene, excerpt=replace(scene.heard, frames=PER_FRAME * scene.heard.frames))
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
