"""Truth: the laws of proof and refutation, and verdicts on sounds whose times are plain."""

from __future__ import annotations

from itertools import product

from hypothesis import assume, given
from hypothesis import strategies as st

from synth.scene.activity import Activity, Stretch
from synth.scene.claim import And, Claim, Not, Only
from synth.scene.edit import recompositions
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, labels, statement
from synth.scene.timeline import Timeline, timeline
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing, proves, refutes
from tests.kit.timelines import any_timelines, line, placed_scenes
from tests.synth.scene.test_edit import statements

SOUNDS = st.tuples(st.sampled_from("ABC"), st.integers(0, 12), st.integers(1, 9)).map(
    lambda sound: (sound[0], sound[1], sound[1] + sound[2])
)
TIMELINES = st.lists(SOUNDS, min_size=1, max_size=5).map(lambda sounds: line(*sounds))
TOLERANCES = st.integers(0, 4).map(Tolerance)
LEAVES = st.sampled_from("ABCD").map(Event)
SCENE_CLAIMS: st.SearchStrategy[Scene] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.builds(Concat, inner, inner), st.builds(Overlay, inner, inner)),
    max_leaves=4,
)
CLAIMS: st.SearchStrategy[Claim] = st.recursive(
    SCENE_CLAIMS,
    lambda inner: st.one_of(
        st.builds(And, inner, inner), st.builds(Not, inner), st.builds(Only, inner)
    ),
    max_leaves=5,
)


KINDRED = ("dog", "puppy", "airplane", "engine", "rain")


@given(
    st.lists(st.tuples(st.sampled_from(KINDRED), SOUNDS), min_size=1, max_size=4),
    st.lists(CLAIMS, min_size=2, max_size=6),
    TOLERANCES,
)
def test_claims_decided_one_after_the_other_are_decided_alike(
    named: list[tuple[str, tuple[str, int, int]]], claims: list[Claim], tolerance: Tolerance
) -> None:
    heard = line(*((label, on, off) for label, (_, on, off) in named))
    hearing = Hearing(heard, tolerance)
    for claim in (kindred(each) for each in claims):
        assert hearing.proves(claim) == proves(heard, claim, tolerance)
        assert hearing.refutes(claim) == refutes(heard, claim, tolerance)


def kindred(claim: Claim) -> Claim:
    """The claim over labels some of which could be said of one another's sounds."""
    match claim:
        case Event(label):
            return Event(KINDRED["ABCD".index(label)])
        case Not(inner) | Only(inner):
            return type(claim)(kindred(inner))
        case _:
            return type(claim)(kindred(claim.first), kindred(claim.second))


Verdict = tuple[bool, bool]
"""Whether a claim is proven, and whether it is refuted."""


def verdict(heard: Timeline, claim: Claim, tolerance: Tolerance) -> Verdict:
    proven, refuted = proves(heard, claim, tolerance), refutes(heard, claim, tolerance)
    assert not (proven and refuted)
    return proven, refuted


@given(TIMELINES, CLAIMS, CLAIMS, CLAIMS, TOLERANCES)
def test_not_and_and_only_keep_the_laws_of_logic(
    heard: Timeline, a: Claim, b: Claim, c: Claim, tolerance: Tolerance
) -> None:
    def judge(claim: Claim) -> Verdict:
        return verdict(heard, claim, tolerance)

    proven, refuted = judge(a)
    assert judge(Not(a)) == (refuted, proven)
    assert judge(Not(Not(a))) == (proven, refuted)
    assert judge(And(a, a)) == (proven, refuted)
    assert judge(And(a, b)) == judge(And(b, a))
    assert judge(And(And(a, b), c)) == judge(And(a, And(b, c)))
    # And and Only strengthen.
    for stronger in (judge(And(a, b)), judge(Only(a))):
        assert proven or not stronger[0]
        assert stronger[1] or not refuted


@given(TIMELINES, CLAIMS, TOLERANCES, st.integers(0, 1000), st.permutations(range(5)))
def test_neither_when_the_recording_starts_nor_the_order_of_placements_matters(
    heard: Timeline, claim: Claim, tolerance: Tolerance, shift: int, order: list[int]
) -> None:
    places = [heard.placements[i] for i in order if i < len(heard.placements)]
    later = line(*((p.label, p.onset + shift, p.offset + shift) for p in places))
    assert verdict(heard, claim, tolerance) == verdict(later, claim, tolerance)


@given(TIMELINES, SCENE_CLAIMS, SCENE_CLAIMS, TOLERANCES)
def test_order_and_togetherness_exclude_one_another(
    heard: Timeline, a: Scene, b: Scene, tolerance: Tolerance
) -> None:
    together = verdict(heard, Overlay(a, b), tolerance)
    assert together == verdict(heard, Overlay(b, a), tolerance)
    if proves(heard, Concat(a, b), tolerance):
        assert refutes(heard, Concat(b, a), tolerance)
        assert not together[0]
        assert together[1] or not (isinstance(a, Event) and isinstance(b, Event))


@given(TIMELINES, SCENE_CLAIMS, TOLERANCES)
def test_a_proven_scene_proves_that_its_sounds_are_heard(
    heard: Timeline, claim: Scene, tolerance: Tolerance
) -> None:
    if proves(heard, claim, tolerance):
        assert all(proves(heard, Event(label), tolerance) for label in labels(claim))
        assert proves(heard, Only(claim), tolerance) == (heard.labels() == set(labels(claim)))
    absent = Event("never heard")
    for one in (
        absent,
        Concat(claim, absent),
        Concat(absent, claim),
        Overlay(absent, claim),
        And(claim, absent),
        Only(absent),
    ):
        assert verdict(heard, one, tolerance) == (False, True)


@given(TIMELINES, st.permutations("ABC"), st.integers(0, 4), st.integers(0, 4))
def test_more_tolerance_proves_more_order_and_refutes_more_togetherness(
    heard: Timeline, names: list[str], tolerance: int, more: int
) -> None:
    a, b = Event(names[0]), Event(names[1])
    little, much = Tolerance(tolerance), Tolerance(tolerance + more)
    if proves(heard, Concat(a, b), little):
        assert proves(heard, Concat(a, b), much)
    if refutes(heard, Overlay(a, b), little):
        assert refutes(heard, Overlay(a, b), much)
    if proves(heard, Overlay(a, b), much):
        assert proves(heard, Overlay(a, b), little)
    assert refutes(heard, Concat(a, b), little) == refutes(heard, Concat(a, b), much)


# Nested claims


ANY_TIMELINES = any_timelines("ABCD")
ANY_TOLERANCES = st.builds(Tolerance, st.integers(0, 4), st.integers(1, 4))


@given(placed_scenes("ABCDE"), ANY_TOLERANCES)
def test_of_two_statements_of_different_meaning_one_at_most_is_proven(
    scene: Scene, tolerance: Tolerance
) -> None:
    heard, said = timeline(scene), statement(scene)
    assume(len(labels(said)) < 4)  # two sequences at once may be two overlays in a row, too
    proven = [claim for claim in (said, *recompositions(said)) if proves(heard, claim, tolerance)]
    assert len(proven) <= 1


@given(ANY_TIMELINES, statements(most=4), ANY_TOLERANCES)
def test_what_is_proven_of_the_whole_is_not_refuted_of_two_of_its_sounds(
    heard: Timeline, claim: Scene, tolerance: Tolerance
) -> None:
    if not proves(heard, claim, tolerance) or isinstance(claim, Event):
        return
    for one, other in product(labels(claim.first), labels(claim.second)):
        pair = type(claim)(Event(one), Event(other))
        if isinstance(claim, Concat):
            assert proves(heard, pair, tolerance)
        assert proves(heard, Event(one), tolerance)
        assert proves(heard, Event(other), tolerance)


def test_who_hears_more_of_a_sound_grants_it_a_longer_transition() -> None:
    """What is proven to be together is so to the keenest ear, too."""
    whole = (Stretch(0, 5), Stretch(30, 75))
    scene = Concat(Event("A", Excerpt("a", 0, 75)), Event("B", Excerpt("b", 0, 90)), 75)
    faint_around = Activity((Stretch(30, 45),), (Stretch(0, 75),))
    heard = timeline(scene, [Activity(whole, whole), faint_around])
    # Of 45 frames of B, to one ear, 20 are A's, too; a transition may cover 22.
    assert not proves(heard, Overlay(Event("A"), Event("B")), Tolerance(audible=10))
