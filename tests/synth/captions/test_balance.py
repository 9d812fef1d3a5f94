"""Balance: in a group no text tells by itself whether it is true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import combinations

import numpy as np
import pytest

from synth.captions.balance import Member, deal
from synth.captions.caption import Caption, Style
from synth.captions.contrast import CaptionSet, pool
from synth.captions.narrative import Narrator
from synth.labels.lexicon import Phrase
from synth.scene.claim import And, Claim, Not, claim_labels
from synth.scene.edit import edit_kind, meaning
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, labels
from synth.scene.timeline import duration, timeline
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing, proves, refutes
from tests.kit.cases import cases

# The run-time type checker samples containers with `random`, also inside strategies.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module")

A, B, C, D, X = (Event(label) for label in "ABCDX")


def realised(statement: Scene) -> Scene:
    """The statement in time: joins without crossfade, the shorter part within the longer."""
    match statement:
        case Event(label):
            return Event(label, Excerpt(f"clip-{label}", 0, 10 * (1 + "ABCDX".index(label))))
        case Concat(first, second):
            return Concat(realised(first), realised(second))
        case Overlay(first, second):
            parts = sorted((realised(first), realised(second)), key=duration)
            return Overlay(parts[1], parts[0], (duration(parts[1]) - duration(parts[0])) // 2)


def member(statement: Scene) -> Member:
    return Member(statement, Hearing(timeline(realised(statement)), Tolerance()))


def narrator(seed: int) -> Narrator:
    rng = np.random.default_rng(seed)
    return Narrator(
        Phrase.of_label, Style.NATURAL, lambda options: options[int(rng.integers(len(options)))]
    )


def group(statements: Sequence[Scene], limit: int, seed: int = 0) -> list[CaptionSet] | None:
    say = narrator(seed)
    mains = [say.tell(statement) for statement in statements]
    members = list(map(member, statements))
    if not all(each.hearing.proves(each.statement) for each in members):
        return None
    rng = np.random.default_rng(seed)
    return deal(members, mains, list(pool(statements)), say.tell, limit, rng)


GROUPS = [
    [Concat(A, B), Concat(B, A), Overlay(A, B), Concat(A, X)],
    [Concat(A, B), Concat(B, A)],
    [Overlay(Concat(A, B), D), Overlay(Concat(B, A), D), Overlay(Concat(A, B), X)],
    [Concat(Concat(A, B), C), Concat(Concat(C, B), A), Concat(A, Overlay(B, C))],
    [Overlay(A, B), Overlay(A, C), Concat(A, B)],
    [Concat(Overlay(A, B), C), Concat(Overlay(A, C), B), Overlay(Concat(A, B), C)],
    [
        Concat(Concat(A, B), Concat(C, D)),
        Concat(Concat(A, C), Concat(B, D)),
        Concat(Concat(A, B), Overlay(C, D)),
        Concat(Concat(A, B), Concat(C, X)),
    ],
]


@cases("statements", GROUPS)
@cases("limit", [1, 2, 4, 7])
def test_every_sentence_is_as_often_false_as_true(statements: list[Scene], limit: int) -> None:
    dealt_once = False
    for seed in range(3):
        dealt = group(statements, limit, seed)
        if dealt is None:
            continue
        dealt_once = True
        true = [caption for each in dealt for caption in (each.caption, *each.positives)]
        false = [caption.text for each in dealt for caption in each.negatives]
        assert Counter(caption.text for caption in true) == Counter(false)
        assert len(dealt) == len(statements)
        for each, statement in zip(dealt, statements, strict=True):
            heard = timeline(realised(statement))
            assert meaning(each.caption.claim) == meaning(statement)
            assert 1 <= len(each.negatives) <= limit
            assert 1 + len(each.positives) <= limit
            texts = [c.text for c in (each.caption, *each.positives, *each.negatives)]
            assert len(set(texts)) == len(texts)
            assert all(proves(heard, c.claim, Tolerance()) for c in each.positives)
            true_ones = [each.caption.text, *(c.text for c in each.positives)]
            assert sorted(c.against for c in each.negatives) == sorted(true_ones)
            for caption in each.negatives:
                assert refutes(heard, caption.claim, Tolerance())
                assert caption.edit is edit_kind(caption.claim, statement)
    assert dealt_once or limit == 1  # with one caption each, all must refute one another in a ring


@cases("statements", GROUPS)
def test_who_tells_one_from_the_other_by_their_looks_is_wrong_as_often(
    statements: list[Scene],
) -> None:
    """Of each kind of edit: what is true beside a sentence here is false beside it there."""
    for seed in range(3):
        dealt = group(statements, 7, seed) or []
        crosses = Counter((c.edit, c.against, c.text) for each in dealt for c in each.negatives)
        assert crosses == Counter((kind, text, other) for kind, other, text in crosses.elements())


def test_every_edit_is_used() -> None:
    edits = set()
    for seed in range(3):
        for statements in GROUPS:
            for each in group(statements, 7, seed) or []:
                edits.update(caption.edit for caption in each.negatives)
    assert edits == {"reorder", "relation", "rebind", "replace", "negate"}


def test_chance_decides_between_equally_good_sentences() -> None:
    found = {repr(group(GROUPS[0], 3, seed)) for seed in range(6)}
    assert len(found) > 1
    assert repr(group(GROUPS[0], 3, 1)) == repr(group(GROUPS[0], 3, 1))


def caption(claim: Claim) -> Caption:
    return narrator(0).tell(claim)


@cases("statements", [(A, Concat(A, B)), (Concat(A, B), Concat(A, B))])
def test_a_caption_that_no_other_member_refutes_makes_no_group(
    statements: tuple[Scene, Scene],
) -> None:
    # "A" is heard in both; nothing can be said of the first that is false of the second.
    members, mains = list(map(member, statements)), list(map(caption, statements))
    assert deal(members, mains, [], caption, 7, np.random.default_rng(0)) is None


# The pool


@cases("statements", GROUPS)
def test_the_pool_holds_each_claim_once_and_only_known_labels(statements: list[Scene]) -> None:
    def form(claim: Claim) -> tuple[Hashable, ...]:
        match claim:
            case And(first, second):
                return ("and", frozenset((form(first), form(second))))
            case Not(inner):
                return ("not", *form(inner))
            case Event() | Concat() | Overlay():
                return (meaning(claim),)
        raise AssertionError(claim)

    claims = list(pool(statements))
    assert len({form(claim) for claim in claims}) == len(claims)
    known = {label for statement in statements for label in labels(statement)}
    assert {label for claim in claims for label in claim_labels(claim)} <= known
    forms = {form(claim) for claim in claims}
    for statement in statements:
        assert len(labels(statement)) < 3 or form(statement) in forms
    for first, second in combinations(sorted(known), 2):
        for pair in (Concat, Overlay):
            assert form(pair(Event(first), Event(second))) in forms
    for claim in claims:
        narrator(0).tell(claim)  # there are words for each
