"""Dealing clips without replacement."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from synth.base.errors import PlanError
from synth.base.rng import Randomness
from synth.labels.lexicon import are_confusable
from synth.recipes.base import Clip
from synth.recipes.casting import ClipDealer
from tests.kit.cases import cases
from tests.kit.planned import RATE, make_clip

LABELS = (
    "Bark", "Meow", "Moo", "Rain", "Siren", "Church bell", "Piano", "Snoring", "Laughter",
    "Motorcycle", "Helicopter", "Chainsaw", "Typing", "Applause", "Howl", "Thunder",
)  # fmt: skip


def clips(each: int = 12) -> tuple[Clip, ...]:
    return tuple(
        make_clip(f"{label}-{take}", label, frames=RATE) for label in LABELS for take in range(each)
    )


def dealer(found: tuple[Clip, ...], most: int = 13, seed: int = 7) -> ClipDealer:
    return ClipDealer(found, most, Randomness(seed), "deck")


@cases("most", [3, 5, 13])
def test_every_clip_is_dealt_once_before_any_is_dealt_again(most: int) -> None:
    deck = clips()
    made = dealer(deck, most)
    groups = len(made.sizes)
    left_out = []
    for round_ in range(3):
        hands = [made.hand(round_ * groups + place) for place in range(groups)]
        used = Counter(clip.id for hand in hands for clip in hand)
        assert set(used.values()) == {1}
        left_out.append({clip.id for clip in deck} - set(used))
        assert len(left_out[-1]) <= most
        sizes = Counter(map(len, hands))
        assert max(sizes) <= most
    assert not set.intersection(*left_out)


def test_sounds_of_a_hand_cannot_be_confused() -> None:
    made = dealer(clips())
    for index in range(len(made.sizes)):
        named = [clip.labels[0] for clip in made.hand(index)]
        assert not any(are_confusable(*pair) for pair in combinations(named, 2))


def test_hands_of_all_sizes_are_as_frequent() -> None:
    made = dealer(clips(40), 8)
    counts = Counter(len(made.hand(index)) for index in range(len(made.sizes)))
    assert set(counts) == set(range(3, 9))
    assert max(counts.values()) - min(counts.values()) <= 1


def test_a_hand_is_a_pure_function_of_its_number() -> None:
    made, other = dealer(clips()), dealer(clips())
    last = 2 * len(made.sizes)
    backwards = {index: made.hand(index) for index in range(last, -1, -3)}
    assert backwards == {index: other.hand(index) for index in sorted(backwards)}
    assert dealer(clips(), seed=8).hand(0) != made.hand(0)


def test_a_label_that_most_clips_bear_leaves_some_to_the_next_round() -> None:
    many = tuple(make_clip(f"Bark-{take}", "Bark", frames=RATE) for take in range(100, 400))
    made = dealer(clips(2) + many, 5)
    hands = [made.hand(index) for index in range(len(made.sizes))]
    used = Counter(clip.id for hand in hands for clip in hand)
    assert set(used.values()) == {1}
    assert all(sum(clip.labels[0] == "Bark" for clip in hand) <= 1 for hand in hands)


def test_too_few_clips_are_a_clear_error() -> None:
    with pytest.raises(PlanError, match="2 clips do not make one group"):
        _ = dealer(clips()[:2]).sizes
