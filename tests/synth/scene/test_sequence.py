"""Sequences and their recompositions."""

from __future__ import annotations

import numpy as np

from synth.recipes.casting import fill_labels, random_sequence
from synth.scene.edit import EditKind, edit_kind, meaning
from synth.scene.scene import Concat, Scene, labels, operands, parse
from synth.scene.timeline import is_sequence, make_sequence, recompose
from tests.kit.cases import cases

LETTERS = "abcdefghijkl"


@cases(
    ("text", "most", "expected"),
    [
        ("a + b + c * d", 2, True),
        ("a + b + c * d", 1, False),
        ("a + (b * c + d)", 2, True),
        ("a + (b + c) * d", 4, False),
        ("a * b * c", 4, False),
        ("a * b * c + d", 2, False),
        ("a", 4, False),
    ],
)
def test_what_a_sequence_is(text: str, most: int, expected: bool) -> None:
    assert is_sequence(parse(text), most) is expected


def sequence(count: int, polyphony: int, seed: int) -> Concat:
    """A drawn sequence, never a single overlay."""
    rng = np.random.default_rng(seed)
    while True:
        found = fill_labels(random_sequence(count, polyphony, rng), iter(LETTERS))
        if isinstance(found, Concat):
            return found


@cases(("count", "polyphony"), [(3, 1), (4, 2), (6, 3), (12, 2)])
def test_recompositions_are_other_sequences_one_edit_away(count: int, polyphony: int) -> None:
    for seed in range(6):
        base = sequence(count, polyphony, seed)
        found = list(recompose(base, polyphony))
        forms = [meaning(each) for each in found]
        assert len(set(forms)) == len(forms)
        assert meaning(base) not in forms
        for each in found:
            assert is_sequence(each, polyphony)
            assert sorted(labels(each)) == sorted(labels(base))
            assert edit_kind(each, base) in (EditKind.REORDER, EditKind.RELATION, EditKind.REBIND)
            assert is_close(base, each)


def is_close(base: Scene, other: Scene) -> bool:
    """Whether at most two places of the sequences differ, or one has been parted or joined."""
    ours, theirs = ([frozenset(labels(part)) for part in operands(each)] for each in (base, other))
    if len(ours) == len(theirs):
        return sum(one != two for one, two in zip(ours, theirs, strict=True)) == 2
    gone = [each for each in ours if each not in theirs]
    come = [each for each in theirs if each not in ours]
    return 1 in (len(gone), len(come)) and frozenset().union(*gone) == frozenset().union(*come)


def test_every_kind_of_edit_is_found() -> None:
    base = make_sequence([parse("a * b"), parse("c"), parse("d"), parse("e * f")])
    assert isinstance(base, Concat)
    kinds = {edit_kind(each, base) for each in recompose(base, 2)}
    assert kinds == {EditKind.REORDER, EditKind.RELATION, EditKind.REBIND}
