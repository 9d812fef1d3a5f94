"""Where a caption's temporal connectives are, and which of them join nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from synth.base.shipped import shipped_set
from synth.labels.connective import Connective
from synth.text.grammar.tokens import word_set

# What a tool made of a caption: a new text, or the reason why it was left out.


class SwapReason(StrEnum):
    """Why a tool leaves a caption out."""

    EMPTY = "empty"
    """No word in it."""
    NO_CONNECTIVE = "no connective"
    """None of the words that the tool is about."""
    SEVERAL_CONNECTIVES = "several connectives"
    """More than one, so that it is unclear what each joins."""
    FIXED_PHRASE = "fixed phrase"
    """The word is part of another expression: "as well as", "one after another"."""
    ADVERBIAL = "adverbial"
    """The word, with its neighbour, only says when: "after that", "just then"."""
    DANGLING = "dangling"
    """Nothing stands on one side of it: "shortly after", a last "then"."""
    FRONTED = "fronted"
    """The subordinate part stands first, and where it ends is unclear."""
    SEVERAL_PARTS = "several parts"
    """Commas inside a side: how much of it the word joins is unclear."""
    SHARED_SUBJECT = "shared subject"
    """The part behind has no subject of its own, and the one in front cannot be carried over."""
    PRONOUN = "pronoun"
    """A pronoun in the part behind points into the part in front."""
    REFERS_BACK = "refers back"
    """The part behind presupposes the one in front: "again", "another", "continues"."""
    ORDER_WORD = "order word"
    """A further word tells the order: "first", "finally", "begins with"."""
    NOT_A_CLAUSE = "not a clause"
    """A side is not something that the word can join or govern."""
    VERB_FORM = "verb form"
    """A verb would have to change its form, in a way that we do not do."""
    ONE_EVENT = "one event"
    """Both sides tell of one event, or of how it goes on: "hums as the train nears", "stops"."""
    LASTS = "lasts"
    """A side goes on all the time, so that it has no order: "continuously", "throughout"."""
    NO_SOUND = "no sound"
    """A side names nothing that is heard: "before sunrise", "after lunch"."""
    NOT_A_SENTENCE = "not a sentence"
    """A title, several sentences, brackets, quotations, an address or a file name."""
    UNSURE = "tagger unsure"
    """The tagger only guesses a word: one it does not know, or one that decides what is kept."""
    BALANCED_OUT = "balanced out"
    """Usable, but drawn out so that a set holds as many of one word as of the other."""
    REPEATED = "repeated"
    """The same sentence stands in the file before."""
    NOTHING_LEFT = "nothing left"
    """No word of the caption is kept."""


class OrderStep(StrEnum):
    """One thing that was done to a caption."""

    KEPT = "kept nouns and verbs"
    REPLACED = "word replaced"
    SWAPPED = "clauses swapped"
    CARRIED = "subject carried over"
    GERUND = "verb made a gerund"
    FINITE = "verb made finite"
    AGREED = "verb made to agree"


@dataclass(frozen=True, slots=True)
class SwapOutcome:
    """The answer of every text tool: a text and its steps, or a reason and no text.

    Args:
        connective: The word that was, or would have been, worked on; empty for none.
        order: The text as 0-based word positions of the caption, with marks and put-in words as
            they are.
    """

    text: str = ""
    reason: SwapReason | None = None
    connective: str = ""
    steps: tuple[OrderStep, ...] = ()
    order: str = ""

    @property
    def made(self) -> bool:
        """Whether there is a text."""
        return self.reason is None

    @classmethod
    def omit(cls, reason: SwapReason, connective: str = "") -> SwapOutcome:
        """No text, and why."""
        return cls(reason=reason, connective=connective)


class OmittedError(Exception):
    """A caption is left out; the connective is told where nobody else knows it."""

    def __init__(self, reason: SwapReason, connective: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.connective = connective


def omit_if(is_so: object, reason: SwapReason) -> None:
    """Leave the caption out where something is so."""
    if is_so:
        raise OmittedError(reason)


_FOLLOWING_ADVERBS: Final = word_set("closely immediately later quickly shortly soon suddenly")
_ADVERBS_OF_AS: Final = frozenset({"even", "just", "only", "right"})
_THEN_IS_A_TIME: Final = word_set("back by just now since that until which who")
_GOES_WITH_ORDER: Final = word_set("as day ever like look looks named never night one than the")
_QUANTITY: Final = word_set("a an few one several short some the three two very")
_TIMES: Final = word_set("bit minute minutes moment moments second seconds time while awhile")
_JOINS: Final = frozenset(
    {
        *("and", "or", "but", "as", "while", "then", ",", ".", ";"),
        *("at", "by", "for", "from", "in", "of", "on", "with"),
    }
)


@dataclass(frozen=True, slots=True)
class ConnectiveMatch:
    """A connective, from token `start` to before `end`, and why it joins nothing, if so."""

    kind: Connective
    start: int
    end: int
    fault: SwapReason | None = None


def find_connectives(words: Sequence[str]) -> tuple[ConnectiveMatch, ...]:
    """All connectives of a caption in order, by its tokens in lower case, marks among them."""
    connectives: list[ConnectiveMatch] = []
    for index, word in enumerate(words):
        if word in _FAULTS:
            fault = _FAULTS[word](words, index)
            connectives.append(ConnectiveMatch(Connective(word), index, index + 1, fault))
        elif word == Connective.WHILE and _at(words, index - 1) not in _QUANTITY:
            connectives.append(ConnectiveMatch(Connective.WHILE, index, index + 1))
        elif word == "followed":
            adverb = _at(words, index + 1) in _FOLLOWING_ADVERBS
            end = index + 2 + adverb
            if _at(words, end - 1) == "by":
                fault = None if index > 0 and _has_word(words[end:]) else SwapReason.DANGLING
                connectives.append(ConnectiveMatch(Connective.FOLLOWED_BY, index, end, fault))
    return tuple(connectives)


def _at(words: Sequence[str], index: int) -> str:
    return words[index] if 0 <= index < len(words) else ""


def _has_word(words: Sequence[str]) -> bool:
    return any(word[:1].isalnum() for word in words)


def _order_fault(words: Sequence[str], index: int) -> SwapReason | None:
    """What is wrong with a "before" or an "after"; the same for both words."""
    previous, following = _at(words, index - 1), _at(words, index + 1)
    if previous in _GOES_WITH_ORDER or following in {"all", "another", "long"}:
        return SwapReason.FIXED_PHRASE
    if previous and previous == following:
        return SwapReason.FIXED_PHRASE
    if not _has_word(words[index + 1 :]) or following in _JOINS:
        return SwapReason.DANGLING
    if following in {"that", "this", "these", "those"} or _is_span_of_time(words, index + 1):
        return SwapReason.ADVERBIAL
    return None


def _is_span_of_time(words: Sequence[str], index: int) -> bool:
    """Whether "a few seconds", with no "of" behind it, starts here."""
    while _at(words, index) in _QUANTITY:
        index += 1
    return _at(words, index) in _TIMES and _at(words, index + 1) != "of"


def _then_fault(words: Sequence[str], index: int) -> SwapReason | None:
    previous = _at(words, index - 1)
    if not _has_word(words[:index]) or not _has_word(words[index + 1 :]):
        return SwapReason.DANGLING
    if previous == "and" and _at(words, index - 2) in {"now", "again"}:
        return SwapReason.FIXED_PHRASE
    if previous in {"other", "rather", "more", "less"} or words[0] == "if":
        return SwapReason.FIXED_PHRASE
    if previous in _THEN_IS_A_TIME:
        return SwapReason.ADVERBIAL
    return None


def _as_fault(words: Sequence[str], index: int) -> SwapReason | None:
    previous, following = _at(words, index - 1), _at(words, index + 1)
    if following in shipped_set("as goes with") or previous in shipped_set("goes with as"):
        return SwapReason.FIXED_PHRASE
    if Connective.AS in {_at(words, index - 2), _at(words, index + 2)}:
        return SwapReason.FIXED_PHRASE
    if previous in _ADVERBS_OF_AS:
        return SwapReason.ADVERBIAL
    return None if _has_word(words[index + 1 :]) else SwapReason.DANGLING


_FAULTS: Final[Mapping[str, Callable[[Sequence[str], int], SwapReason | None]]] = {
    Connective.BEFORE: _order_fault,
    Connective.AFTER: _order_fault,
    Connective.THEN: _then_fault,
    Connective.AS: _as_fault,
}
