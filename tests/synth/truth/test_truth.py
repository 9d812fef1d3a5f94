"""Truth: the laws of proof and refutation, and verdicts on sounds whose times are plain."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from synth.scene.activity import Activity, Stretch
from synth.scene.claim import And, Claim, Not, Only
from synth.scene.edit import recompositions
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, labels, parse, statement
from synth.scene.timeline import Placement, Timeline, duration, timeline
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing, proves, refutes
from tests.kit.cases import cases
from tests.synth.scene.test_edit import statements

# The run-time type checker samples containers with `random`, also inside strategies.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module")

A, B, C, D, DOG = (Event(label) for label in (*"ABCD", "Dog"))


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


@st.composite
def realised(draw: st.DrawFn) -> Scene:
    """A scene in time, with crossfades and places of any kind."""

    def place(scene: Scene) -> Scene:
        if isinstance(scene, Event):
            return Event(scene.label, Excerpt(scene.label, 0, draw(st.integers(1, 12))))
        first, second = place(scene.first), place(scene.second)
        if isinstance(scene, Concat):
            fade = draw(st.integers(0, min(duration(first), duration(second), 3)))
            return Concat(first, second, fade)
        return Overlay(first, second, draw(st.integers(-4, 8)))

    return place(draw(statements(most=4)))


ANY_TIMELINES = st.one_of(
    realised().map(timeline),
    st.lists(
        st.tuples(st.sampled_from("ABCD"), st.integers(0, 14), st.integers(1, 10)),
        min_size=1,
        max_size=6,
    ).map(lambda sounds: line(*((label, on, on + length) for label, on, length in sounds))),
)
ANY_TOLERANCES = st.builds(Tolerance, st.integers(0, 4), st.integers(1, 4))


@given(realised(), ANY_TOLERANCES)
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


# The rules one by one


def crossfaded(first: int, second: int, crossfade: int) -> Timeline:
    """A, then B, so long and joined so."""
    a, b = Event("A", Excerpt("a", 0, first)), Event("B", Excerpt("b", 0, second))
    return timeline(Concat(a, b, crossfade))


NESTED = line(("A", 0, 10), ("B", 2, 6), ("C", 10, 14))
IN_A_ROW = line(("A", 0, 4), ("B", 4, 9), ("C", 9, 12))
THREE = [Event(name, Excerpt(name, 0, 100)) for name in "ABC"]
PAPER = [
    Event(name, Excerpt(name, 0, frames)) for name, frames in zip("ABC", (10, 10, 20), strict=True)
]
RAIN_AND_CLICK = Overlay(
    Event("A", Excerpt("rain", 0, 160_000)), Event("B", Excerpt("click", 0, 1)), 5_000
)
BARK_THEN_RAIN = line(("Bark", 0, 5), ("Rain", 5, 9))

VERDICTS: list[tuple[str, Timeline, int, dict[str | Claim, str]]] = [
    *(("a crossfade is a transition and not while", crossfaded(100, 200, crossfade), 5,
       {"A + B": "proven", "A * B": "refuted", "B + A": "refuted"}) for crossfade in (0, 1, 5, 50)),
    ("who overlap for 0.5 s may do so in passing",
     crossfaded(200, 200, 50), 5, {"A + B": "proven", "A * B": "refuted"}),
    ("nobody calls the 7 s for which two sounds of 20 s overlap a moment",
     crossfaded(200, 200, 51), 5, {"A + B": "proven", "A * B": "neither"}),
    ("a crossfade over most of a sound is no transition",
     crossfaded(100, 200, 51), 1, {"A + B": "neither", "A * B": "neither"}),
    # C brushes A for 10 frames and is joined to nothing.
    ("a crossfade excuses only the sounds that it joins",
     timeline(Overlay(Concat(*THREE[:2], 20), THREE[2], -90)), 1,
     {"A * C": "neither", "C + A": "neither", "A + B": "proven"}),
    # 10 frames are what can be heard: 50 of the rest, or a fifth of it all, are a sound of its own.
    *(("what goes on alone may be said to come after", line(("A", 0, 1000), ("B", 0, 1000 + rest)),
       10, {"A + B": "refuted", "B + A": "refuted"}) for rest in (0, 40, 49)),
    *(("what goes on alone may be said to come after", line(("A", 0, 1000), ("B", 0, 1000 + rest)),
       10, {"A + B": "neither", "B + A": "refuted"}) for rest in (50, 300)),
    *(("onsets too close to tell order nothing", line(("A", 0, 1000), ("B", late, 1000)), 10,
       {"A + B": "refuted"}) for late in (0, 9)),
    ("onsets that are apart may tell order",
     line(("A", 0, 1000), ("B", 10, 1000)), 10, {"A + B": "neither"}),
    ("three in a row", IN_A_ROW, 1, {"A + B + C": "proven", "A + (B + C)": "proven"}),
    *(("in no other", IN_A_ROW, 1, {f"{a} + {b} + {c}": "refuted", f"{a} + ({b} + {c})": "refuted"})
      for a, b, c in [*permutations("ABC")][1:]),
    ("the paper's scene proves itself and refutes its edits",
     timeline(Overlay(Concat(*PAPER[:2]), PAPER[2])), 1,
     {"(A + B) * C": "proven", "(B + A) * C": "refuted", "A * B + C": "refuted",
      "B + A * C": "refuted"}),
    ("one sound does not prove that it sounds twice", line(("A", 0, 5)), 1,
     {"A * A": "neither", "A + A": "refuted"}),
    # The hull of "A before B" covers the pause, though C sounds with neither.
    ("a sound in the pause between two others is not together with them",
     line(("A", 0, 5), ("C", 6, 9), ("B", 10, 15)), 1, {"(A + B) * C": "neither"}),
    # C sounds with A alone; "A then B, while C" is read by many as C all through.
    ("a sound within one part is not proven to go with the whole",
     line(("A", 0, 9), ("C", 2, 5), ("B", 9, 15)), 1, {"(A + B) * C": "neither"}),
    ("an overlap too short to be heard is no while",
     timeline(RAIN_AND_CLICK), 1600, {"B * A": "neither"}),
    ("an overlap that can be heard is", timeline(RAIN_AND_CLICK), 1, {"B * A": "proven"}),
    # C outlasts the join by 5 frames: nobody hears it "with both".
    ("company must be long enough to be heard",
     line(("A", 0, 100), ("B", 100, 200), ("C", 80, 105)), 10, {"(A + B) * C": "neither"}),
    # A quarter of the 80 frames of C at least beside each of the two.
    *(("company must be a good part of the shorter sound",
       line(("A", 0, 100), ("B", 100, 200), ("C", end - 80, end)), 5, {"(A + B) * C": "neither"})
      for end in (112, 119)),
    *(("company is a good part of the shorter sound",
       line(("A", 0, 100), ("B", 100, 200), ("C", end - 80, end)), 5, {"(A + B) * C": "proven"})
      for end in (120, 150)),
    ("a nested scene", NESTED, 1, {
        "A * B + C": "proven",
        "C + A * B": "refuted",
        "A * C + B": "refuted",
        "(A + C) * B": "neither",  # "a then c, while b" for a moment
        "A + B + C": "neither",  # a does start first
        "B + A + C": "neither",  # a goes on when b is over
        "A * B * C": "refuted",
        "A * (B + C)": "neither",
        "C * (A + B)": "refuted",
        "A * D + C": "refuted",
        And(Overlay(A, B), Not(D)): "proven",
        And(Overlay(A, B), Not(C)): "refuted",
        And(Concat(A, B), Not(D)): "neither",
        Only(Concat(Overlay(A, B), C)): "proven",
        Only(Overlay(A, B)): "refuted",
    }),
    # "(a with b) before c": b starts after c, but a before it, and the whole thus before c.
    # "c before (a with b)": b alone starts after c.
    ("a composed part comes first if any of it does",
     line(("A", 0, 10), ("B", 6, 9), ("C", 5, 8)), 1,
     {"A * B + C": "neither", "C + A * B": "neither"}),
    ("nothing of it starts after c, or goes on when c is over",
     line(("A", 0, 10), ("B", 4, 9), ("C", 5, 10)), 1, {"C + A * B": "refuted"}),
    ("a claim that fails under either name is refuted", BARK_THEN_RAIN, 1, {
        "Rain + (Bark + Dog)": "refuted",
        "Rain + Dog": "refuted",
        "Rain * Dog": "refuted",
        And(DOG, Event("Trumpet")): "refuted",
    }),
    ("a kin sound beside what is claimed leaves it sure", BARK_THEN_RAIN, 1,
     {"Rain": "proven", "Bark": "proven", "Trumpet": "refuted", Not(Event("Trumpet")): "proven"}),
    ("two kin sounds leave it open which one is meant",
     line(("Bark", 0, 5), ("Dog", 5, 9)), 1,
     {"Dog": "neither", "Bark": "neither", "Bark + Dog": "neither", "Dog + Bark": "neither"}),
]  # fmt: skip


@cases(("rule", "heard", "audible", "verdicts"), VERDICTS)
def test_verdicts(
    rule: str, heard: Timeline, audible: int, verdicts: dict[str | Claim, str]
) -> None:
    for said, expected in verdicts.items():
        claim = parse(said) if isinstance(said, str) else said
        proven, refuted = verdict(heard, claim, Tolerance(audible=audible))
        assert (proven, refuted) == (expected == "proven", expected == "refuted"), rule


def test_who_hears_more_of_a_sound_grants_it_a_longer_transition() -> None:
    """What is proven to be together is so to the keenest ear, too."""
    whole = (Stretch(0, 5), Stretch(30, 75))
    scene = Concat(Event("A", Excerpt("a", 0, 75)), Event("B", Excerpt("b", 0, 90)), 75)
    faint_around = Activity((Stretch(30, 45),), (Stretch(0, 75),))
    heard = timeline(scene, [Activity(whole, whole), faint_around])
    # Of 45 frames of B, to one ear, 20 are A's, too; a transition may cover 22.
    assert not proves(heard, Overlay(Event("A"), Event("B")), Tolerance(audible=10))
