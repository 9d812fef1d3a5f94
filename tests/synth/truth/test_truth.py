"""Truth: the laws of proof and refutation, and verdicts on sounds whose times are plain."""

from __future__ import annotations

from itertools import permutations, starmap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.scene.activity import Activity, Stretch
from synth.scene.claim import And, Claim, Not, Only
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, labels
from synth.scene.timeline import Placement, Timeline, timeline
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing, proves, refutes

# The run-time type checker samples containers with `random`, also inside strategies.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module")

A, B, C, X, Y = (Event(label) for label in "ABCXY")
NO_TOLERANCE = Tolerance()


def line(*sounds: tuple[str, int, int]) -> Timeline:
    placements = tuple(
        Placement(label, on, off, Excerpt(f"clip-{label}", 0, off - on))
        for label, on, off in sounds
    )
    return Timeline(placements, max((off for _, _, off in sounds), default=0))


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


@given(TIMELINES, CLAIMS, TOLERANCES)
def test_nothing_is_both_proven_and_refuted(
    heard: Timeline, claim: Claim, tolerance: Tolerance
) -> None:
    assert not (proves(heard, claim, tolerance) and refutes(heard, claim, tolerance))


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


@given(TIMELINES, CLAIMS, TOLERANCES)
def test_not_exchanges_proof_and_refutation(
    heard: Timeline, claim: Claim, tolerance: Tolerance
) -> None:
    assert proves(heard, Not(claim), tolerance) == refutes(heard, claim, tolerance)
    assert refutes(heard, Not(claim), tolerance) == proves(heard, claim, tolerance)
    assert proves(heard, Not(Not(claim)), tolerance) == proves(heard, claim, tolerance)


@given(TIMELINES, CLAIMS, CLAIMS, CLAIMS, TOLERANCES)
def test_and_is_idempotent_commutative_associative_and_strengthens(
    heard: Timeline, a: Claim, b: Claim, c: Claim, tolerance: Tolerance
) -> None:
    for judge in (proves, refutes):
        assert judge(heard, And(a, a), tolerance) == judge(heard, a, tolerance)
        assert judge(heard, And(a, b), tolerance) == judge(heard, And(b, a), tolerance)
        left = judge(heard, And(And(a, b), c), tolerance)
        assert left == judge(heard, And(a, And(b, c)), tolerance)
    if proves(heard, And(a, b), tolerance):
        assert proves(heard, a, tolerance)
    if refutes(heard, a, tolerance):
        assert refutes(heard, And(a, b), tolerance)


@given(TIMELINES, CLAIMS, TOLERANCES)
def test_only_strengthens(heard: Timeline, claim: Claim, tolerance: Tolerance) -> None:
    if proves(heard, Only(claim), tolerance):
        assert proves(heard, claim, tolerance)
    if refutes(heard, claim, tolerance):
        assert refutes(heard, Only(claim), tolerance)


@given(TIMELINES, SCENE_CLAIMS, SCENE_CLAIMS, TOLERANCES)
def test_a_proven_order_refutes_its_reverse_and_togetherness(
    heard: Timeline, a: Scene, b: Scene, tolerance: Tolerance
) -> None:
    if proves(heard, Concat(a, b), tolerance):
        assert refutes(heard, Concat(b, a), tolerance)
        assert not proves(heard, Overlay(a, b), tolerance)
        if isinstance(a, Event) and isinstance(b, Event):
            assert refutes(heard, Overlay(a, b), tolerance)


@given(TIMELINES, SCENE_CLAIMS, SCENE_CLAIMS, TOLERANCES)
def test_togetherness_is_symmetric_and_refutes_no_order_of_starts(
    heard: Timeline, a: Scene, b: Scene, tolerance: Tolerance
) -> None:
    for judge in (proves, refutes):
        assert judge(heard, Overlay(a, b), tolerance) == judge(heard, Overlay(b, a), tolerance)
    if proves(heard, Overlay(a, b), tolerance):
        assert not proves(heard, Concat(a, b), tolerance)
        assert not proves(heard, Concat(b, a), tolerance)


@given(TIMELINES, SCENE_CLAIMS, TOLERANCES)
def test_a_proven_scene_proves_that_its_sounds_are_heard(
    heard: Timeline, claim: Scene, tolerance: Tolerance
) -> None:
    if proves(heard, claim, tolerance):
        assert all(proves(heard, Event(label), tolerance) for label in labels(claim))
        assert proves(heard, Only(claim), tolerance) == (heard.labels() == set(labels(claim)))


@given(TIMELINES, SCENE_CLAIMS, TOLERANCES)
def test_an_absent_label_refutes_the_claim(
    heard: Timeline, claim: Scene, tolerance: Tolerance
) -> None:
    absent = Event("never heard")
    said: tuple[Claim, ...] = (
        absent,
        Concat(claim, absent),
        Concat(absent, claim),
        Overlay(absent, claim),
        And(claim, absent),
        Only(absent),
    )
    for one in said:
        assert refutes(heard, one, tolerance)
        assert proves(heard, Not(one), tolerance)


@given(TIMELINES, CLAIMS, TOLERANCES, st.integers(0, 1000))
def test_when_the_recording_starts_does_not_matter(
    heard: Timeline, claim: Claim, tolerance: Tolerance, shift: int
) -> None:
    later = line(*((p.label, p.onset + shift, p.offset + shift) for p in heard.placements))
    for judge in (proves, refutes):
        assert judge(heard, claim, tolerance) == judge(later, claim, tolerance)


@given(TIMELINES, CLAIMS, TOLERANCES, st.permutations(range(5)))
def test_the_order_of_placements_does_not_matter(
    heard: Timeline, claim: Claim, tolerance: Tolerance, order: list[int]
) -> None:
    places = heard.placements
    shuffled = Timeline(tuple(places[i] for i in order if i < len(places)), heard.frames)
    for judge in (proves, refutes):
        assert judge(heard, claim, tolerance) == judge(shuffled, claim, tolerance)


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


@pytest.mark.parametrize(
    ("sounds", "order", "together"),
    [
        # order: verdict on "A before B"; together: on "A while B". True, False, None for neither.
        ([("A", 0, 5), ("B", 5, 9)], True, False),
        ([("A", 0, 5), ("B", 8, 9)], True, False),
        ([("B", 0, 5), ("A", 5, 9)], False, False),
        ([("A", 0, 9), ("B", 0, 9)], False, True),
        ([("A", 0, 9), ("B", 2, 5)], None, True),
        ([("A", 2, 5), ("B", 0, 9)], None, True),  # B goes on when A is over
        ([("A", 2, 8), ("B", 0, 9)], False, True),
        ([("A", 0, 9), ("B", 0, 8)], False, True),
        ([("A", 0, 6), ("B", 3, 9)], None, None),
        ([("A", 3, 9), ("B", 0, 6)], False, None),
        ([("A", 0, 6), ("B", 5, 9)], True, False),  # one frame of crossfade
        ([("A", 0, 2), ("B", 3, 5), ("A", 6, 8)], None, False),
        ([("A", 0, 2), ("A", 3, 5), ("B", 6, 8)], True, False),
        ([("A", 0, 9), ("B", 1, 3), ("B", 5, 7)], None, True),
        ([("A", 0, 4), ("B", 1, 3), ("B", 5, 7)], None, None),
        ([("A", 0, 5)], False, False),
    ],
)
def test_verdicts_on_two_sounds(
    sounds: list[tuple[str, int, int]], order: bool | None, together: bool | None
) -> None:
    heard, tolerance = line(*sounds), Tolerance(1)
    for claim, verdict in ((Concat(A, B), order), (Overlay(A, B), together)):
        assert proves(heard, claim, tolerance) == (verdict is True)
        assert refutes(heard, claim, tolerance) == (verdict is False)


def test_a_repeated_sound_leaves_both_orders_open() -> None:
    heard = line(("X", 0, 3), ("Y", 3, 6), ("X", 6, 9))
    for claim in (Concat(X, Y), Concat(Y, X)):
        assert not proves(heard, claim, NO_TOLERANCE)
        assert not refutes(heard, claim, NO_TOLERANCE)


@pytest.mark.parametrize("crossfade", [0, 1, 5, 50])
def test_a_crossfade_is_a_transition_and_not_while(crossfade: int) -> None:
    a, b = Event("A", Excerpt("a", 0, 100)), Event("B", Excerpt("b", 0, 200))
    heard = timeline(Concat(a, b, crossfade))
    assert proves(heard, Concat(A, B), Tolerance(audible=5))
    assert refutes(heard, Overlay(A, B), Tolerance(audible=5))
    assert refutes(heard, Concat(B, A), Tolerance(audible=5))


@pytest.mark.parametrize(("crossfade", "refuted"), [(50, True), (51, False)])
def test_who_overlap_for_long_may_be_said_to_sound_together(crossfade: int, refuted: bool) -> None:
    """Nobody calls the 7 s for which two sounds of 20 s overlap a moment."""
    a, b = Event("A", Excerpt("a", 0, 200)), Event("B", Excerpt("b", 0, 200))
    heard = timeline(Concat(a, b, crossfade))
    assert proves(heard, Concat(A, B), Tolerance(audible=5))
    assert refutes(heard, Overlay(A, B), Tolerance(audible=5)) == refuted


def test_a_crossfade_over_most_of_a_sound_is_no_transition() -> None:
    a, b = Event("A", Excerpt("a", 0, 100)), Event("B", Excerpt("b", 0, 200))
    heard = timeline(Concat(a, b, 51))
    assert not proves(heard, Concat(A, B), NO_TOLERANCE)
    assert not refutes(heard, Overlay(A, B), NO_TOLERANCE)


def test_who_hears_more_of_a_sound_grants_it_a_longer_transition() -> None:
    """What is proven to be together is so to the keenest ear, too."""
    whole = (Stretch(0, 5), Stretch(30, 75))
    scene = Concat(Event("A", Excerpt("a", 0, 75)), Event("B", Excerpt("b", 0, 90)), 75)
    faint_around = Activity((Stretch(30, 45),), (Stretch(0, 75),))
    heard = timeline(scene, [Activity(whole, whole), faint_around])
    # Of 45 frames of B, to one ear, 20 are A's, too; a transition may cover 22.
    assert not proves(heard, Overlay(Event("A"), Event("B")), Tolerance(audible=10))


def test_a_crossfade_excuses_only_the_sounds_that_it_joins() -> None:
    # The scene's crossfade is 20 frames; C brushes A for 10 and is joined to nothing.
    a, b, c = (Event(n, Excerpt(n, 0, 100)) for n in "ABC")
    heard = timeline(Overlay(Concat(a, b, 20), c, -90))
    assert not refutes(heard, Overlay(A, C), NO_TOLERANCE)
    assert not proves(heard, Concat(C, A), NO_TOLERANCE)
    assert proves(heard, Concat(A, B), NO_TOLERANCE)


def with_activity(
    label: str, clear: list[tuple[int, int]], faint: list[tuple[int, int]] | None = None
) -> Placement:
    bounds = faint or clear
    activity = Activity(tuple(starmap(Stretch, clear)), tuple(starmap(Stretch, bounds)))
    on, off = bounds[0][0], bounds[-1][1]
    return Placement(label, on, off, Excerpt(f"clip-{label}", 0, off - on), activity=activity)


def hear(*places: Placement) -> Timeline:
    return Timeline(places, max(place.offset for place in places))


def test_a_sound_in_the_pauses_of_another_is_not_together_with_it() -> None:
    heard = hear(with_activity("A", [(0, 20), (60, 80)]), with_activity("B", [(25, 55)]))
    assert not proves(heard, Overlay(A, B), NO_TOLERANCE)
    assert not refutes(heard, Overlay(A, B), NO_TOLERANCE)


def test_what_somebody_may_hear_neither_proves_nor_is_denied() -> None:
    # A is over at 50 for most; some hear its end until 80, which is when B has begun.
    heard = hear(with_activity("A", [(0, 50)], [(0, 80)]), with_activity("B", [(60, 100)]))
    assert not proves(heard, Concat(A, B), NO_TOLERANCE)
    assert not refutes(heard, Overlay(A, B), NO_TOLERANCE)
    assert refutes(heard, Concat(B, A), NO_TOLERANCE)
    sharper = hear(with_activity("A", [(0, 50)]), with_activity("B", [(60, 100)]))
    assert proves(sharper, Concat(A, B), NO_TOLERANCE)
    assert refutes(sharper, Overlay(A, B), NO_TOLERANCE)


def test_a_sound_that_may_be_missed_is_neither_there_nor_away() -> None:
    heard = hear(with_activity("A", [], [(0, 50)]), with_activity("B", [(60, 100)]))
    for claim in (A, Only(B), Concat(A, B)):
        assert not proves(heard, claim, NO_TOLERANCE)
        assert not refutes(heard, claim, NO_TOLERANCE)
    assert proves(heard, B, NO_TOLERANCE)


@pytest.mark.parametrize(
    ("rest", "refuted"), [(0, True), (40, True), (49, True), (50, False), (300, False)]
)
def test_what_goes_on_alone_may_be_said_to_come_after(rest: int, refuted: bool) -> None:
    # 10 frames are what can be heard: 50 of the rest, or a fifth of it all, are a sound of its own.
    heard = line(("A", 0, 1000), ("B", 0, 1000 + rest))
    assert refutes(heard, Concat(A, B), Tolerance(audible=10)) == refuted
    assert refutes(heard, Concat(B, A), Tolerance(audible=10))


def test_a_fifth_of_a_short_sound_alone_may_be_said_to_come_after() -> None:
    heard = line(("A", 0, 80), ("B", 0, 100))
    assert not refutes(heard, Concat(A, B), Tolerance(audible=10))
    assert refutes(line(("A", 0, 81), ("B", 0, 100)), Concat(A, B), Tolerance(audible=10))


@pytest.mark.parametrize(("late", "refuted"), [(0, True), (9, True), (10, False)])
def test_onsets_too_close_to_tell_order_nothing(late: int, refuted: bool) -> None:
    heard = line(("A", 0, 1000), ("B", late, 1000))
    assert refutes(heard, Concat(A, B), Tolerance(audible=10)) == refuted
    assert not proves(heard, Concat(A, B), Tolerance(audible=10))


def test_only_says_that_no_other_sound_is_heard() -> None:
    both, one = line(("A", 0, 5), ("B", 0, 5)), line(("A", 0, 5))
    assert proves(one, Only(A), NO_TOLERANCE)
    assert refutes(both, Only(A), NO_TOLERANCE)
    assert proves(both, Only(And(A, B)), NO_TOLERANCE)
    assert refutes(one, Only(B), NO_TOLERANCE)


@pytest.mark.parametrize("order", list(permutations("ABC")))
def test_three_in_a_row(order: tuple[str, ...]) -> None:
    heard = line(("A", 0, 4), ("B", 4, 9), ("C", 9, 12))
    a, b, c = map(Event, order)
    verdict = order == ("A", "B", "C")
    for claim in (Concat(Concat(a, b), c), Concat(a, Concat(b, c))):
        assert proves(heard, claim, NO_TOLERANCE) == verdict
        if not verdict:
            assert not proves(heard, claim, NO_TOLERANCE)
    assert refutes(heard, Concat(a, Concat(b, c)), NO_TOLERANCE) != verdict


def test_the_papers_scene_proves_itself_and_refutes_its_edits() -> None:
    a, b, c = (Event(n, Excerpt(n, 0, f)) for n, f in (("A", 10), ("B", 10), ("C", 20)))
    heard = timeline(Overlay(Concat(a, b), c))
    assert proves(heard, Overlay(Concat(A, B), C), NO_TOLERANCE)
    assert refutes(heard, Overlay(Concat(B, A), C), NO_TOLERANCE)
    assert refutes(heard, Concat(Overlay(A, B), C), NO_TOLERANCE)
    assert refutes(heard, Concat(B, Overlay(A, C)), NO_TOLERANCE)


def test_one_sound_does_not_prove_that_it_sounds_twice_at_once() -> None:
    # A placement was paired with itself, so that one dog proved "a dog while a dog".
    heard = line(("A", 0, 5))
    assert not proves(heard, Overlay(A, A), NO_TOLERANCE)
    assert not proves(heard, Concat(A, A), NO_TOLERANCE)


def test_a_sound_in_the_pause_between_two_others_is_not_together_with_them() -> None:
    # The hull of "A before B" covers the pause, so that C alone in it proved "(A before B) while C"
    # although C sounds with neither.
    heard = line(("A", 0, 5), ("C", 6, 9), ("B", 10, 15))
    assert not proves(heard, Overlay(Concat(A, B), C), NO_TOLERANCE)


def test_a_sound_within_one_part_is_not_proven_to_go_with_the_whole() -> None:
    # C sounds with A alone; "A then B, while C" is read by many as C all through.
    heard = line(("A", 0, 9), ("C", 2, 5), ("B", 9, 15))
    assert not proves(heard, Overlay(Concat(A, B), C), NO_TOLERANCE)
    assert not refutes(heard, Overlay(Concat(A, B), C), NO_TOLERANCE)


def test_an_overlap_too_short_to_be_heard_is_no_while() -> None:
    rain = Event("rain", Excerpt("lib/rain", 0, 160_000))
    click = Event("click", Excerpt("lib/click", 0, 1))
    scene = Overlay(rain, click, 5_000)
    claim = Overlay(Event("click"), Event("rain"))
    assert not proves(timeline(scene), claim, Tolerance(audible=1600))
    assert not refutes(timeline(scene), claim, Tolerance(audible=1600))
    assert proves(timeline(scene), claim, Tolerance(audible=1))
