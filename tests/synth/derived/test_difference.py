"""Difference captions: each half is true of its own sample and false of the other."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from synth.base.rng import Randomness
from synth.derived.differences import (
    DifferenceKind,
    find_differences,
    reverse_kind,
    wordings,
)
from synth.derived.questions import Derived, Exchange, Subject
from synth.derived.wording import list_frames
from synth.recipes.triplets import Triplets
from synth.scene.scene import Concat, Event
from synth.scene.timeline import timeline
from synth.truth.relations import Tolerance
from tests.kit import asked
from tests.kit.asked import subject
from tests.kit.cases import cases
from tests.kit.timelines import line, placed_scenes
from tests.synth.truth.oracle import Oracle, find_borders


@st.composite
def groups(draw: st.DrawFn) -> list[Subject]:
    """Two to four scenes over the same few names."""
    tolerance = Tolerance(audible=draw(st.integers(1, 4)))
    placed = draw(st.lists(placed_scenes().map(timeline), min_size=2, max_size=4))
    return [subject(heard, number, tolerance=tolerance) for number, heard in enumerate(placed)]


def confirmed(difference: Exchange, by_id: dict[str, Subject]) -> bool:
    """Whether a second judge finds each half true of its own sample and false of the other."""
    first, second = (
        Oracle(who.timeline, who.tolerance.audible, find_borders(who.timeline))
        for who in map(by_id.__getitem__, difference.samples)
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
    told = {frozenset(each.samples) for each in find_differences(who, Randomness(0)).made}
    for first, second in combinations(who, 2):
        if set(first.sounds) != set(second.sounds):
            assert frozenset((first.id, second.id)) in told


@cases("name", asked.CORPORA)
def test_differences_of_a_planned_corpus_are_confirmed_from_their_rows(name: str) -> None:
    who = asked.CORPORA[name]()
    by_id = {each.id: each for each in who}
    told = find_differences(who, Randomness(0)).made
    assert len({each.samples for each in told}) == len(told) > 0
    for difference in told:
        assert confirmed(difference, by_id)
        assert len({by_id[sample].group for sample in difference.samples}) == 1


def test_kinds_of_differences() -> None:
    kinds = DifferenceKind
    in_order = {kinds.REORDER, kinds.TOGETHER, kinds.APART}
    triplets = find_differences(asked.triplets(), Randomness(0))
    assert not triplets.left_out["difference"]
    counts = Counter(each.detail for each in triplets.made)
    assert set(counts) == in_order
    assert max(counts.values()) < 1.5 * min(counts.values())
    for difference in triplets.made:
        # A caption and its reverse are said in the same way.
        assert difference.answer != difference.wrong
        if difference.detail == kinds.REORDER:
            for tail in ("the other way round.", "only afterwards."):
                assert difference.answer.endswith(tail) == difference.wrong.endswith(tail)
    scenes = find_differences(asked.scenes(), Randomness(0)).made
    assert {each.detail for each in scenes} >= set(kinds) - {kinds.ADDED, kinds.REMOVED}
    # Which of two samples is the first is drawn.
    order = Counter(each.samples[0] < each.samples[1] for each in scenes)
    assert min(order.values()) > 0.35 * sum(order.values())
    single = asked.planned(Triplets(stage_a=True), asked.clips(("Bark", "Rain", "Siren")))
    beside = find_differences(single, Randomness(0)).made
    assert {each.detail for each in beside} == {kinds.ADDED, kinds.REMOVED}
    by_kind = list_frames("difference")
    assert set(by_kind) == set(kinds)
    for kind in kinds:
        frames, twins = by_kind[kind], by_kind[reverse_kind(kind)]
        assert len(set(frames)) >= 3
        assert len(twins) == len(frames)
        assert [".clause}" in frame for frame in frames] == [".clause}" in each for each in twins]


def test_differences_are_a_function_of_their_batch_and_seed() -> None:
    third, again, fourth = (find_differences(asked.triplets(), Randomness(at)) for at in (3, 3, 4))
    assert third == again != fourth
    assert find_differences([], Randomness(3)).made == ()


SPEECH = line(("a man speaks", 0, 5))


@cases(
    "pair",
    [
        [subject(line(("Bark", 0, 5), ("Rain", 5, 9)), number) for number in (0, 1)],
        [subject(line(("Bark", 0, 5)), 0), subject(line(("Dog", 0, 5)), 1)],
        [
            replace(subject(SPEECH, 0), sentences=frozenset({"a man speaks"})),
            subject(line(("Rain", 0, 5)), 1),
        ],
    ],
)
def test_nothing_is_told_of_pairs_that(pair: list[Subject]) -> None:
    assert find_differences(pair, Randomness(0)) == Derived((), {"difference": 1})


# Words


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
