"""Narratives of many sounds: read by the same reader, and readable."""

from __future__ import annotations

import numpy as np

from synth.captions.caption import Style
from synth.captions.narrative import connectives
from synth.labels.connective import Connective
from synth.recipes.casting import fill_labels, random_sequence
from synth.scene.scene import Scene, labels, operands
from tests.kit.cases import cases
from tests.synth.captions.test_narrative import LETTERS, of, sentences, tellings, told


def sequences(count: int) -> list[Scene]:
    """Some sequences of so many sounds."""
    rng = np.random.default_rng(count)
    return [
        fill_labels(random_sequence(count, int(rng.integers(1, 5)), rng), iter(LETTERS))
        for _ in range(12)
    ]


@cases("style", Style)
@cases("count", [5, 8, 12])
def test_a_reader_finds_the_sequence_and_nothing_else(count: int, style: Style) -> None:
    for statement in sequences(count):
        for _, caption in zip(range(12), tellings(statement, style), strict=False):
            assert told(sentences(caption.text, style)) == {of(statement)}, caption.text


def test_no_sentence_holds_more_than_a_few_clauses() -> None:
    for statement in sequences(12):
        if len(operands(statement)) > 4:
            assert set(connectives(statement)) == {Connective.THEN, Connective.AFTER}
            for _, caption in zip(range(4), tellings(statement, Style.NATURAL), strict=False):
                for sentence in caption.text.split(". "):
                    assert sum(letter * 3 in sentence.lower() for letter in LETTERS) <= 4
                    assert sentence.count(", then ") <= 2
        assert sorted(labels(statement)) == list(LETTERS)
