"""Checks that a text tells what something else tells: its original, or the notation beside it.

Only what the words leave no doubt of is held against a text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import ClassVar

from pydantic import Field

from synth.labels.lexicon import Phrase
from synth.llm.checks.check import AnswerPlace, Case, Check, ComparingCheck, quote, texts_at
from synth.llm.checks.label_checks import (
    DENIES,
    UNCLEAR,
    Content,
    align,
    in_words_of,
    parse_content,
    parse_order,
    parse_scene,
)
from synth.scene.scene import Concat, Event, Overlay, Scene, labels
from synth.text.negation.negators import find_denials


class SameOrder(ComparingCheck):
    """No text changes an order that its original tells, or denies what that affirms.

    Args:
        unclear: Whether a text is refused whose order cannot be read.
    """

    name: ClassVar[str] = "same_order"
    unclear: bool = True

    def explain(self, text: str, case: Case) -> Iterator[str]:
        """Another order, and denials that are more or fewer."""
        caption = self.original(case)
        original = parse_content(caption)
        fault = _explain_change(align(parse_content(text), original), original)
        if fault and (self.unclear or fault != UNCLEAR):
            yield fault
        if bool(find_denials(text)) is not bool(find_denials(caption)):
            yield DENIES


def _explain_change(content: Content, original: Content) -> str:
    """How a text tells another order than its original, "" where it does not."""
    ours, theirs = parse_order(content), parse_order(original)
    wanted = {} if theirs is None else theirs.relations()
    if not wanted:
        return ""
    if ours is None:
        return UNCLEAR
    given = ours.relations()
    changed = min(
        (pair for pair, sign in wanted.items() if given.get(pair, sign) != sign), default=None
    )
    if changed is None:
        return ""
    return f"changes the order of {' and '.join(map(quote, changed))}"


class Shares(ComparingCheck):
    """Each text keeps a share of the nouns and verbs of its original.

    Args:
        least: The share, 0 to 1.
    """

    name: ClassVar[str] = "shares"
    main: ClassVar[str] = "least"
    least: float = Field(ge=0, le=1)

    def explain(self, text: str, case: Case) -> Iterator[str]:
        """That a text has little in common with its original."""
        words = parse_content(self.original(case)).words()
        own = Counter(in_words_of(parse_content(text).words(), words))
        kept = (own & Counter(words)).total()
        if kept < self.least * len(words):
            yield f"keeps {kept} of {len(words)} nouns and verbs"


class NotationTold(Check):
    """Each text names the sounds of the notation beside it, and tells no other order.

    Args:
        notation: Where the notations are: one for each text, or all for a single text.
        strict: Whether each label must share a word with its text, by its own words or by those
            with which our captions say it, and a text may not tell one after the other what the
            notation has together. Else only what is turned round is refused.
    """

    name: ClassVar[str] = "notation_told"
    main: ClassVar[str] = "notation"
    notation: AnswerPlace
    strict: bool = True

    def faults(self, case: Case) -> list[str]:
        """Labels without a word in the text, and an order that the words contradict."""
        texts, notations = self.select_texts(case), list(texts_at(case.answer, self.notation))
        if len(texts) == 1:
            texts *= len(notations)
        if len(texts) != len(notations):
            return ["there must be one notation for each text"]
        faults = []
        for text, notation in zip(texts, notations, strict=True):
            scene, _ = parse_scene(notation)
            fault = "" if scene is None else _explain_omission(text, scene, self.strict)
            if fault:
                faults.append(f"{quote(text)} does not say {quote(notation)}: {fault}")
        return faults


def _explain_omission(text: str, scene: Scene, strict: bool) -> str:
    content = parse_content(text)
    named = labels(scene)
    words = {label: _words_in(label, content) for label in dict.fromkeys(named)}
    lost = [label for label, present in words.items() if present is not None and not present]
    if lost and strict:
        return f"no word of it is of {quote(lost[0])}"
    order = parse_order(content)
    if order is None or len(set(named)) < len(named):
        return ""
    own = {label: _own_words(label, words) for label in named}
    given = order.relations()
    for (first, second), wanted in _orders(scene).items():
        signs = {given.get(pair) for pair in product(own[first], own[second])} - {None}
        if signs - {wanted} and (strict or -wanted in signs - {0}):
            return f"it tells another order of {quote(first)} and {quote(second)}"
    return ""


def _words_in(label: str, content: Content) -> frozenset[str] | None:
    """The words of a text that are of a label; None for a label without content words."""
    said = Phrase.of_label(label)
    own = parse_content(f"{said.plain}. {said.noun}. {said.clause}. {said.gerund}").words()
    words = content.words()
    present = in_words_of(own, words)
    return frozenset(present) & frozenset(words) if own else None


def _own_words(label: str, words: Mapping[str, frozenset[str] | None]) -> frozenset[str]:
    """The words of a text that are of this label and of no other."""
    others = (present or () for other, present in words.items() if other != label)
    return (words[label] or frozenset()).difference(*others)


def _orders(scene: Scene) -> dict[tuple[str, str], int]:
    """By pair of labels, 1 where the first is heard before the second, 0 where with it."""
    match scene:
        case Event():
            return {}
        case Concat(first, second) | Overlay(first, second):
            across: Sequence[tuple[str, str]] = [
                (one, other) for one in labels(first) for other in labels(second)
            ]
            order = int(isinstance(scene, Concat))
            return _orders(first) | _orders(second) | dict.fromkeys(across, order)
