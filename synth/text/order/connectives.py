"""Where a caption's temporal connectives are, which of them join nothing, and what they join.

What stands on either side is tested for being a clause, and its verb inflected where a connective
asks for another form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from synth.base.shipped import shipped_set
from synth.labels.connective import Connective
from synth.text.grammar.tagger import (
    POS,
    Tagger,
    agent_verbs,
    ends_as_gerund,
    ends_as_third_person,
    inflect,
    lemma_of,
    possible_pos_tags,
    sound_nouns,
)
from synth.text.grammar.tokens import (
    Piece,
    format_order,
    is_one_sentence,
    names_sound,
    to_sentence,
    word_set,
)
from synth.text.order.clauses import POSSESSIVE, ClausePart, Shape, fits, stem

T = TypeVar("T")

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


def require(result: T | None, reason: SwapReason) -> T:
    """What could be made; leave the caption out where nothing could."""
    if result is None:
        raise OmittedError(reason)
    return result


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


# What a part of a caption must not be, to stand first after a swap.


_PERSONAL: Final = word_set("he her him himself it itself she that them themselves they")
_COMPARED: Final = word_set("bigger faster harder longer louder quieter shorter slower softer")
_GROWING: Final = word_set("become becomes becoming get gets getting grow growing grows")
FOLLOWING: Final = word_set("follow follows following ensue ensues ensuing")
_SOUNDS: Final = frozenset({"noise", "noises", "sound", "sounds", "water"})


def rewrite(
    caption: str,
    tagger: Tagger,
    find: Callable[[ClausePart], ConnectiveMatch],
    make: Callable[[ClausePart, ConnectiveMatch], SwapOutcome],
) -> SwapOutcome:
    """What is made of a caption around its one connective, or why it is left out.

    Args:
        find: The connective; it and `make` may raise `OmittedError`.
    """
    part, connective = ClausePart.parse(caption, tagger), ""
    try:
        omit_if(not any(token.word is not None for token in part.tokens), SwapReason.EMPTY)
        only = find(part)
        connective = only.kind
        if only.fault:
            raise OmittedError(only.fault)
        omit_if(not is_one_sentence(caption), SwapReason.NOT_A_SENTENCE)
        omit_if(not part.is_known(), SwapReason.UNSURE)
        return make(part, only)
    except OmittedError as omitted:
        return SwapOutcome.omit(omitted.reason, omitted.connective or connective)


def to_outcome(
    part: ClausePart, pieces: Sequence[Piece], only: ConnectiveMatch, *steps: OrderStep
) -> SwapOutcome:
    """A rewritten caption."""
    return SwapOutcome(
        to_sentence(pieces, part.tokens), None, only.kind, steps, format_order(pieces)
    )


def omit_no_events(front: ClausePart, rear: ClausePart, kind: Connective = Connective.THEN) -> None:
    """Leave out what is not told of two events that are heard, each told for itself.

    Where the one that is heard first goes on all the time, the other order is as true.
    """
    omit_if(not (tells_of_sound(front) and tells_of_sound(rear)), SwapReason.NO_SOUND)
    omit_if(names_again(rear, front) or names_again(front, rear), SwapReason.REFERS_BACK)
    omit_if(FOLLOWING.intersection((*front.words, *rear.words)), SwapReason.ORDER_WORD)
    first = {Connective.AS: (*front.words, *rear.words), Connective.AFTER: rear.words}
    omit_if(shipped_set("lasting").intersection(first.get(kind, front.words)), SwapReason.LASTS)


def tells_of_sound(part: ClausePart) -> bool:
    """Whether a word of a part is of a sound, or of what makes one."""
    return names_sound(" ".join(part.words)) or any(
        stem(word) in sound_nouns() for word in part.words
    )


def names_again(part: ClausePart, other: ClausePart) -> bool:
    """Whether "the train" stands in a part, and a train in the other; "in the rain" may recur."""
    nouns = _nouns(other)
    definite, before = False, ""
    for word, tag in zip(part.words, part.tags, strict=True):
        opens, before = word == "the" and before != "in", word
        definite = opens or (definite and tag in {POS.ADJ, POS.NOUN, POS.VERB})
        if definite and tag is POS.NOUN and stem(word) in nouns:
            return True
    return False


def is_one_event(front: ClausePart, rear: ClausePart) -> bool:
    """Whether "as" may mean "because", or "the more ... the more": of one source, or in change."""
    verbs = {lemma_of(word) for word in (*front.words, *rear.words)}
    if not (_GROWING | _COMPARED).isdisjoint((*front.words, *rear.words)):
        return True
    subject = rear[: (rear.finite_verbs() or [len(rear)])[0]]
    definite = not {"the", *POSSESSIVE}.isdisjoint(subject.words[:1])
    same = not _nouns(subject).isdisjoint(_nouns(front)) and "another" not in subject.words
    return definite or same or not verbs.isdisjoint(shipped_set("nearing"))


def is_a_stage(part: ClausePart) -> bool:
    """Whether a part tells how something begins, ends or changes: "turning off"."""
    return any(
        tag is POS.VERB and lemma_of(word) in shipped_set("course")
        for word, tag in zip(part.words, part.tags, strict=True)
    )


def are_labels(front: ClausePart, rear: ClausePart) -> bool:
    """Whether both sides are bare names, as the papers print labels: "thunder before rain"."""
    return {front.shape(), rear.shape()} <= {Shape.NOUN_PHRASE, Shape.GERUND} and (
        {POS.DET, POS.ADP}.isdisjoint((*front.tags, *rear.tags))
    )


def is_heard(part: ClausePart) -> bool:
    """Whether a part is no noun phrase of a time or a place, but of a sound: "some knocking"."""
    if part.shape() is not Shape.NOUN_PHRASE:
        return True
    words = part.words
    if not {"the", *POSSESSIVE}.isdisjoint(words[:1]):
        return False
    head = next((at for at, tag in enumerate(part.tags) if tag is POS.ADP), len(words)) - 1
    last = words[head]
    return last.endswith("ing") or stem(last) in sound_nouns()


def _nouns(part: ClausePart) -> set[str]:
    return {
        stem(word)
        for word, tag in zip(part.words, part.tags, strict=True)
        if tag in {POS.NOUN, POS.PROPN}
    }


def may_lack_subject(part: ClausePart, under_way: bool) -> bool:
    """Whether what opens a part may be done by the other part's subject: "closing doors", "pops".

    Args:
        under_way: Whether the other one is progressive, so that any gerund may go with it.
    """
    start = part.first_of_predicate()
    word = part.words[start]
    if start + 1 < len(part) and part.is_attributive(start):
        return under_way or part.words[start + 1] not in _SOUNDS
    named = part.tags[start] is POS.NOUN and not part.finite_verbs()
    does = ends_as_third_person(word) and POS.VERB in possible_pos_tags(word)
    return part.shape() is Shape.GERUND or (named and does)


def presupposes(part: ClausePart) -> bool:
    """Whether a part only makes sense behind another: "again", "a louder bark", "then does"."""
    text = f" {' '.join(part.words)} ".replace(" each other ", " ")
    if not shipped_set("back").isdisjoint(text.split()) or part.words[-1:] in {
        ("do",),
        ("does",),
        ("did",),
    }:
        return True
    if (" the noise " in text or " the sound " in text) and " of " not in text:
        return True
    return not _COMPARED.isdisjoint(part.words) and _GROWING.isdisjoint(part.words)


def points_back(part: ClausePart) -> bool:
    """Whether a pronoun may stand for something outside of the part."""
    named = False
    for index, (word, tag) in enumerate(zip(part.words, part.tags, strict=True)):
        ahead = part.tags[index + 1] if index + 1 < len(part) else POS.PUNCT
        if word in {"one", "ones"} and ahead not in {POS.NOUN, POS.ADJ}:
            return True
        owns = word == "her" and ahead not in {POS.PUNCT, POS.ADP, POS.ADV}
        if word in _PERSONAL and not (named and (word == "that" or owns)):
            return True
        if word in POSSESSIVE and not named:
            return True
        named = named or tag in {POS.NOUN, POS.PROPN} or word in {"someone", "somebody"}
    return False


def split_fronted(part: ClausePart, start: int) -> tuple[ClausePart, ClausePart]:
    """What a connective at the head governs, and the main clause, where one comma parts them."""
    comma = require(part.only_comma(), SwapReason.FRONTED)
    return part[start:comma], part[comma + 1 :].without_marks()


# Clauses with their verbs in another form: finite ones as gerunds, and back.


_PRESENT: Final = {"is": "VBZ", "are": "VBP"}
BE: Final = frozenset({"is", "are", "was", "were"})


def to_gerund(part: ClausePart) -> tuple[Piece, ...] | None:
    """A finite clause with its verbs as gerunds: "a man talks" is "a man talking".

    None where a verb has no plain gerund: modals, perfect tenses, "is present", "there is".
    """
    core = part.core()
    tail = part[len(core) :]
    if any(tail.tags[index - 1] is POS.CCONJ for index in tail.finite_verbs() if index):
        return None
    pieces: list[Piece] = []
    finite = set(core.finite_verbs())
    for index, token in enumerate(part.tokens):
        if index not in finite:
            pieces.append(token)
            continue
        made = _gerund_at(core, index)
        if made is None:
            return None
        pieces.extend([made] if made else [])
    return tuple(pieces)


def to_finite(part: ClausePart, plural: bool | None) -> tuple[Piece, ...] | None:
    """A gerund clause with finite verbs: "a man talking" is "a man talks"; None if unclear."""
    core = part.core()
    if plural is None or core.is_of_a_sound():
        return None
    pieces: list[Piece] = []
    started = ""
    for index, token in enumerate(part.tokens):
        is_core = index < len(core)
        if not (is_core and core.is_gerund(index)):
            pieces.append(token)
            continue
        joined = index and core.tags[index - 1] is POS.CCONJ
        if started and (not joined or "with" in core.words[:index]):
            pieces.append(token)
            continue
        if started in agent_verbs() and lemma_of(token.lower) not in agent_verbs():
            return None  # "a woman speaking and sizzling"
        if not started and not core.has_subject(index) and index:
            return None
        started = lemma_of(token.lower)
        if token.lower == "being":
            pieces.append("are" if plural else "is")
            continue
        if part.tags[index + 1 : index + 2] == (POS.NOUN,):
            return None  # "a train crossing alarm"
        made = inflect(token.lower, "VBP" if plural else "VBZ")
        if not made:
            return None
        pieces.append(made)
    words = [piece if isinstance(piece, str) else piece.lower for piece in pieces[: len(core)]]
    whole = any(fits(shape, words, core.tags) for shape in (Shape.CLAUSE, Shape.PREDICATE))
    return tuple(pieces) if started and whole else None


def to_simple(part: ClausePart) -> tuple[Piece, ...]:
    """A clause without progressive forms, as behind "before": "is talking" is "talks".

    As it is where a form is unclear: "is idling and being revved".
    """
    pieces: list[Piece] = []
    finite = part.finite_verbs()
    number = ""
    for index, token in enumerate(part.tokens):
        joined = index > 0 and part.tags[index - 1] is POS.CCONJ and index + 1 not in finite
        if token.lower == "being" and index and part.words[index - 1] in _PRESENT:
            number = ""
        elif token.lower in _PRESENT and part.is_progressive(index):
            being = part.words[index + 1] == "being"
            number = "" if being else _PRESENT[token.lower]
            pieces.extend([token] if being else [])
        elif number and part.is_gerund(index) and (joined or part.follows_be(index)):
            made = inflect(token.lower, number)
            if token.lower == "being" or not made:
                return part.tokens
            pieces.append(made)
        elif pieces and joined and part.is_gerund(index) and len(pieces) < index:
            return part.tokens
        else:
            ends = part.tags[index] in {POS.ADP, POS.AUX} or token.lower in BE
            number = "" if ends else number
            pieces.append(token)
    return tuple(pieces)


def _gerund_at(part: ClausePart, index: int) -> str | None:
    """The gerund of a finite verb, "" where the auxiliary just goes; None where there is none."""
    word = part.words[index]
    if part.tags[index] is POS.VERB and word not in shipped_set("finite aux"):
        ahead = part.words[index + 1] if index + 1 < len(part) else ""
        if ends_as_gerund(ahead):
            return None
        return inflect(word, "VBG") or None
    if word not in BE:
        return None
    behind = part.after(index)
    if behind >= len(part) or part.tags[behind] not in {POS.VERB, POS.AUX}:
        return None
    return "" if ends_as_gerund(part.words[behind]) else "being"
