"""Probe sets: who is in, who is not and why, the balance, and the draw."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.errors import SpecError
from synth.text.order.clause_swap import Probe, ProbeCaption, Probed, probe
from synth.text.order.connectives import SwapReason

TEXTS = (
    "A goose honks before a gate shuts",
    "A nurse sings before a gong rings",
    "A goose hisses before rain falls",
    "a goose  hisses before rain falls",
    "Geese honk after a gong",
    "Rain falls after thunder",
    "Rain falls as geese honk",
    "Geese honk then a gate shuts",
    "Thunder followed by rain",
    "Geese honk",
    "",
)


def _captions(texts: tuple[str, ...] = TEXTS) -> list[ProbeCaption]:
    return [ProbeCaption(str(index), text) for index, text in enumerate(texts)]


def _reasons(probed: list[Probed]) -> list[SwapReason | None]:
    return [each.outcome.reason for each in probed]


def test_every_caption_is_answered_in_order() -> None:
    for kind in Probe:
        probed = probe(kind, _captions())
        assert [each.caption for each in probed] == _captions()
        assert all(each.outcome.made == bool(each.outcome.text) for each in probed)
        assert probed == probe(kind, _captions())


def test_pte_holds_each_ordering_word_once() -> None:
    probed = probe(Probe.PTE, _captions())
    assert Counter(str(each.outcome.connective) for each in probed if each.outcome.made) == {
        "before": 3,
        "after": 2,
        "then": 1,
        "followed by": 1,
    }
    assert _reasons(probed)[3] is SwapReason.REPEATED
    assert _reasons(probed)[6] is SwapReason.NO_CONNECTIVE
    assert _reasons(probed)[10] is SwapReason.EMPTY
    # A tool alone keeps what is repeated.
    assert _reasons(probe(Probe.CLAUSE_SWAP, _captions()))[3] is None


def test_bat_is_balanced_by_the_seed() -> None:
    probed = probe(Probe.BAT, _captions(), seed=3)
    words = Counter(str(each.outcome.connective) for each in probed if each.outcome.made)
    assert words == {"before": 2, "after": 2}
    assert Counter(_reasons(probed))[SwapReason.BALANCED_OUT] == 1
    drawn = {
        tuple(each.outcome.made for each in probe(Probe.BAT, _captions(), seed=seed))
        for seed in range(20)
    }
    assert len(drawn) == 3


def test_bat_may_be_unbalanced_or_smaller() -> None:
    whole = probe(Probe.BAT, _captions(), balanced=False)
    assert sum(each.outcome.made for each in whole) == 5
    small = probe(Probe.BAT, _captions(), size=2)
    words = Counter(str(each.outcome.connective) for each in small if each.outcome.made)
    assert words == {"before": 1, "after": 1}
    none = probe(Probe.BAT, _captions(), size=0)
    assert not any(each.outcome.made for each in none)


def test_an_impossible_size_is_refused() -> None:
    for size in (3, 6, -2):
        with pytest.raises(SpecError, match="2 hold after") as refusal:
            probe(Probe.BAT, _captions(), size=size)
        assert refusal.value.fix == "ask for an even size up to 4"
    # A size is for a balanced BAT alone.
    for kind, balanced in ((Probe.PTE, True), (Probe.BAT, False)):
        with pytest.raises(SpecError):
            probe(kind, _captions(), size=2, balanced=balanced)


def test_as_then_set_holds_both_words() -> None:
    probed = probe(Probe.AS_THEN_SET, _captions())
    made = {str(each.outcome.connective): each.outcome.text for each in probed if each.outcome.made}
    assert made == {"as": "Rain falls then geese honk", "then": "Geese honk as a gate shuts"}


@given(st.lists(st.sampled_from(TEXTS), max_size=12), st.integers(0, 50))
def test_bat_always_balances(texts: list[str], seed: int) -> None:
    probed = probe(Probe.BAT, _captions(tuple(texts)), seed=seed)
    words = Counter(str(each.outcome.connective) for each in probed if each.outcome.made)
    assert words["before"] == words["after"]
    assert len(probed) == len(texts)
