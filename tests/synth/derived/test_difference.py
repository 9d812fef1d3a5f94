"""Difference captions: each half is true of its own sample and false of the other."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations

import asked
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.rng import Randomness
from synth.derived.differences import (
    FRAMES,
    Difference,
    DifferenceKind,
    find_differences,
    reverse_kind,
    wordings,
)
from synth.derived.questions import Subject
from synth.recipes.triplets import Triplets
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene
from synth.scene.timeline import Placement, Timeline, duration, timeline
from synth.truth.relations import Tolerance
from tests.synth.truth.oracle import Oracle, find_borders

# The run-time type checker samples containers with `random`, also inside strategies.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module")

NAMES = "PQRST"


def line(*sounds: tuple[str, int, int]) -> Timeline:
    places = tuple(
        Placement(label, on, off, Excerpt(f"clip-{label}", 0, off - on))
        for label, on, off in sounds
    )
    return Timeline(places, max(off for _, _, off in sounds))


def subject(heard: Timeline, number: int = 0, tolerance: Tolerance | None = None) -> Subject:
    sounds = tuple(dict.fromkeys(place.label for place in heard.placements))
    return Subject(f"s-{number}", "g", heard, tolerance or Tolerance(), sounds)


@st.composite
def groups(draw: st.DrawFn) -> list[Subject]:
    """Two to four scenes over the same few names."""
    tolerance = Tolerance(audible=draw(st.integers(1, 4)))

    def compose(part: list[str]) -> Scene:
        if len(part) == 1:
            return Event(part[0], Excerpt(part[0], 0, draw(st.integers(1, 12))))
        cut = draw(st.integers(1, len(part) - 1))
        first, second = compose(part[:cut]), compose(part[cut:])
        if draw(st.booleans()):
            fade = draw(st.integers(0, min(duration(first), duration(second), 3)))
            return Concat(first, second, fade)
        return Overlay(first, second, draw(st.integers(-4, 8)))

    members = []
    for number in range(draw(st.integers(2, 4))):
        names = draw(st.permutations(NAMES))[: draw(st.integers(1, 4))]
        members.append(subject(timeline(compose(names)), number, tolerance))
    return members


def confirmed(difference: Difference, by_id: dict[str, Subject]) -> bool:
    """Whether a second judge finds each half true of its own sample and false of the other."""
    first, second = (
        Oracle(who.heard, who.tolerance.audible, find_borders(who.heard))
        for who in (by_id[difference.first], by_id[difference.second])
    )
    mine, theirs = difference.claims
    true = first.proves(mine) and second.proves(theirs)
    return true and second.refutes(mine) and first.refutes(theirs)


@given(groups(), st.integers(0, 9))
def test_each_half_is_true_of_its_own_sample_and_false_of_the_other(
    who: list[Subject], seed: int
) -> None:
    by_id = {each.id: each for each in who}
    told = find_differences(who, Randomness(seed))
    for difference in told.made:
        assert confirmed(difference, by_id)
    pairs = len(list(combinations(who, 2)))
    assert len(told.made) + told.left_out["difference"] == pairs


@given(groups())
def test_samples_of_which_nothing_is_told_share_all_their_sounds_or_differ_in_what_is_open(
    who: list[Subject],
) -> None:
    told = {
        frozenset((each.first, each.second)) for each in find_differences(who, Randomness(0)).made
    }
    for first, second in combinations(who, 2):
        if set(first.sounds) != set(second.sounds):
            assert frozenset((first.id, second.id)) in told


@pytest.mark.parametrize("name", asked.CORPORA)
def test_differences_of_a_planned_corpus_are_confirmed_from_their_rows(name: str) -> None:
    who = asked.CORPORA[name]()
    by_id = {each.id: each for each in who}
    told = find_differences(who, Randomness(0)).made
    assert len({each.id for each in told}) == len(told) > 0
    for difference in told:
        assert confirmed(difference, by_id)
        assert by_id[difference.first].group == by_id[difference.second].group


def test_triplets_differ_in_order_or_in_relation_and_none_is_left_untold() -> None:
    told = find_differences(asked.triplets(), Randomness(0))
    assert told.left_out["difference"] == 0
    kinds = Counter(each.kind for each in told.made)
    assert set(kinds) == {DifferenceKind.REORDER, DifferenceKind.TOGETHER, DifferenceKind.APART}
    assert max(kinds.values()) < 1.5 * min(kinds.values())


def test_scenes_differ_in_many_ways() -> None:
    kinds = Counter(each.kind for each in find_differences(asked.scenes(), Randomness(0)).made)
    wanted = set(DifferenceKind) - {DifferenceKind.ADDED, DifferenceKind.REMOVED}
    assert wanted <= set(kinds)


def test_a_sound_beside_another_is_added_or_removed() -> None:
    found = asked.clips(("Bark", "Rain", "Siren"))
    told = find_differences(asked.planned(Triplets(stage_a=True), found), Randomness(0))
    kinds = Counter(each.kind for each in told.made)
    assert set(kinds) == {DifferenceKind.ADDED, DifferenceKind.REMOVED}


def test_which_of_two_samples_is_the_first_is_drawn() -> None:
    order = Counter(
        each.first < each.second for each in find_differences(asked.scenes(), Randomness(0)).made
    )
    assert min(order.values()) > 0.35 * sum(order.values())


def test_differences_are_a_function_of_their_batch_and_seed() -> None:
    assert find_differences(asked.triplets(), Randomness(3)) == find_differences(
        asked.triplets(), Randomness(3)
    )
    assert find_differences(asked.triplets(), Randomness(3)) != find_differences(
        asked.triplets(), Randomness(4)
    )
    assert find_differences([], Randomness(3)).made == ()


def test_nothing_is_told_of_samples_that_are_alike() -> None:
    heard = line(("Bark", 0, 5), ("Rain", 5, 9))
    told = find_differences([subject(heard, 0), subject(heard, 1)], Randomness(0))
    assert told.made == ()
    assert told.left_out["difference"] == 1


def test_nothing_is_told_of_sounds_that_could_pass_for_one_another() -> None:
    told = find_differences(
        [subject(line(("Bark", 0, 5)), 0), subject(line(("Dog", 0, 5)), 1)], Randomness(0)
    )
    assert told.made == ()


def test_what_whole_captions_leave_unsaid_is_not_said_to_be_absent() -> None:
    first = replace(subject(line(("a man speaks", 0, 5)), 0), sentences=frozenset({"a man speaks"}))
    told = find_differences([first, subject(line(("Rain", 0, 5)), 1)], Randomness(0))
    assert told.left_out["difference"] == 1


# Words


def test_every_kind_has_frames_and_its_reverse_has_twins() -> None:
    assert set(FRAMES) == set(DifferenceKind)
    for kind, frames in FRAMES.items():
        assert len(set(frames)) >= 3
        twins = FRAMES[reverse_kind(kind)]
        assert len(twins) == len(frames)
        assert [".clause}" in frame for frame in frames] == [".clause}" in each for each in twins]


def test_exact_wording() -> None:
    first = subject(line(("Bark", 0, 5), ("Rain", 5, 9)), 0)
    second = subject(line(("Rain", 0, 5), ("Bark", 5, 9)), 1)
    claims = Concat(Event("Bark"), Event("Rain")), Concat(Event("Rain"), Event("Bark"))
    assert wordings(DifferenceKind.REORDER, claims, first, second) == [
        "In the first recording, a dog barks before rain falls; in the second, "
        "it is the other way round.",
        "In the first recording, a dog barks before rain falls; in the second, only afterwards.",
        "In the first recording you hear a bark before rain; in the second, a bark after rain.",
        "In the first recording you hear a bark and then rain; in the second, "
        "rain and then a bark.",
    ]
    assert wordings(DifferenceKind.ADDED, claims, first, second) == []


def test_a_caption_and_its_reverse_are_said_in_the_same_way() -> None:
    for difference in find_differences(asked.triplets(), Randomness(0)).made:
        assert difference.caption != difference.reverse_caption
        if difference.kind is DifferenceKind.REORDER:
            for tail in ("the other way round.", "only afterwards."):
                found = difference.caption.endswith(tail)
                assert found == difference.reverse_caption.endswith(tail)
