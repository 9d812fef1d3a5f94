"""Narratives: no text stands for two statements, and words come from the table alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial, reduce
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from synth.base.rng import pick
from synth.captions.caption import Style
from synth.captions.narrative import Narrator
from synth.labels.connective import ORDER, SIMULTANEOUS, Connective
from synth.labels.lexicon import shipped_phrases
from synth.recipes.casting import fill_labels, random_sequence
from synth.scene.claim import And, Claim, Not, Only
from synth.scene.edit import meaning, rename_labels
from synth.scene.scene import Concat, Event, Overlay, Scene, operands
from tests.kit.cases import cases

LETTERS = "abcdefghijkl"
A, B, C, D = map(Event, LETTERS[:4])


def narrator(seed: int, style: Style = Style.NATURAL) -> Narrator:
    return Narrator(style, partial(pick, rng=np.random.default_rng(seed)))


def first(options: Sequence[Any]) -> Any:
    return options[0]


def trees(names: str) -> Iterator[Scene]:
    if len(names) == 1:
        yield Event(names)
        return
    for count in range(1, len(names)):
        for left in combinations(names, count):
            right = "".join(name for name in names if name not in left)
            for one in trees("".join(left)):
                for other in trees(right):
                    yield Concat(one, other)
                    yield Overlay(one, other)


@cache
def statements(count: int) -> dict[Any, Scene]:
    """Every statement over the first labels, by meaning."""
    scenes: dict[Any, Scene] = {}
    for tree in trees(LETTERS[:count]):
        scenes.setdefault(meaning(tree), tree)
    return scenes


@cases(("count", "tellings"), [(2, 400), (3, 200), (4, 40)])
def test_no_text_stands_for_two_statements(count: int, tellings: int) -> None:
    said: dict[str, Any] = {}
    tell = narrator(count).tell
    for key, statement in statements(count).items():
        for _ in range(tellings):
            text = tell(statement).text
            assert said.setdefault(text, key) == key, text
            assert all(re.search(rf"\b{name}\b", text, re.I) for name in LETTERS[1:count]), text


@cases("count", [2, 3, 4])
def test_the_connective_relates_what_the_statement_relates(count: int) -> None:
    tell = narrator(1).tell
    for statement in statements(count).values():
        caption = tell(statement)
        word = Connective(caption.connective)
        assert word in (ORDER if isinstance(statement, Concat) else SIMULTANEOUS)
        assert word.value in caption.text.lower(), caption.text


@cases(
    ("claim", "texts"),
    [
        (A, {"A"}),
        (And(A, B), {"A and B"}),
        (And(A, Not(B)), {"A without B"}),
        (Concat(A, B), {"A followed by B", "A and then B", "A succeeded by B"}),
        (
            Concat(Overlay(A, B), C),
            {"A amidst B followed by C", "A overlayed by B and then C", "A and B succeeded by C"},
        ),
        (
            Overlay(A, Concat(Concat(B, C), D)),
            {"A overlayed by B succeeded by C succeeded by D"},
        ),
    ],
)
def test_compa_is_printed_as_it_is(claim: Claim, texts: set[str]) -> None:
    names = {name: name.upper() for name in LETTERS}

    def capitals(claim: Claim) -> Claim:
        match claim:
            case And(one, other):
                return And(capitals(one), capitals(other))
            case Not(one):
                return Not(capitals(one))
            case Event() | Concat() | Overlay():
                return rename_labels(claim, names)
        raise AssertionError

    told = {narrator(seed, Style.PAPER).tell(capitals(claim)).text for seed in range(120)}
    assert told >= texts


@cases("statement", [A, Concat(A, B), Concat(Overlay(A, B), C), Overlay(Concat(A, B), C)])
def test_a_denial_is_of_the_whole_recording(statement: Scene) -> None:
    for seed in range(60):
        text = narrator(seed).tell(And(statement, Not(D))).text
        denial = re.search(r"\b(not|no|never|cannot|without)\b", text, re.I)
        assert denial, text
        # "After a, b, but you never hear d" may deny d of the time after a alone.
        assert isinstance(statement, Event) or ". " in text, text


@cases(
    "claim",
    [
        Not(A),
        Only(A),
        And(A, Only(B)),
        And(Concat(A, B), C),
        And(A, Concat(B, C)),
        And(Not(A), Not(B)),
        And(Not(A), B),
        And(A, Not(Concat(B, C))),
        And(And(A, B), Not(C)),
        Not(Not(A)),
    ],
)
@cases("style", Style)
def test_other_claims_have_no_words(claim: Claim, style: Style) -> None:
    with pytest.raises(ValueError, match="no words for the claim"):
        Narrator(style, first).tell(claim)


def test_sentences_over_shipped_phrases_are_whole() -> None:
    labels = sorted(shipped_phrases())
    rng = np.random.default_rng(3)
    tell = narrator(5).tell
    for statement in [*statements(3).values(), *statements(4).values()] * 4:
        chosen = rng.choice(labels, 4, replace=False).tolist()
        names = dict(zip(LETTERS[:4], chosen, strict=True))
        one, other, third = (Event(label) for label in chosen[:3])
        for claim in (
            rename_labels(statement, names),
            And(one, Not(other)),
            And(Concat(one, other), Not(third)),
            And(one, other),
        ):
            text = tell(claim).text
            plain = text.replace("etc.", "etc")
            assert not re.search(r"  |\n|_|[.,;:] ?[.,;:]| [.,;:]|\(\)|[{}]", plain), text
            assert not re.search(r"\b(\w+) \1\b", text.lower()), text
            assert not re.search(r"\ba [aeio]\w+", text.lower()), text
            assert text[0].isupper()


@cases(
    ("statement", "text"),
    [
        (Event("dog"), "A dog barks"),
        (Concat(Event("dog"), Event("rain")), "A dog barks before rain falls"),
        (
            Overlay(Concat(Event("theremin"), Event("Zither_solo")), Event("dog")),
            "The sound of theremin is heard and then the sound of zither solo is heard, all while "
            "a dog barks",
        ),
        (
            Concat(Overlay(Event("dog"), Event("rain")), Event("wind")),
            "Before the wind blows, a dog barks while rain falls",
        ),
        (
            Overlay(Concat(Event("dog"), Event("cat")), Concat(Event("rain"), Event("wind"))),
            "A dog barks, then a cat meows. At the same time, rain falls, then the wind blows.",
        ),
    ],
)
def test_examples(statement: Scene, text: str) -> None:
    assert Narrator(Style.NATURAL, first).tell(statement).text == text


@cases("pick_words", [first, lambda options: options[-1]])
def test_twins_differ_in_their_connective_alone(pick_words: Callable[[Any], Any]) -> None:
    dog, rain = Event("dog"), Event("rain")
    claims = {
        Connective.BEFORE: Concat(dog, rain),
        Connective.AFTER: Concat(rain, dog),
        Connective.WHILE: Overlay(dog, rain),
    }
    tell = Narrator(Style.NATURAL, pick_words)
    texts = {
        tell.relate(claim, word).text.lower().replace(word.value, "_")
        for word, claim in claims.items()
    }
    assert len(texts) == 1


@cases("count", [5, 8, 12])
def test_sequences_are_told_in_order_a_few_sounds_at_a_time(count: int) -> None:
    rng = np.random.default_rng(count)
    for seed in range(12):
        drawn = random_sequence(count, int(rng.integers(1, 5)), rng)
        statement = fill_labels(drawn, iter(LETTERS))
        sentences = narrator(seed).tell(statement).text.rstrip(".").split(". ")
        parts = list(operands(statement)) if isinstance(statement, Concat) else []
        assert len(sentences) >= len(parts) / 3
        for sentence in sentences:
            assert len(re.findall(r"\b[a-l]\b(?! sound)", sentence.lower())) <= 6
        flat = narrator(seed).tell(reduce(Concat, map(Event, LETTERS[:count]))).text.lower()
        at = [flat[: flat.index(f"of {name}")].count(". ") for name in LETTERS[:count]]
        assert at == sorted(at)
