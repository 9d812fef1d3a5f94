"""Balance: in a group no text tells by itself whether it is true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import partial
from itertools import combinations

import numpy as np
import pytest

from synth.base.rng import pick
from synth.captions.balance import Dealer, Member, _denies
from synth.captions.caption import Style
from synth.captions.contrast import CaptionSet, pool
from synth.captions.narrative import Narrator
from synth.scene.claim import And, Claim, Not, claim_labels
from synth.scene.edit import EditKind, meaning
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
            return Event(label, Excerpt(f"clip-{label}", 0, 10))
        case Concat(first, second):
            return Concat(realised(first), realised(second))
        case Overlay(first, second):
            parts = sorted((realised(first), realised(second)), key=duration)
            return Overlay(parts[1], parts[0], (duration(parts[1]) - duration(parts[0])) // 2)


def member(statement: Scene) -> Member:
    return Member(statement, Hearing(timeline(realised(statement)), Tolerance()))


def narrator(seed: int, style: Style = Style.NATURAL) -> Narrator:
    return Narrator(style, partial(pick, rng=np.random.default_rng(seed)))


def group(
    statements: Sequence[Scene], limit: int, seed: int = 0, style: Style = Style.NATURAL
) -> list[CaptionSet] | None:
    tell = narrator(seed, style).tell
    members = list(map(member, statements))
    if not all(each.hearing.proves(each.statement) for each in members):
        return None
    rng = np.random.default_rng(seed)
    claims, dealer = list(pool(statements)), Dealer(tell, limit, rng, 0.25)
    if style is Style.PAPER:
        return dealer.print_captions(members, claims)
    return dealer.deal(members, claims)


GROUPS = [
    [Concat(A, B), Concat(B, A), Overlay(A, B), Concat(A, X)],
    [Concat(A, B), Concat(B, A)],
    [Overlay(Concat(A, B), D), Overlay(Concat(B, A), D), Overlay(Concat(A, B), X)],
    [Concat(Concat(A, B), C), Concat(Concat(C, B), A), Concat(A, Overlay(B, C))],
    [Overlay(A, B), Overlay(A, C), Concat(A, B)],
    [Concat(Overlay(A, B), C), Concat(Overlay(A, C), B), Concat(C, Overlay(A, B))],
    [
        Concat(Concat(A, B), Concat(C, D)),
        Concat(Concat(A, C), Concat(B, D)),
        Concat(Concat(A, B), Overlay(C, D)),
        Concat(Concat(A, B), Concat(C, X)),
    ],
]


def check(dealt: Sequence[CaptionSet], statements: Sequence[Scene], limit: int) -> None:
    """Every caption is what it is said to be, and told once."""
    for captions, statement in zip(dealt, statements, strict=True):
        heard = timeline(realised(statement))
        true = captions.caption, *captions.positives
        assert len(true) <= limit
        assert len(captions.negatives) <= limit
        texts = [caption.text for caption in (*true, *captions.negatives)]
        assert len(set(texts)) == len(texts)
        assert all(proves(heard, caption.claim, Tolerance()) for caption in true)
        for caption in captions.negatives:
            assert refutes(heard, caption.claim, Tolerance())
            assert isinstance(caption.edit, EditKind)


@cases("statements", GROUPS)
@cases("limit", [1, 2, 4, 7])
def test_members_exchange_their_captions(statements: list[Scene], limit: int) -> None:
    """Whatever is compared, each of the sentences that stand side by side is true once."""
    for seed in range(4):
        dealt = group(statements, limit, seed)
        if dealt is None:
            # With one caption each an odd one is left over.
            assert len(statements) % (limit + 1) == 1 or limit < len(statements) - 1
            continue
        check(dealt, statements, limit)
        together = Counter(
            frozenset(caption.text for caption in (captions.caption, *captions.negatives))
            for captions in dealt
        )
        assert all(len(texts) == count for texts, count in together.items())
        assert all(len(captions.negatives) >= 1 for captions in dealt)
        pairs = Counter(
            (caption.edit, captions.caption.text, caption.text)
            for captions in dealt
            for caption in captions.negatives
        )
        assert pairs == Counter((kind, text, other) for kind, other, text in pairs.elements())
        if len(statements) > 2 or not any(len(labels(s)) == 1 for s in statements):
            denies = {_denies(captions.caption.claim) for captions in dealt}
            assert len(denies) == 1 or limit < len(statements) - 1


def test_further_true_captions_look_like_main_ones() -> None:
    shapes: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for seed in range(300):
        for captions in group(GROUPS[0], 3, seed) or []:
            shapes[True][type(captions.caption.claim).__name__] += 1
            shapes[False].update(type(other.claim).__name__ for other in captions.positives)
    for name in shapes[True] | shapes[False]:
        main, further = (shapes[is_main][name] / shapes[is_main].total() for is_main in shapes)
        assert main == pytest.approx(further, abs=0.05), name


def test_every_edit_is_used() -> None:
    edits = {
        caption.edit
        for seed in range(12)
        for statements in GROUPS
        for captions in group(statements, 7, seed) or []
        for caption in captions.negatives
    }
    assert edits == {"reorder", "relation", "rebind", "replace", "negate"}


@cases("statements", GROUPS)
def test_the_paper_tells_all_of_a_scene_first(statements: list[Scene]) -> None:
    for seed in range(3):
        dealt = group(statements, 7, seed, Style.PAPER) or []
        check(dealt, statements, 7) if dealt else None
        for captions, statement in zip(dealt, statements, strict=False):
            assert captions.caption.claim == statement


def test_chance_decides_between_equally_good_sentences() -> None:
    sets = {repr(group(GROUPS[0], 3, seed)) for seed in range(6)}
    assert len(sets) > 1
    assert repr(group(GROUPS[0], 3, 1)) == repr(group(GROUPS[0], 3, 1))


@cases("statements", [(A, Concat(A, B)), (Concat(A, B), Concat(A, B))])
def test_members_that_cannot_be_told_apart_have_true_captions_alone(
    statements: tuple[Scene, Scene],
) -> None:
    # "A" is heard in both; nothing of the pool can be said of the first that is false of the other.
    members = list(map(member, statements))
    dealer = Dealer(narrator(0).tell, 7, np.random.default_rng(0), 0.5)
    assert dealer.deal(members, []) is None
    for captions in dealer.deal_alone(members, []):
        assert not captions.negatives


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
