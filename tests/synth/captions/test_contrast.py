"""Contrast: sentences sorted by truth, and a group in which no text betrays its side."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.errors import TruthError
from synth.captions.caption import Caption, Pair, Provenance, Style, frames
from synth.captions.contrast import CaptionSet, Wording, contrast, judge
from synth.labels.connective import Connective
from synth.labels.lexicon import Phrase
from synth.scene.edit import EditKind
from synth.scene.scene import Concat, Event, Excerpt, Overlay, statement
from synth.scene.timeline import timeline
from synth.truth.relations import Tolerance
from synth.truth.truth import proves, refutes
from tests.kit.cases import cases

# The run-time type checker samples containers with `random`, also inside strategies.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module")

A, B = Event("dog", Excerpt("d", 0, 100)), Event("rain", Excerpt("r", 0, 96))
ORDER = [word for word in Connective if word.is_order]
RULE = Provenance.of_rule("test")
WORDINGS = st.builds(
    Wording,
    connectives=st.lists(st.sampled_from(list(Connective)), min_size=1, unique=True).map(tuple),
    phrases=st.just(Phrase.of_label),
    style=st.just(Style.NATURAL),
    frame=st.integers(0, frames(Style.NATURAL) - 1),
)


def said(captions: CaptionSet) -> list[Caption]:
    return [captions.caption, *captions.positives, *captions.negatives]


@given(WORDINGS, st.sampled_from(list(Connective)), st.booleans(), st.integers(0, 40))
def test_sentences_are_disjoint_and_true_to_their_side(
    wording: Wording, word: Connective, swapped: bool, crossfade: int
) -> None:
    a, b = (B, A) if swapped else (A, B)
    scene: Pair = Concat(a, b, crossfade) if word.is_order else Overlay(a, b)
    heard, tolerance = timeline(scene), Tolerance(audible=5)
    made = contrast(scene, word, wording, heard, tolerance)
    texts = [caption.text for caption in said(made)]
    assert len(set(texts)) == len(texts)
    for caption in (made.caption, *made.positives):
        assert proves(heard, caption.claim, tolerance)
    for caption in made.negatives:
        assert refutes(heard, caption.claim, tolerance)
    assert made.caption.claim == statement(scene)
    assert made.caption.connective == word.value
    assert all(caption.edit is None for caption in (made.caption, *made.positives))
    for caption in made.negatives:
        assert caption.edit == ("reorder" if caption.connective == word.value else "relation")
    # Two sounds have two orders: every connective in play says something true or false of each.
    others = {text for text in texts if text != made.caption.text}
    assert len(others) == 2 * len(wording.connectives) - (word in wording.connectives)


def triplet(style: Style, frame: int, crossfade: int = 0) -> list[CaptionSet]:
    wording = Wording(
        (Connective.BEFORE, Connective.AFTER, Connective.WHILE), Phrase.of_label, style, frame
    )
    members: list[tuple[Pair, Connective]] = [
        (Concat(A, B, crossfade), Connective.BEFORE),
        (Concat(B, A, crossfade), Connective.AFTER),
        (Overlay(A, B), Connective.WHILE),
    ]
    tolerance = Tolerance(audible=5)
    return [contrast(s, word, wording, timeline(s), tolerance) for s, word in members]


@cases("crossfade", [0, 20])
@cases(("style", "frame"), [(style, k) for style in Style for k in range(frames(style))])
def test_over_a_triplet_each_sentence_is_true_once_and_false_twice(
    style: Style, frame: int, crossfade: int
) -> None:
    group = triplet(style, frame, crossfade)
    true = Counter(c.text for one in group for c in (one.caption, *one.positives))
    false = Counter(c.text for one in group for c in one.negatives)
    assert len(true) == 6
    assert set(true.values()) == {1}
    assert false == dict.fromkeys(true, 2)


def test_a_false_main_caption_is_a_truth_error() -> None:
    wording = Wording((Connective.BEFORE,), Phrase.of_label, Style.PAPER)
    heard = timeline(Concat(A, B))
    with pytest.raises(TruthError, match="rain before dog"):
        contrast(Concat(B, A), Connective.BEFORE, wording, heard, Tolerance())


def test_what_is_neither_proven_nor_refuted_is_left_out() -> None:
    heard = timeline(Overlay(A, B, 50))  # dog 0-100, rain 50-146
    caption = Caption("a dog", Event("dog"), "", RULE)
    wording = Wording(tuple(Connective), Phrase.of_label, Style.PAPER)
    others = [
        wording.say(Concat(Event("dog"), Event("rain")), Connective.BEFORE),
        wording.say(Overlay(Event("dog"), Event("rain")), Connective.WHILE),
        wording.say(Concat(Event("rain"), Event("dog")), Connective.BEFORE),
    ]
    judged = judge(caption, others, heard, Tolerance())
    assert judged.positives == ()
    assert [negative.text for negative in judged.negatives] == ["rain before dog"]
    # A text is listed once and never beside itself.
    same, cat = (
        Caption(text, Event("cat"), "", RULE, EditKind.REPLACE) for text in ("a dog", "cat")
    )
    listed = judge(caption, [same, cat, cat], timeline(Concat(A, B)), Tolerance())
    assert listed == CaptionSet(caption, (), (cat,))
