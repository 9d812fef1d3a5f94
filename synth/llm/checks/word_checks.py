"""Checks that a text holds the words of its original in another composition (CompA, section 3.3).

Both make a hard negative of a caption: the order of its events is another, or its verbs go with
other nouns. Neither may bring in a sound or lose one, or the negative is an easy one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import ClassVar, Final

from synth.llm.checks.check import Case, Check, quote
from synth.llm.checks.content import Content, StatedOrder, align, parse_content, parse_order
from synth.text.negation.negators import find_denials

_BOUND: Final = 2  # a source and what it does
_SAME_ORDER: Final = "tells no order that contradicts the original's"


class _SameWords(Check):
    """The nouns and verbs are those of the original, each as often.

    Args:
        source: The item's field that holds the original.
    """

    source: str = "caption"

    def fields(self) -> frozenset[str]:
        """The original."""
        return frozenset({self.source})

    def faults(self, case: Case) -> list[str]:
        """Texts with other words, and those that the check in question refuses."""
        caption = str(case.field(self.source))
        original = parse_content(caption)
        found = []
        for text in self.select_texts(case):
            content = align(parse_content(text), original)
            fault = _explain_words(content, original) or self._fault(content, original)
            if not fault and bool(find_denials(text)) is not bool(find_denials(caption)):
                fault = "must deny what the original denies, and nothing else"
            if fault:
                found.append(f"{quote(text)} {fault}")
        return found

    def _fault(self, content: Content, original: Content) -> str:
        raise NotImplementedError


def _explain_words(content: Content, original: Content) -> str:
    ours, theirs = Counter(content.words()), Counter(original.words())
    lost, added = list((theirs - ours).elements()), list((ours - theirs).elements())
    told = [f"leaves out {_quote_all(lost)}"] * bool(lost) + [f"adds {_quote_all(added)}"] * bool(
        added
    )
    return f"must keep the nouns and verbs of the original: it {' and '.join(told)}" * bool(told)


def _quote_all(words: Sequence[str]) -> str:
    return ", ".join(map(quote, words))


class Reordered(_SameWords):
    """The same nouns and verbs, and an order of events that contradicts the original's.

    Where the order that the original tells can be read, that of the text must be readable too, and
    must differ in what both leave no doubt of: "a dog barks and a bell rings" admits every order,
    so it has no negative. Where it cannot, only a text of the same build is refused.
    """

    name: ClassVar[str] = "reordered"
    main: ClassVar[str] = "source"

    def _fault(self, content: Content, original: Content) -> str:
        if len(original.parts) < 2:
            return "changes the order of a caption with a single event; give an empty list"
        if (content.fronted, content.parts, content.joins) == (
            original.fronted,
            original.parts,
            original.joins,
        ):
            return _SAME_ORDER
        ours, theirs = parse_order(content), parse_order(original)
        return "" if theirs is None else _explain_agreement(ours, theirs)


class Rebound(_SameWords):
    """The same nouns and the same verbs, but other verbs with other nouns."""

    name: ClassVar[str] = "rebound"
    main: ClassVar[str] = "source"

    def _fault(self, content: Content, original: Content) -> str:
        if any(len(part) < _BOUND for each in (original, content) for part in each.parts):
            return "has sources that share a verb, which cannot be traded; give an empty list"
        if _bindings(content) == _bindings(original):
            return "joins each noun with the same verb as the original does"
        if len(content.parts) != len(original.parts):
            return "must leave everything but the sources where it is"
        return ""


def _explain_agreement(ours: StatedOrder | None, theirs: StatedOrder) -> str:
    wanted = theirs.relations()
    if not wanted:
        return "changes the order of a caption that tells none; give an empty list"
    if ours is None:
        return "tells its order unclearly; use then, before, after, while or followed by"
    given = ours.relations()
    if any(given.get(pair, sign) != sign for pair, sign in wanted.items()):
        return ""
    return _SAME_ORDER


def _bindings(content: Content) -> Counter[frozenset[str]]:
    """The words that stand together in a part."""
    return Counter(frozenset(pair) for part in content.parts for pair in combinations(part, 2))
