"""Balance: in a group no text tells by itself whether it is true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.errors import TruthError
from synth.base.rng import pick
from synth.captions.caption import Caption, Pair, Provenance, Style, frames
from synth.captions.contrast import (
    CaptionSet,
    Dealer,
    Member,
    Wording,
    _denies,
    contrast,
    judge,
    pool,
)
from synth.captions.narrative import Narrator
from synth.labels.connective import Connective
from synth.labels.lexicon import Phrase
from synth.scene.claim import And, Claim, Not, claim_labels
from synth.scene.edit import EditKind, meaning
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, labels, parse, statement
from synth.scene.timeline import duration, timeline
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing, proves, refutes
from tests.kit.cases import cases
from tests.kit.tables import read_data

A, B = Event("A"), Event("B")


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


GROUPS = [[*map(parse, texts)] for texts in read_data("texts/narratives.yaml")["groups"]]


def check(dealt: Sequence[CaptionSet], statements: Sequence[Scene], limit: int) -> None:
    """Every caption is what it is said to be, and told once."""
    for captions, stated in zip(dealt, statements, strict=True):
        heard = timeline(realised(stated))
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
        for captions, stated in zip(dealt, statements, strict=False):
            assert captions.caption.claim == stated


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
    for stated in statements:
        assert len(labels(stated)) < 3 or form(stated) in forms
    for first, second in combinations(sorted(known), 2):
        for pair in (Concat, Overlay):
            assert form(pair(Event(first), Event(second))) in forms
    for claim in claims:
        narrator(0).tell(claim)  # there are words for each


# Contrast: sentences sorted by truth, and a group in which no text betrays its side.


DOG, RAIN = Event("dog", Excerpt("d", 0, 100)), Event("rain", Excerpt("r", 0, 96))
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
    a, b = (RAIN, DOG) if swapped else (DOG, RAIN)
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
        (Concat(DOG, RAIN, crossfade), Connective.BEFORE),
        (Concat(RAIN, DOG, crossfade), Connective.AFTER),
        (Overlay(DOG, RAIN), Connective.WHILE),
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
    heard = timeline(Concat(DOG, RAIN))
    with pytest.raises(TruthError, match="rain before dog"):
        contrast(Concat(RAIN, DOG), Connective.BEFORE, wording, heard, Tolerance())


def test_what_is_neither_proven_nor_refuted_is_left_out() -> None:
    heard = timeline(Overlay(DOG, RAIN, 50))  # dog 0-100, rain 50-146
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
    listed = judge(caption, [same, cat, cat], timeline(Concat(DOG, RAIN)), Tolerance())
    assert listed == CaptionSet(caption, (), (cat,))
