"""Nested claims."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.labels.lexicon import are_kin
from synth.scene.claim import And, Claim, Not, Only
from synth.scene.edit import recompositions
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, labels, statement
from synth.scene.timeline import Placement, Timeline, duration, timeline
from synth.truth.relations import Tolerance
from synth.truth.truth import proves, refutes

# The run-time type checker samples containers with `random`, also inside strategies.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module")

NAMES = "PQRS"
A, B, C, D = map(Event, NAMES)


def line(*sounds: tuple[str, int, int]) -> Timeline:
    placements = tuple(
        Placement(label, on, off, Excerpt(f"clip-{label}", 0, off - on))
        for label, on, off in sounds
    )
    return Timeline(placements, max(off for _, _, off in sounds))


@st.composite
def claims(draw: st.DrawFn, most: int = 4) -> Scene:
    names = draw(st.permutations(NAMES))[: draw(st.integers(1, most))]

    def compose(part: list[str]) -> Scene:
        if len(part) == 1:
            return Event(part[0])
        cut = draw(st.integers(1, len(part) - 1))
        kind = draw(st.sampled_from([Concat, Overlay]))
        return kind(compose(part[:cut]), compose(part[cut:]))

    return compose(names)


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

    return place(draw(claims()))


TIMELINES = st.one_of(
    realised().map(timeline),
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.integers(0, 14), st.integers(1, 10)),
        min_size=1,
        max_size=6,
    ).map(lambda sounds: line(*((label, on, on + length) for label, on, length in sounds))),
)
TOLERANCES = st.builds(Tolerance, st.integers(0, 4), st.integers(1, 4))


@given(realised(), TOLERANCES)
def test_of_two_statements_of_different_meaning_one_at_most_is_proven(
    scene: Scene, tolerance: Tolerance
) -> None:
    heard, said = timeline(scene), statement(scene)
    proven = [claim for claim in (said, *recompositions(said)) if proves(heard, claim, tolerance)]
    assert len(proven) <= 1


@given(TIMELINES, claims(), TOLERANCES)
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


def test_company_must_be_long_enough_to_be_heard() -> None:
    # The rain outlasts the join by 5 frames: nobody hears it "with both".
    heard = line(("P", 0, 100), ("Q", 100, 200), ("R", 80, 105))
    claim = Overlay(Concat(A, B), C)
    assert not proves(heard, claim, Tolerance(audible=10))
    assert not refutes(heard, claim, Tolerance(audible=10))


@pytest.mark.parametrize(("end", "proven"), [(112, False), (119, False), (120, True), (150, True)])
def test_company_must_be_a_good_part_of_the_shorter_sound(end: int, proven: bool) -> None:
    # A quarter of the rain's 80 frames at least beside each of the two.
    heard = line(("P", 0, 100), ("Q", 100, 200), ("R", end - 80, end))
    assert proves(heard, Overlay(Concat(A, B), C), Tolerance(audible=5)) == proven


@pytest.mark.parametrize(
    ("claim", "proven", "refuted"),
    [
        # P from 0 to 10 with Q from 2 to 6, then R from 10 to 14.
        (Concat(Overlay(A, B), C), True, False),
        (Concat(C, Overlay(A, B)), False, True),
        (Concat(Overlay(A, C), B), False, True),
        (Overlay(Concat(A, C), B), False, False),  # "p then r, while q" for a moment
        (Concat(Concat(A, B), C), False, False),  # p does start first
        (Concat(Concat(B, A), C), False, False),  # p goes on when q is over
        (Overlay(Overlay(A, B), C), False, True),
        (Overlay(A, Concat(B, C)), False, False),
        (Overlay(C, Concat(A, B)), False, True),
        (And(Overlay(A, B), Not(D)), True, False),
        (And(Overlay(A, B), Not(C)), False, True),
        (And(Concat(A, B), Not(D)), False, False),
        (Only(Concat(Overlay(A, B), C)), True, False),
        (Only(Overlay(A, B)), False, True),
        (Concat(Overlay(A, D), C), False, True),
    ],
)
def test_verdicts_on_a_nested_scene(claim: Claim, proven: bool, refuted: bool) -> None:
    heard = line(("P", 0, 10), ("Q", 2, 6), ("R", 10, 14))
    assert proves(heard, claim, Tolerance()) == proven
    assert refutes(heard, claim, Tolerance()) == refuted


def test_a_composed_part_comes_first_if_any_of_it_does() -> None:
    # "(p with q) before r": q starts after r, but p before it, and the whole thus before r.
    heard = line(("P", 0, 10), ("Q", 6, 9), ("R", 5, 8))
    claim = Concat(Overlay(A, B), C)
    assert not proves(heard, claim, Tolerance())
    assert not refutes(heard, claim, Tolerance())
    # "r before (p with q)": q alone starts after r.
    assert not refutes(heard, Concat(C, Overlay(A, B)), Tolerance())
    # Nothing of it starts after r here, or goes on when r is over.
    after = line(("P", 0, 10), ("Q", 4, 9), ("R", 5, 10))
    assert refutes(after, Concat(C, Overlay(A, B)), Tolerance())


# Kin: "Dog" may be said of what is catalogued as "Bark".

DOG, BARK, RAIN, TRUMPET = (Event(label) for label in ("Dog", "Bark", "Rain", "Trumpet"))


def test_the_labels_of_this_test_are_kin() -> None:
    assert are_kin("Dog", "Bark")
    assert not are_kin("Dog", "Rain")
    assert not are_kin("Bark", "Trumpet")


@pytest.mark.parametrize(
    "claim",
    [
        DOG,
        Not(DOG),
        Concat(DOG, RAIN),
        Not(Concat(DOG, RAIN)),
        And(DOG, RAIN),
        And(RAIN, Not(DOG)),
        Concat(RAIN, Concat(BARK, DOG)),
    ],
)
def test_a_kin_name_is_neither_proven_nor_refuted(claim: Claim) -> None:
    heard = line(("Bark", 0, 5), ("Rain", 5, 9))
    if claim == Concat(RAIN, Concat(BARK, DOG)):
        assert refutes(heard, claim, Tolerance())  # whatever the names, rain is last
        return
    assert not proves(heard, claim, Tolerance())
    assert not refutes(heard, claim, Tolerance())


def test_a_claim_that_fails_under_either_name_is_refuted() -> None:
    heard = line(("Bark", 0, 5), ("Rain", 5, 9))
    assert refutes(heard, Concat(RAIN, DOG), Tolerance())
    assert refutes(heard, Overlay(RAIN, DOG), Tolerance())
    assert refutes(heard, And(DOG, TRUMPET), Tolerance())


def test_two_kin_sounds_leave_it_open_which_one_is_meant() -> None:
    heard = line(("Bark", 0, 5), ("Dog", 5, 9))
    for claim in (DOG, BARK, Concat(BARK, DOG), Concat(DOG, BARK)):
        assert not proves(heard, claim, Tolerance())
    assert not refutes(heard, Concat(DOG, BARK), Tolerance())


def test_only_a_kin_sound_beside_what_is_claimed_is_open() -> None:
    heard = line(("Bark", 0, 5), ("Rain", 5, 9))
    assert proves(heard, RAIN, Tolerance())
    assert proves(heard, BARK, Tolerance())
    assert refutes(heard, TRUMPET, Tolerance())
    assert proves(heard, Not(TRUMPET), Tolerance())
