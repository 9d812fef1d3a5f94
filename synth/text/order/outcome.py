"""What a tool made of a caption: a new text, or the reason why it was left out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
        text: The new text; empty where the caption was left out.
        reason: Why it was left out; None where a text was made.
        connective: The word that was, or would have been, worked on; empty for none.
        steps: What was done.
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
