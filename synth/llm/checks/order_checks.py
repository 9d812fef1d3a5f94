"""Checks of what a text tells: the nouns and verbs of its original, their order, a notation.

Only what the words leave no doubt of is held against a text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations, product
from typing import ClassVar, Final, TypeAlias

from pydantic import Field

from synth.base.shipped import shipped_set
from synth.labels.connective import Connective
from synth.labels.lexicon import Phrase
from synth.labels.words import COMPOUND, tokenize
from synth.llm.checks.check import AnswerPlace, Case, Check, ComparingCheck, quote, texts_at
from synth.llm.checks.label_checks import parse_scene
from synth.scene.scene import Concat, Event, Overlay, Scene, labels
from synth.text.grammar.tagger import POS, lemma_of, possible_pos_tags
from synth.text.grammar.tokens import function_words, word_set
from synth.text.negation.negators import find_denials
from synth.text.order.connectives import find_connectives

# The words of a caption that carry its content, and what it tells of their order in time.
#
# Nouns and verbs are compared by lemma and without deciding which of the two a form is: "barks" is
# "barking" is "bark". Words that only frame a sound ("is heard", "starts", "in the background") and
# those that tell order are no content.


_CONTENT: Final = frozenset({POS.NOUN, POS.PROPN, POS.VERB})
_TOGETHER: Final = word_set("with amid amidst alongside along accompanied meanwhile")
_LISTING: Final = frozenset({"and", ",", ";", "or", "plus"})
_NEXT: Final = frozenset({Connective.THEN, Connective.FOLLOWED_BY, Connective.BEFORE})
_AT_ONCE: Final = frozenset({Connective.AS, Connective.WHILE})
Group: TypeAlias = frozenset[tuple[str, int]]
"""The content words of a part of a caption, each with how often it has it."""


@dataclass(frozen=True, slots=True)
class StatedOrder:
    """The order that a caption tells.

    Args:
        stages: Its parts from the first to the last. What parts of a stage are to one another is
            left open ("a dog barks and a bell rings"), unless they are together.
        together: The pairs of parts that are said to be at once.
    """

    stages: tuple[tuple[Group, ...], ...]
    together: frozenset[frozenset[Group]] = frozenset()

    def relations(self) -> dict[tuple[str, str], int]:
        """By pair of words, how their parts lie: 1 for first before second, -1 behind, 0 at once.

        Only of words that stand once in the caption; pairs without a certain relation are missing.
        """
        counts = Counter(word for stage in self.stages for group in stage for word, _ in group)
        often = {word for stage in self.stages for group in stage for word, n in group if n > 1}
        at = {
            word: (place, group)
            for place, stage in enumerate(self.stages)
            for group in stage
            for word, _ in group
            if counts[word] == 1 and word not in often
        }
        signs = {}
        for (one, (place, group)), (other, (later, second)) in permutations(at.items(), 2):
            if place != later:
                signs[one, other] = 1 if place < later else -1
            elif frozenset({group, second}) in self.together:
                signs[one, other] = 0
        return signs


@dataclass(frozen=True, slots=True)
class Content:
    """The content words of a caption.

    Args:
        parts: By part of the caption, the words in the order of the text.
        joins: What stands between a part and the next: "then", "and"; one fewer than parts.
        fronted: The connective before the first part, "" for none.
        unread: Whether it tells an order by words that `parse_order` cannot read.
    """

    parts: tuple[tuple[str, ...], ...]
    joins: tuple[str, ...]
    fronted: str
    unread: bool

    def words(self) -> tuple[str, ...]:
        """All the words, in the order of the text."""
        return tuple(word for part in self.parts for word in part)


@lru_cache(maxsize=4096)
def parse_content(caption: str) -> Content:
    """The content words of a caption, in parts cut at connectives, "and" and marks."""
    words = [token.lower for token in tokenize(caption, COMPOUND)]
    cuts: dict[int, tuple[int, str]] = {
        connective.start: (connective.end, connective.kind.value)
        for connective in find_connectives(words)
        if not connective.fault
    }
    parts: list[list[str]] = [[]]
    joins: list[str] = [""]
    index = 0
    while index < len(words):
        end, join = cuts.get(index, (index + 1, _join(words[index])))
        if not join:
            if is_content(words[index]):
                parts[-1].append(words[index])
        elif parts[-1]:
            parts.append([])
            joins.append(join)
        elif join not in {"and", "."} or joins[-1] in {"", "and"}:
            joins[-1] = join  # the one that tells more: of ", and then" it is "then"
        index = end
    if not parts[-1]:
        parts.pop()
        joins.pop()
    return Content(
        tuple(map(tuple, parts)),
        tuple(joins[1:]),
        joins[0] if joins and joins[0] not in {"and", "."} else "",
        not shipped_set("unread").isdisjoint(words),
    )


def _join(word: str) -> str:
    if word in _TOGETHER:
        return Connective.WHILE.value
    return "and" if word in _LISTING else "." if word in {".", "!", "?", ":"} else ""


@lru_cache(maxsize=65_536)
def is_content(word: str) -> bool:
    """Whether a word may be a noun or a verb, and is none that only frames others."""
    if word in function_words() or word in shipped_set("framing") or not word[:1].isalpha():
        return False
    return not _CONTENT.isdisjoint(possible_pos_tags(word))


@lru_cache(maxsize=65_536)
def lemmas(word: str) -> frozenset[str]:
    """What a form may be a form of, as a noun and as a verb; itself among them."""
    from lemminflect import getAllLemmas

    known = getAllLemmas(word)
    forms = {word, *(form for tag in ("NOUN", "VERB") for form in known.get(tag, ()))}
    if POS.VERB in possible_pos_tags(word):
        forms.add(lemma_of(word))
    if not known and word.endswith("s") and not word.endswith("ss"):
        forms.add(word[:-1])
    return frozenset(forms - {""})


def in_words_of(words: Sequence[str], original: Sequence[str]) -> list[str]:
    """Words in the forms in which an original has them; a word that it lacks stays as it is."""
    left = Counter(original)
    found = list(words)
    for at, word in enumerate(words):
        if left[word]:
            left[word] -= 1
        else:
            found[at] = ""
    for at, word in enumerate(words):
        if found[at]:
            continue
        forms = lemmas(word)
        match = next((one for one in left if left[one] and not forms.isdisjoint(lemmas(one))), "")
        left[match] -= bool(match)
        found[at] = match or word
    return found


def align(content: Content, original: Content) -> Content:
    """The same content with its words in the forms in which the original has them."""
    words = iter(in_words_of(content.words(), original.words()))
    parts = tuple(tuple(next(words) for _ in part) for part in content.parts)
    return Content(parts, content.joins, content.fronted, content.unread)


def parse_order(content: Content) -> StatedOrder | None:
    """What is told from the first to the last; None where the words leave it open.

    Read are "then", "followed by", "before", "after", "as", "while", "with" and lists, one after
    the other or "before" and "after" at the head of a caption of two parts.
    """
    joins = content.joins
    if content.unread or "." in joins or not content.parts:
        return None
    groups = [frozenset(Counter(part).items()) for part in content.parts]
    if content.fronted:
        return _parse_fronted(content, groups)
    if Connective.AFTER in joins:
        return (
            StatedOrder(tuple((group,) for group in reversed(groups))) if len(joins) == 1 else None
        )
    stages: list[tuple[Group, ...]] = [(groups[0],)]
    together: set[frozenset[Group]] = set()
    for join, before, group in zip(joins, groups, groups[1:], strict=False):
        if join in _NEXT:
            stages.append((group,))
            continue
        stages[-1] = (*stages[-1], group)
        if join in _AT_ONCE:
            together.add(frozenset({before, group}))
    return StatedOrder(tuple(stages), frozenset(together))


def _parse_fronted(content: Content, groups: list[Group]) -> StatedOrder | None:
    """Of "After A, B" and "As A, B"."""
    if content.joins != ("and",):
        return None
    if content.fronted in _AT_ONCE:
        return StatedOrder((tuple(groups),), frozenset({frozenset(groups)}))
    if content.fronted not in {Connective.BEFORE, Connective.AFTER}:
        return None
    order = groups if content.fronted == Connective.AFTER else groups[::-1]
    return StatedOrder(tuple((group,) for group in order))


# Checks that a text tells the order of its original, or a share of its words.


_UNCLEAR: Final = "tells its order unclearly; use then, before, after, while or followed by"
_DENIES: Final = "must deny what the original denies, and nothing else"
_BOUND: Final = 2  # a source and what it does
_SAME_ORDER: Final = "tells no order that contradicts the original's"


def _find_changes(content: Content, original: StatedOrder) -> list[tuple[str, str]] | None:
    """The pairs of words of which a text tells another order; None where its own is unclear."""
    stated = parse_order(content)
    if stated is None:
        return None
    given = stated.relations()
    return [pair for pair, sign in original.relations().items() if given.get(pair, sign) != sign]


def _deny_otherwise(text: str, original: str) -> bool:
    """Whether one of two texts denies something, and the other nothing."""
    return bool(find_denials(text)) is not bool(find_denials(original))


class SameOrder(ComparingCheck):
    """No text changes an order that its original tells, or denies what that affirms.

    Args:
        unclear: Whether a text is refused whose order cannot be read.
    """

    name: ClassVar[str] = "same_order"
    unclear: bool = True

    def _explain(self, text: str, case: Case) -> Iterator[str]:
        caption = self.original(case)
        original = parse_content(caption)
        stated = parse_order(original)
        if stated is not None and stated.relations():
            changes = _find_changes(align(parse_content(text), original), stated)
            if changes:
                yield f"changes the order of {' and '.join(map(quote, min(changes)))}"
            elif changes is None and self.unclear:
                yield _UNCLEAR
        if _deny_otherwise(text, caption):
            yield _DENIES


class Shares(ComparingCheck):
    """Each text keeps a share of the nouns and verbs of its original.

    Args:
        least: The share, 0 to 1.
    """

    name: ClassVar[str] = "shares"
    main: ClassVar[str] = "least"
    least: float = Field(ge=0, le=1)

    def _explain(self, text: str, case: Case) -> Iterator[str]:
        words = parse_content(self.original(case)).words()
        own = Counter(in_words_of(parse_content(text).words(), words))
        kept = (own & Counter(words)).total()
        if kept < self.least * len(words):
            yield f"keeps {kept} of {len(words)} nouns and verbs"


# Checks that a text holds the words of its original in another composition (CompA, section 3.3).
#
# Both make a hard negative of a caption: the order of its events is another, or its verbs go with
# other nouns. Neither may bring in a sound or lose one, or the negative is an easy one.


class _SameWords(ComparingCheck):
    """The nouns and verbs are those of the original, each as often."""

    def _explain(self, text: str, case: Case) -> Iterator[str]:
        caption = self.original(case)
        original = parse_content(caption)
        content = align(parse_content(text), original)
        if fault := _explain_words(content, original) or self._fault(content, original):
            yield fault
        elif _deny_otherwise(text, caption):
            yield _DENIES

    def _fault(self, content: Content, original: Content) -> str:
        raise NotImplementedError


def _explain_words(content: Content, original: Content) -> str:
    given, wanted = Counter(content.words()), Counter(original.words())
    changes = []
    if lost := list((wanted - given).elements()):
        changes.append(f"leaves out {_quote_all(lost)}")
    if added := list((given - wanted).elements()):
        changes.append(f"adds {_quote_all(added)}")
    if not changes:
        return ""
    return f"must keep the nouns and verbs of the original: it {' and '.join(changes)}"


def _quote_all(words: Sequence[str]) -> str:
    return ", ".join(map(quote, words))


class Reordered(_SameWords):
    """The same nouns and verbs, and an order of events that contradicts the original's.

    Where the order that the original tells can be read, that of the text must be readable too, and
    must differ in what both leave no doubt of: "a dog barks and a bell rings" admits every order,
    so it has no negative. Where it cannot, only a text of the same build is refused.
    """

    name: ClassVar[str] = "reordered"

    def _fault(self, content: Content, original: Content) -> str:
        if len(original.parts) < 2:
            return "changes the order of a caption with a single event; give an empty list"
        if (content.fronted, content.parts, content.joins) == (
            original.fronted,
            original.parts,
            original.joins,
        ):
            return _SAME_ORDER
        stated = parse_order(original)
        if stated is None:
            return ""
        if not stated.relations():
            return "changes the order of a caption that tells none; give an empty list"
        changes = _find_changes(content, stated)
        if changes is None:
            return _UNCLEAR
        return "" if changes else _SAME_ORDER


class Rebound(_SameWords):
    """The same nouns and the same verbs, but other verbs with other nouns."""

    name: ClassVar[str] = "rebound"

    def _fault(self, content: Content, original: Content) -> str:
        if any(len(part) < _BOUND for each in (original, content) for part in each.parts):
            return "has sources that share a verb, which cannot be traded; give an empty list"
        if _bindings(content) == _bindings(original):
            return "joins each noun with the same verb as the original does"
        if len(content.parts) != len(original.parts):
            return "must leave everything but the sources where it is"
        return ""


def _bindings(content: Content) -> Counter[frozenset[str]]:
    """The words that stand together in a part."""
    return Counter(frozenset(pair) for part in content.parts for pair in combinations(part, 2))


# Checks that a text tells the notation beside it.


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

    def _find_faults(self, texts: Sequence[str], case: Case) -> Iterator[str]:
        notations = list(texts_at(case.answer, self.notation))
        texts = [*texts] * len(notations) if len(texts) == 1 else texts
        if len(texts) != len(notations):
            yield "there must be one notation for each text"
            return
        for text, notation in zip(texts, notations, strict=True):
            scene, _ = parse_scene(notation)
            fault = "" if scene is None else _explain_omission(text, scene, self.strict)
            if fault:
                yield f"{quote(text)} does not say {quote(notation)}: {fault}"


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
    own = {  # the words of the text that are of this label and of no other
        label: (words[label] or frozenset()).difference(
            *(present or () for other, present in words.items() if other != label)
        )
        for label in named
    }
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
