"""Narratives: every text stands for one statement, and a reader with a grammar of his own finds it.

The reader admits every attachment that the words leave open ("a before b while c" has two), so that
a text with two readings shows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations, permutations
from typing import Any, TypeAlias

import numpy as np
import pytest

from synth.captions.caption import Caption, Style
from synth.captions.narrative import Narrator, connectives
from synth.labels.connective import ORDER, SIMULTANEOUS, Connective
from synth.labels.lexicon import Phrase, shipped_phrases
from synth.recipes.casting import fill_labels, random_sequence
from synth.scene.claim import And, Claim, Not, Only
from synth.scene.edit import meaning
from synth.scene.scene import Concat, Event, Overlay, Scene, labels, operands
from tests.kit.cases import cases

LETTERS = "abcdefghijkl"
A, B, C, D = map(Event, LETTERS[:4])


def nonsense(label: str) -> Phrase:
    """Phrases whose only words are the label's, so that the rest of a sentence is its frame."""
    word = label * 3
    return Phrase(f"{word}p", f"{word}n", f"{word}c", f"{word}g")


class Enumerator:
    """A picker that takes every way through a narrator's choices in turn."""

    def __init__(self) -> None:
        self.taken: list[list[int]] = []
        self.depth = 0

    def pick(self, options: Sequence[Any]) -> Any:
        if self.depth == len(self.taken):
            self.taken.append([0, len(options)])
        choice = self.taken[self.depth][0]
        self.depth += 1
        return options[choice]

    def advance(self) -> bool:
        self.depth = 0
        while self.taken and self.taken[-1][0] + 1 == self.taken[-1][1]:
            self.taken.pop()
        if self.taken:
            self.taken[-1][0] += 1
        return bool(self.taken)


def tellings(
    claim: Claim, style: Style, phrases: Callable[[str], Phrase] = nonsense
) -> Iterator[Caption]:
    """Every caption that a narrator may make of a claim."""
    choices = Enumerator()
    while True:
        yield Narrator(phrases, style, choices.pick).tell(claim)
        if not choices.advance():
            return


def trees(names: str) -> Iterator[Scene]:
    if len(names) == 1:
        yield Event(names)
        return
    for count in range(1, len(names)):
        for left in combinations(names, count):
            right = "".join(name for name in names if name not in left)
            for first in trees("".join(left)):
                for second in trees(right):
                    yield Concat(first, second)
                    yield Overlay(first, second)


@cache
def statements(count: int) -> dict[str, Scene]:
    """Every statement over the first labels, by meaning."""
    found: dict[str, Scene] = {}
    for tree in trees(LETTERS[:count]):
        found.setdefault(meaning(tree), tree)
    return found


ALL = [(count, style) for count in range(1, 5) for style in Style]


# What a reading is: ("e", a), ("+", parts in order) or ("*", set of parts), flattened.

Reading: TypeAlias = tuple[str, Any]
FRONTED = {"before", "after", "while", "as", "with"}
INFIX = FRONTED | {"then", "followed by"}
TOGETHER = {"while", "as", "with"}
COUNTS = {"two": 2, "three": 3, "four": 4}


def event(letter: str) -> Reading:
    return ("e", letter)


def follow(*parts: Reading) -> Reading:
    flat = [each for part in parts for each in (part[1] if part[0] == "+" else (part,))]
    return ("+", tuple(flat))


def together(*parts: Reading) -> Reading:
    flat = [each for part in parts for each in (part[1] if part[0] == "*" else (part,))]
    return ("*", frozenset(flat))


def of(scene: Scene) -> Reading:
    if isinstance(scene, Event):
        return event(scene.label)
    relate = follow if isinstance(scene, Concat) else together
    return relate(of(scene.first), of(scene.second))


def heard_in(reading: Reading) -> int:
    return 1 if reading[0] == "e" else sum(map(heard_in, reading[1]))


def has_order(reading: Reading) -> bool:
    return reading[0] == "+" or (reading[0] == "*" and any(map(has_order, reading[1])))


def tokens(text: str) -> list[str]:
    text = re.sub(r",? (and then|then)\b", " then", text)
    text = re.sub(r",? followed by\b", " followed_by", text)
    found = re.findall(r"[a-l]{3}[pncg]|[a-z_]+|,", text)
    assert "".join(found) == re.sub(r"[ ;]", "", text), text
    return [
        each[0] if re.fullmatch(r"[a-l]{3}[pncg]", each) else each.replace("_", " ")
        for each in found
    ]


def relate(word: str, left: Reading, right: Reading) -> Reading:
    if word in TOGETHER:
        return together(left, right)
    return follow(right, left) if word == "after" else follow(left, right)


def attached(words: list[str]) -> set[Reading]:
    """Every way to take words related one by one."""
    if len(words) == 1:
        return {event(words[0])} if words[0] in LETTERS else set()
    found: set[Reading] = set()
    if words and words[0] in FRONTED:
        for comma in (i for i, word in enumerate(words) if word == ","):
            for inner in attached(words[1:comma]):
                found |= {relate(words[0], main, inner) for main in attached(words[comma + 1 :])}
    for i, word in enumerate(words):
        if word in INFIX and 0 < i < len(words) - 1:
            for left in attached(words[:i]):
                found |= {relate(word, left, right) for right in attached(words[i + 1 :])}
    return found


def listed(words: list[str]) -> list[Reading]:
    assert len(set(words) - {",", "and"}) == sum(word in LETTERS for word in words)
    return [event(word) for word in words if word in LETTERS]


def sentence(text: str) -> set[Reading]:
    """What one sentence, or part between semicolons, may say."""
    if ", all of it followed by " in text:
        text, _, rest = text.partition(", all of it followed by ")
        last = [event(word) for word in tokens(rest.replace(" and then ", " ")) if word in LETTERS]
        return {follow(part, *last) for part in sentence(text)}
    if text.endswith(", all at the same time"):
        words = tokens(text.removesuffix(", all at the same time"))
        relating = [word for word in words if word not in {*LETTERS, ",", "and"}]
        assert len(relating) == 1
        assert relating[0] in TOGETHER
        return {together(*(event(word) for word in words if word in LETTERS))}
    found = re.fullmatch(
        r"(while|as|with) (.*), (two|three|four) sounds follow one another: (.*)", text
    )
    if found:
        _, company, count, steps = found.groups()
        single = listed(tokens(company.removesuffix(" at the same time")))
        assert (len(single) > 1) == company.endswith(" at the same time")
        parts = steps.split(", then ")
        assert len(parts) == COUNTS[count]
        taken = [one for part in parts for one in sentence(part)]
        assert len(taken) == len(parts)
        return {together(*single, follow(*taken))}
    return attached(tokens(text))


def told(text: str) -> set[Reading]:
    """What sentences may say together."""
    if found := re.fullmatch(r"(.*), (both|all three|all four) with (.*)", text):
        earlier, count, company = found.groups()
        return {accompanied(before, count, company) for before in told(earlier)}
    first, *rest = text.split("; ")
    readings = sentence(first)
    for number, part in enumerate(rest, 1):
        readings = {one for before in readings for one in continued(before, part, number)}
    return readings


def accompanied(before: Reading, count: str, company: str) -> Reading:
    """What is said once sounds are put with all of it."""
    # The count must be that of all sounds so far: of fewer, it might be the last ones.
    assert COUNTS[count.replace("both", "two").removeprefix("all ")] == heard_in(before)
    single = listed(tokens(company.removesuffix(" at the same time")))
    assert (len(single) > 1) == company.endswith(" at the same time")
    return together(before, *single)


def continued(before: Reading, part: str, number: int) -> set[Reading]:
    """What is said once another sentence is added."""
    if found := re.fullmatch(r"(?:while|as) (both|all three|all four) are heard, (.*)", part):
        return {accompanied(before, *found.groups())}
    if found := re.fullmatch(r"(?:while|as) this happens, (.*)", part):
        assert number == 1, "'this' may be the last sentence, or all"
        return {together(before, other) for other in sentence(found[1])}
    if found := re.fullmatch(r"(after|before) (all of )?that, (.*)", part):
        word, all_of, clause = found.groups()
        assert all_of or (number == 1 and not has_order(before)), "'that' may be the last sound"
        return {
            follow(before, other) if word == "after" else follow(other, before)
            for other in sentence(clause)
        }
    found = re.fullmatch(r"then (.*)", part)
    assert found, part
    return {follow(before, other) for other in sentence(found[1])}


def sentences(text: str, style: Style) -> str:
    """The text without capitals and stops, which natural style must have set as it should."""
    if style is Style.PAPER:
        assert text == text.lower()
        assert not text.endswith(".")
        return text
    parts = text.split(". ")
    assert all(part[0].isupper() for part in parts), text
    assert text.endswith(".") == (len(parts) > 1), text
    assert ";" not in text
    plain = "; ".join(part[0].lower() + part[1:] for part in parts)
    assert plain == plain.lower()
    return plain.removesuffix(".")


@cases("style", Style)
def test_no_text_stands_for_two_statements(style: Style) -> None:
    said: dict[str, set[str]] = defaultdict(set)
    for count in range(1, 5):
        for form, statement in statements(count).items():
            for caption in tellings(statement, style):
                said[caption.text].add(form)
    assert {text for text, forms in said.items() if len(forms) > 1} == set()


@cases(("count", "style"), ALL)
def test_a_reader_finds_the_statement_and_nothing_else(count: int, style: Style) -> None:
    # Series-parallel orders of labelled points: A053554.
    assert len(statements(count)) == [1, 3, 19, 195][count - 1]
    for statement in statements(count).values():
        for caption in tellings(statement, style):
            if count > 1:
                assert told(sentences(caption.text, style)) == {of(statement)}, caption.text
            lower = caption.text.lower()
            assert all(lower.count(letter * 3) == 1 for letter in LETTERS[:count]), lower
            assert (caption.claim, caption.edit) == (statement, None)
            assert str(caption.provenance) == f"rule:narrative/{style.value}"
            assert (caption.connective == "") == (count == 1)


def test_the_reader_is_not_easily_pleased() -> None:
    assert len(attached(tokens("aaac before bbbc while cccc"))) == 2
    assert len(attached(tokens("after aaac, bbbc while cccc"))) == 2
    assert len(attached(tokens("aaac, then bbbc, and then cccc"))) == 1
    for text in (
        "aaac; after that, bbbc; after that, cccc",
        "while aaac, two sounds follow one another: bbbc, then cccc; before that, dddc",
        "bbbc; after that, cccc while dddc; while both are heard, aaac",
        "bbbc; after that, cccc while dddc, both with aaac",
    ):
        with pytest.raises(AssertionError):
            told(text)
    # Association leaves the texts as they are.
    chains = (Concat(A, Concat(B, Concat(C, D))), Concat(Concat(A, B), Concat(C, D)))
    for style in Style:
        texts = [{caption.text for caption in tellings(chain, style)} for chain in chains]
        assert texts[0] == texts[1]


@cases(("count", "style"), [each for each in ALL if each[0] > 1])
def test_the_connective_relates_what_the_statement_relates(count: int, style: Style) -> None:
    for statement in statements(count).values():
        assert isinstance(statement, Concat | Overlay)
        possible = connectives(statement)
        assert set(possible) <= set(ORDER if isinstance(statement, Concat) else SIMULTANEOUS)
        seen = set()
        for caption in tellings(statement, style):
            word = Connective(caption.connective)
            seen.add(word)
            assert re.search(rf"\b{word.value}\b", caption.text.lower()), caption.text
        assert seen == set(possible)


# Presence and denial

DENIALS = (
    ", but you never hear ",
    "; at no point do you hear ",
    "; nowhere in the recording do you hear ",
)


def present(text: str) -> set[str] | None:
    """The sounds that a sentence only says are there."""
    found = re.fullmatch(
        r"(?:among the sounds are|you can hear) (.*)|(.*) can be heard|([a-l]{3}[cp])", text
    )
    if found is None:
        return None
    return {word for word in tokens(next(filter(None, found.groups()))) if word in LETTERS}


@cases("style", Style)
def test_presence_is_read_as_presence(style: Style) -> None:
    for count in range(1, 5):
        for names in permutations(LETTERS[:5], count):
            claim: Claim = Event(names[0])
            for name in names[1:]:
                claim = And(claim, Event(name))
            for caption in tellings(claim, style):
                assert present(sentences(caption.text, style)) == set(names)
                assert caption.connective == ""


@cases("style", Style)
@cases("told_of", [A, Concat(A, B), Overlay(A, B)])
def test_a_denial_denies_one_sound_of_the_whole_recording(told_of: Scene, style: Style) -> None:
    for caption in tellings(And(told_of, Not(C)), style):
        text = sentences(caption.text, style)
        (denial,) = (each for each in DENIALS if each in text)
        what, absent = text.split(denial)
        assert absent in ("cccn", "cccp")
        if isinstance(told_of, Event):
            assert present(what) == {"a"}
        else:
            assert told(what) == {of(told_of)}
            # "After a, b, but you never hear c" may deny c of the time after a alone.
            assert denial.startswith(";"), caption.text


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
        And(And(A, Not(B)), C),
        Not(Not(A)),
    ],
)
@cases("style", Style)
def test_other_claims_have_no_words(claim: Claim, style: Style) -> None:
    with pytest.raises(ValueError, match="no words for the claim"):
        list(tellings(claim, style))


# Shipped words


def random_pick(seed: int) -> Callable[[Sequence[Any]], Any]:
    rng = np.random.default_rng(seed)
    return lambda options: options[int(rng.integers(len(options)))]


@cases("style", Style)
def test_sentences_over_shipped_phrases_are_whole(style: Style) -> None:
    labels = sorted(shipped_phrases())
    rng = np.random.default_rng(3)
    for seed, statement in enumerate([*statements(3).values(), *statements(4).values()] * 4):
        names = dict(zip(LETTERS[:4], rng.choice(labels, 4, replace=False).tolist(), strict=True))
        narrator = Narrator(
            lambda letter, names=names: Phrase.of_label(names[letter]), style, random_pick(seed)
        )
        for claim in (statement, And(A, Not(B)), And(Concat(A, B), Not(C)), And(A, B)):
            text = narrator.tell(claim).text
            assert text == text.strip()
            assert not re.search(
                r"  |\n|_|[.,;:] ?[.,;:]| [.,;:]|\(\)", text.replace("etc.", "etc")
            ), text
            if style is Style.NATURAL:
                assert not re.search(r"\b(\w+) \1\b", text.lower()), text
                assert not re.search(r"\ba [aeio]\w+", text.lower()), text
                assert text[0].isupper()


def test_a_label_that_is_not_listed_reads_well() -> None:
    narrator = Narrator(Phrase.of_label, Style.NATURAL, lambda options: options[0])
    claim = Overlay(Concat(Event("theremin"), Event("Zither_solo")), Event("dog"))
    text = narrator.tell(claim).text
    assert text == (
        "While a dog barks, two sounds follow one another: the sound of theremin is heard, then "
        "the sound of zither solo is heard"
    )


@cases(
    ("statement", "text"),
    [
        (Concat(A, B), "Aaac before bbbc"),
        (Overlay(Overlay(A, B), C), "Aaac while bbbc and cccc, all at the same time"),
        (Overlay(Concat(A, B), C), "While cccc, two sounds follow one another: aaac, then bbbc"),
        (
            Overlay(Concat(A, B), Concat(C, D)),
            "Aaac before bbbc. While this happens, cccc before dddc.",
        ),
        (Concat(A, Overlay(B, C)), "Bbbc while cccc. Before that, aaac."),
    ],
)
def test_examples(statement: Scene, text: str) -> None:
    assert text in {caption.text for caption in tellings(statement, Style.NATURAL)}


# Narratives of many sounds: read by the same reader, and readable


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
