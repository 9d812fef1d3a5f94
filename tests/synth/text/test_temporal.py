"""Clause swap, before <-> after, as <-> then, nouns and verbs: rules, reasons and laws."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from synth.labels.lexicon import Phrase
from synth.text.grammar.tagger import EmbeddedTagger
from synth.text.order.clause_swap import TOOLS, Probe, swap_clauses
from synth.text.order.connectives import OrderStep
from synth.text.order.temporal import (
    Unjoinable,
    say_caption,
    swap_as_then,
    swap_before_after,
)

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


DATA = Path(__file__).resolve().parents[2] / "data" / "texts"


def rows(name: str) -> list[dict[str, str]]:
    """Captions, with what is made of each, or why it is left out."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_texts_are_made_with_their_steps_or_captions_left_out_with_a_reason() -> None:
    for row in rows("probes.csv"):
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
    for row in rows("joined.csv"):
        said = say_caption(row["caption"])
        if isinstance(said, Unjoinable):
            assert said.value == row["reason"], row
        else:
            gerund = row["gerund"] or row["clause"].removesuffix(" is heard")
            assert (said.clause, said.gerund, row["reason"]) == (row["clause"], gerund, ""), row


@given(st.text(max_size=60))
def test_nothing_raises(caption: str) -> None:
    assert isinstance(say_caption(caption), Phrase | Unjoinable)
