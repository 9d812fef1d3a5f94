"""Clause swap, before <-> after, as <-> then, nouns and verbs: rules, laws and probe sets."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.errors import SpecError
from synth.labels.lexicon import Phrase
from synth.text.grammar.tagger import EmbeddedTagger
from synth.text.order.clause_swap import TOOLS, Probe, ProbeCaption, Probed, probe, swap_clauses
from synth.text.order.connectives import OrderStep, SwapReason
from synth.text.order.temporal import (
    Unjoinable,
    say_caption,
    swap_as_then,
    swap_before_after,
)
from tests.kit.tables import read_data, read_rows

# Run apart, for speed: this suite checks every call's types.
COUNT = """
import csv, json, sys
from synth.text.order.clause_swap import Probe, ProbeCaption, probe
with open(sys.argv[1], encoding="utf-8", newline="") as file:
    read = [ProbeCaption(row["audiocap_id"], row["caption"]) for row in csv.DictReader(file)]
captions = read[::16]
counts = {}
for tool in ("nv", "clause-swap", "before-after", "as-then"):
    answers = probe(Probe(tool), captions)
    counts[tool] = [len(answers), sum(each.outcome.made for each in answers)]
print(json.dumps(counts))
"""
TOOL_KINDS = (Probe.NV, Probe.CLAUSE_SWAP, Probe.BEFORE_AFTER, Probe.AS_THEN)


def test_texts_are_made_with_their_steps_or_captions_left_out_with_a_reason() -> None:
    for row in read_rows("texts/probes.csv"):
        outcome = TOOLS[Probe(row["tool"])](row["caption"], EmbeddedTagger())
        made = outcome.text, "; ".join(outcome.steps), outcome.reason or ""
        assert made == (row["text"], row["steps"], row["reason"]), row


def test_the_order_of_words_is_told() -> None:
    assert swap_clauses("A goose honks, then a gate shuts.").order == "4 5 6 , 3 0 1 2"
    assert swap_before_after("Rain before thunder").order == "0 after 2"
    assert swap_as_then("Thunder and then water running").order == "0 as 3 runs"


_WORDS = (
    *("a", "the", "goose", "geese", "gate", "rain", "honks", "honk", "shuts", "singing", "laughs"),
    *("then", "before", "after", "as", "while", "followed", "by", ",", ".", "and", "is", "which"),
    *("it", "loudly", "again", "one", "of", "muffled"),
)
_captions = st.one_of(
    st.text(max_size=80), st.lists(st.sampled_from(_WORDS), max_size=12).map(" ".join)
)
_subjects = st.sampled_from(["A goose", "Two geese", "An old gate", "A choir of nurses"])
_gerunds = st.sampled_from(["honking", "singing loudly", "creaking in the rain"])
_links = st.sampled_from([" then ", ", then ", ", and then ", " before ", " after "])


@given(_captions)
def test_nothing_raises_and_every_outcome_is_a_text_or_a_reason(caption: str) -> None:
    for kind in TOOL_KINDS:
        outcome = TOOLS[kind](caption, EmbeddedTagger())
        assert outcome.made == bool(outcome.text) == bool(outcome.steps) == bool(outcome.order)


@given(_captions)
def test_before_after_undoes_itself(caption: str) -> None:
    outcome = swap_before_after(caption)
    if outcome.made:
        assert swap_before_after(outcome.text).text == caption


@given(_subjects, _gerunds, _links, _subjects, _gerunds, st.sampled_from(["", "."]))
def test_clause_swap_twice_gives_the_caption(
    one: str, does: str, link: str, other: str, did: str, stop: str
) -> None:
    caption = f"{one} {does}{link}{other[0].lower()}{other[1:]} {did}{stop}"
    outcome = swap_clauses(caption)
    assert outcome.steps == (OrderStep.SWAPPED,)
    assert swap_clauses(outcome.text).text == caption


@given(_subjects, _gerunds, _links, _gerunds)
def test_a_carried_subject_stays_in_front(one: str, does: str, link: str, did: str) -> None:
    outcome = swap_clauses(f"{one} {does}{link}{did}")
    if OrderStep.CARRIED in outcome.steps:
        assert outcome.text.startswith(one)


def test_every_sixteenth_audiocaps_caption_passes_every_tool(
    shared_data: Callable[[str], Path],
) -> None:
    path = shared_data("AudioCaps") / "train.csv"
    counted = subprocess.run(
        [sys.executable, "-c", COUNT, str(path)], capture_output=True, text=True, check=True
    )
    counts = json.loads(counted.stdout)
    assert {tool: captions for tool, (captions, _) in counts.items()} == dict.fromkeys(
        ("nv", "clause-swap", "before-after", "as-then"), 3_115
    )
    assert all(made > 6 for _, made in counts.values())


# A caption inside a longer sentence: its clause, its gerund, or why it has none


def test_forms_and_reasons() -> None:
    for row in read_rows("texts/joined.csv"):
        said = say_caption(row["caption"])
        if isinstance(said, Unjoinable):
            assert said.value == row["reason"], row
        else:
            gerund = row["gerund"] or row["clause"].removesuffix(" is heard")
            assert (said.clause, said.gerund, row["reason"]) == (row["clause"], gerund, ""), row


@given(st.text(max_size=60))
def test_nothing_raises(caption: str) -> None:
    assert isinstance(say_caption(caption), Phrase | Unjoinable)


# Probe sets: who is in, who is not and why, the balance, and the draw.


CASES = read_data("texts/probes.yaml")

TEXTS = CASES["texts"]


def list_captions(texts: tuple[str, ...] = TEXTS) -> list[ProbeCaption]:
    return [ProbeCaption(str(index), text) for index, text in enumerate(texts)]


def _reasons(probed: list[Probed]) -> list[SwapReason | None]:
    return [each.outcome.reason for each in probed]


def test_every_caption_is_answered_in_order() -> None:
    for kind in Probe:
        probed = probe(kind, list_captions())
        assert [each.caption for each in probed] == list_captions()
        assert all(each.outcome.made == bool(each.outcome.text) for each in probed)
        assert probed == probe(kind, list_captions())


def test_pte_holds_each_ordering_word_once() -> None:
    probed = probe(Probe.PTE, list_captions())
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
    assert _reasons(probe(Probe.CLAUSE_SWAP, list_captions()))[3] is None


def test_bat_is_balanced_by_the_seed() -> None:
    probed = probe(Probe.BAT, list_captions(), seed=3)
    words = Counter(str(each.outcome.connective) for each in probed if each.outcome.made)
    assert words == {"before": 2, "after": 2}
    assert Counter(_reasons(probed))[SwapReason.BALANCED_OUT] == 1
    drawn = {
        tuple(each.outcome.made for each in probe(Probe.BAT, list_captions(), seed=seed))
        for seed in range(20)
    }
    assert len(drawn) == 3


def test_bat_may_be_unbalanced_or_smaller() -> None:
    whole = probe(Probe.BAT, list_captions(), balanced=False)
    assert sum(each.outcome.made for each in whole) == 5
    small = probe(Probe.BAT, list_captions(), size=2)
    words = Counter(str(each.outcome.connective) for each in small if each.outcome.made)
    assert words == {"before": 1, "after": 1}
    none = probe(Probe.BAT, list_captions(), size=0)
    assert not any(each.outcome.made for each in none)


def test_an_impossible_size_is_refused() -> None:
    for size in (3, 6, -2):
        with pytest.raises(SpecError, match="2 hold after") as refusal:
            probe(Probe.BAT, list_captions(), size=size)
        assert refusal.value.fix == "ask for an even size up to 4"
    # A size is for a balanced BAT alone.
    for kind, balanced in ((Probe.PTE, True), (Probe.BAT, False)):
        with pytest.raises(SpecError):
            probe(kind, list_captions(), size=2, balanced=balanced)


def test_as_then_set_holds_both_words() -> None:
    probed = probe(Probe.AS_THEN_SET, list_captions())
    made = {str(each.outcome.connective): each.outcome.text for each in probed if each.outcome.made}
    assert made == {"as": "Rain falls then geese honk", "then": "Geese honk as a gate shuts"}


@given(st.lists(st.sampled_from(TEXTS), max_size=12), st.integers(0, 50))
def test_bat_always_balances(texts: list[str], seed: int) -> None:
    probed = probe(Probe.BAT, list_captions(tuple(texts)), seed=seed)
    words = Counter(str(each.outcome.connective) for each in probed if each.outcome.made)
    assert words["before"] == words["after"]
    assert len(probed) == len(texts)
