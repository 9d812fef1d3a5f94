"""Word probes on free captions: nouns and verbs only, before <-> after, as <-> then.

After "Audio-text models do not yet leverage natural language" (ACBA), section 3. What a text holds
besides the one word that is exchanged stays as it is; see `clause_swap` for the exchange of sides.
"""

from __future__ import annotations

from collections.abc import Container
from enum import StrEnum
from functools import lru_cache, partial
from typing import Final

from synth.base.shipped import shipped_set
from synth.labels.connective import Connective
from synth.labels.lexicon import Phrase
from synth.text.grammar.tagger import POS, EmbeddedTagger, Tagger, ends_as_gerund, is_doubtful
from synth.text.grammar.tokens import (
    Piece,
    format_order,
    has_markup,
    is_one_sentence,
    join,
    lower_opener,
    word_set,
)
from synth.text.order.clauses import ClausePart, Shape, is_plural, needs_doer
from synth.text.order.connectives import (
    FOLLOWING,
    ConnectiveMatch,
    OmittedError,
    OrderStep,
    SwapOutcome,
    SwapReason,
    are_labels,
    find_connectives,
    is_a_stage,
    is_heard,
    is_one_event,
    omit_if,
    omit_no_events,
    points_back,
    presupposes,
    require,
    rewrite,
    split_fronted,
    tells_of_sound,
    to_finite,
    to_gerund,
    to_outcome,
    to_simple,
)

KEPT_TAGS: Final = frozenset({POS.NOUN, POS.PROPN, POS.VERB})
_EMBEDDED: Final = EmbeddedTagger()
_OTHER_ORDER: Final = {
    Connective.BEFORE: Connective.AFTER,
    Connective.AFTER: Connective.BEFORE,
}
_TOLD: Final = frozenset({Shape.CLAUSE, Shape.GERUND_CLAUSE})
HOW_SOON: Final = word_set("immediately just right shortly soon")


def keep_nouns_and_verbs(caption: str, tagger: Tagger = _EMBEDDED) -> SwapOutcome:
    """The nouns and verbs of a caption, in order (the paper's NV).

    Kept are NOUN, PROPN and VERB. Gerunds and participles are verbs, so they stay ("running
    water", "is followed"); a past participle right before its noun is an adjective and goes
    ("muffled speech"). Auxiliaries, "is" among them, pronouns and numbers go. A caption is left out
    where the tagger does not know one of its words, or only guesses whether it is to be kept.
    """
    part = ClausePart.parse(caption, tagger)
    words = [token for token in part.tokens if token.word is not None]
    if not words:
        return SwapOutcome.omit(SwapReason.EMPTY)
    if has_markup(caption):
        return SwapOutcome.omit(SwapReason.NOT_A_SENTENCE)
    if any(is_doubtful(part.words, part.tags, index) for index in range(len(part))):
        return SwapOutcome.omit(SwapReason.UNSURE)
    kept = [
        token
        for token, tag in zip(part.tokens, part.tags, strict=True)
        if tag in KEPT_TAGS and token.word is not None
    ]
    if not kept:
        return SwapOutcome.omit(SwapReason.NOTHING_LEFT)
    text = " ".join(token.text for token in kept)
    return SwapOutcome(text, steps=(OrderStep.KEPT,), order=format_order(kept))


def swap_before_after(caption: str, tagger: Tagger = _EMBEDDED) -> SwapOutcome:
    """Exchange "before" and "after" (the paper's BAT).

    The caption must hold one of the two words, once, and no other connective. What it joins must be
    two events that are heard. All else stays byte for byte, so the swap undoes itself.
    """

    def exchange(part: ClausePart, only: ConnectiveMatch) -> SwapOutcome:
        _omit_not_ordered(part, only)
        token = part.tokens[only.start]
        word = _OTHER_ORDER[only.kind].value
        if token.text[:1].isupper():
            word = word.upper() if token.text.isupper() else word.capitalize()
        text = caption[: token.start] + word + caption[token.end :]
        pieces: tuple[Piece, ...] = (*part.tokens[: only.start], word, *part.tokens[only.end :])
        return SwapOutcome(text, None, only.kind, (OrderStep.REPLACED,), format_order(pieces))

    return rewrite(caption, tagger, partial(_find_only, kinds=_OTHER_ORDER), exchange)


def swap_as_then(caption: str, tagger: Tagger = _EMBEDDED) -> SwapOutcome:
    """Exchange "as" and "then": at once for one after the other, and back.

    "A as B" is "A then B"; "A, and then B" is "A as B", where B is a clause. A gerund behind "then"
    is made finite ("then water running" is "as water runs"), and back behind a gerund or a noun; a
    fronted "As A, B" is "A, then B". The caption must hold one of the two words, once, and no other
    connective.
    """

    def find(part: ClausePart) -> ConnectiveMatch:
        only = _find_only(part, {Connective.AS, Connective.THEN})
        if len(find_connectives(part.words)) > 1:
            raise OmittedError(SwapReason.SEVERAL_CONNECTIVES, only.kind)
        return only

    def exchange(part: ClausePart, only: ConnectiveMatch) -> SwapOutcome:
        return (_as_to_then if only.kind is Connective.AS else _then_to_as)(part, only)

    return rewrite(caption, tagger, find, exchange)


def _as_to_then(part: ClausePart, only: ConnectiveMatch) -> SwapOutcome:
    if only.start == 0:
        return _swap_fronted_as(part, only)
    front, rear = part[: only.start], part[only.end :].without_marks()
    comma = front.words[-1:] == (",",)
    front = front.without_marks()
    _omit_not_joined(front, rear, only.kind)
    clause: tuple[Piece, ...] = rear.tokens
    steps: tuple[OrderStep, ...] = ()
    if front.shape() is not Shape.CLAUSE and rear.is_under_way():
        comma = True
    elif front.shape() is not Shape.CLAUSE:
        clause, steps = require(to_gerund(rear), SwapReason.VERB_FORM), (OrderStep.GERUND,)
    marks = (",",) if comma else ()
    pieces = (*front.tokens, *marks, Connective.THEN.value, *clause)
    return to_outcome(part, pieces, only, OrderStep.REPLACED, *steps)


def _swap_fronted_as(part: ClausePart, only: ConnectiveMatch) -> SwapOutcome:
    """Make of "As A, B" the text "A, then B" where a single comma parts them."""
    front, rear = split_fronted(part, only.end)
    omit_if(POS.PRON in front.tags, SwapReason.PRONOUN)
    _omit_not_joined(rear, front, only.kind)
    omit_if(rear.shape() is not Shape.CLAUSE, SwapReason.NOT_A_CLAUSE)
    pieces: tuple[Piece, ...] = (*front.tokens, ",", "then", *rear.tokens)
    return to_outcome(part, pieces, only, OrderStep.REPLACED)


def _then_to_as(part: ClausePart, only: ConnectiveMatch) -> SwapOutcome:
    start = only.start
    while start and part.words[start - 1] in {",", "and", "but"}:
        start -= 1
    front, rear = part[:start].without_marks(), part[only.end :].without_marks()
    omit_if(not len(front), SwapReason.DANGLING)
    omit_if(rear.shape() in {Shape.PREDICATE, Shape.GERUND}, SwapReason.SHARED_SUBJECT)
    _omit_not_joined(front, rear, only.kind)
    clause: tuple[Piece, ...] = rear.tokens
    steps: tuple[OrderStep, ...] = ()
    if rear.shape() is Shape.GERUND_CLAUSE:
        clause = require(to_finite(rear, is_plural(rear)), SwapReason.VERB_FORM)
        steps = (OrderStep.FINITE,)
    pieces = (*front.tokens, Connective.AS.value, *clause)
    return to_outcome(part, pieces, only, OrderStep.REPLACED, *steps)


def _omit_not_joined(front: ClausePart, rear: ClausePart, kind: Connective) -> None:
    """Leave out where "as" or "then" does not join two whole events, of which neither is why."""
    omit_if(POS.PUNCT in (*front.tags, *rear.tags), SwapReason.SEVERAL_PARTS)
    omit_if(shipped_set("order words") & {*front.words, *rear.words}, SwapReason.ORDER_WORD)
    omit_if(rear.tags[:1] == (POS.ADV,), SwapReason.ADVERBIAL)
    omit_if(points_back(rear), SwapReason.PRONOUN)
    governed = {Shape.CLAUSE} if kind is Connective.AS else _TOLD
    omit_if(rear.shape() not in governed, SwapReason.NOT_A_CLAUSE)
    omit_if(front.shape() in {Shape.UNCLEAR, Shape.PREDICATE}, SwapReason.NOT_A_CLAUSE)
    omit_if(presupposes(rear), SwapReason.REFERS_BACK)
    omit_no_events(front, rear, kind)
    omit_if(is_one_event(front, rear), SwapReason.ONE_EVENT)


def _find_only(part: ClausePart, kinds: Container[Connective]) -> ConnectiveMatch:
    """The one connective of these kinds."""
    connectives = [match for match in find_connectives(part.words) if match.kind in kinds]
    omit_if(not connectives, SwapReason.NO_CONNECTIVE)
    if len(connectives) > 1:
        fixed = all(match.fault is SwapReason.FIXED_PHRASE for match in connectives)
        raise OmittedError(SwapReason.FIXED_PHRASE if fixed else SwapReason.SEVERAL_CONNECTIVES)
    return connectives[0]


def _omit_not_ordered(part: ClausePart, only: ConnectiveMatch) -> None:
    """Leave out where "before" or "after" does not stand between two events in that order."""
    omit_if(len(find_connectives(part.words)) > 1, SwapReason.SEVERAL_CONNECTIVES)
    if only.start == 0:
        rear, front = split_fronted(part, only.end)
    else:
        end = only.start - (part.words[only.start - 1] in HOW_SOON)
        front, rear = part[:end].without_marks(), part[only.end :].without_marks()
    omit_if(POS.PUNCT in (*front.tags, *rear.tags), SwapReason.SEVERAL_PARTS)
    omit_if(shipped_set("order words") & {*front.words, *rear.words}, SwapReason.ORDER_WORD)
    omit_if(presupposes(rear), SwapReason.REFERS_BACK)
    omit_if(points_back(rear), SwapReason.PRONOUN)
    outer, inner = front.shape(), rear.shape()
    omit_if({Shape.UNCLEAR, Shape.PREDICATE} & {outer, inner}, SwapReason.NOT_A_CLAUSE)
    omit_if(only.start == 0 and outer is not Shape.CLAUSE, SwapReason.FRONTED)
    if inner is Shape.GERUND_CLAUSE:
        omit_if(outer is Shape.CLAUSE, SwapReason.NOT_A_CLAUSE)
    omit_if(not (is_heard(rear) or are_labels(front, rear)), SwapReason.NO_SOUND)
    if inner is Shape.GERUND:
        is_shared = outer is Shape.NOUN_PHRASE and needs_doer(rear)
        omit_if(is_shared, SwapReason.SHARED_SUBJECT)
        omit_if(is_a_stage(rear) or is_a_stage(front), SwapReason.ONE_EVENT)
    omit_no_events(front, rear, only.kind)


# A whole caption as a part of a longer sentence: as a clause, and as what "followed by" takes.


class Unjoinable(StrEnum):
    """Why a caption cannot be a part of a longer sentence."""

    NOT_A_SENTENCE = "is not one sentence in plain words"
    SEVERAL_PARTS = "is parted by commas"
    CONNECTIVE = "relates sounds itself, by 'as', 'while' or a word of order"
    UNKNOWN_WORD = "has a word that is not known"
    FRAGMENT = "is neither a clause nor a noun phrase"
    REFERS = "refers to something outside of it"
    VERB_FORM = "has no other form that is sure"
    NO_SOUND = "names nothing that is heard"


@lru_cache(maxsize=65_536)
def say_caption(caption: str) -> Phrase | Unjoinable:
    """The forms of a caption inside a sentence, or why it has none.

    "A man talks." is "a man talks" and, behind "followed by", "a man talking"; "Loud music" is
    "loud music", and as a clause "loud music is heard". Names keep their capitals.
    """
    if not is_one_sentence(caption):
        return Unjoinable.NOT_A_SENTENCE
    part = ClausePart.parse(caption, _EMBEDDED).without_marks()
    comma = part.only_comma()
    if comma and part.words[comma + 1] == "and":
        part = part.without(comma)
    if POS.PUNCT in part.tags:
        return Unjoinable.SEVERAL_PARTS
    if find_connectives(part.words):
        return Unjoinable.CONNECTIVE
    if not part.is_known():
        return Unjoinable.UNKNOWN_WORD
    when = shipped_set("order words") | FOLLOWING | {"throughout", "whole"}
    if points_back(part) or presupposes(part) or not when.isdisjoint(part.words):
        return Unjoinable.REFERS
    if not HOW_SOON.isdisjoint(part.words[-1:]):  # it would go with what follows
        return Unjoinable.REFERS
    shape = part.shape()
    if shape in {Shape.UNCLEAR, Shape.PREDICATE}:
        return Unjoinable.FRAGMENT
    if not tells_of_sound(part):
        return Unjoinable.NO_SOUND
    forms = _forms(part, shape)
    if forms is None:
        return Unjoinable.VERB_FORM
    clause, gerund = (join(lower_opener(form, part.tokens)) for form in forms)
    return Phrase(Phrase.of_caption(caption).plain, gerund, clause, gerund)


def _forms(part: ClausePart, shape: Shape) -> tuple[tuple[Piece, ...], tuple[Piece, ...]] | None:
    """The caption as a clause, and as a gerund or a noun phrase.

    "Before" would go with the last of two clauses, so "rain falls and a dog barks" is "rain falls
    with a dog barking".
    """
    for at in range(len(part) - 2, 0, -1) if shape in _TOLD else ():
        listed = POS.CCONJ in part.tags[:at] or shape is Shape.GERUND_CLAUSE
        if listed and ends_as_gerund(part.words[at + 1]):
            continue  # "a motor hums, and ripping and tearing occur"
        if part.tags[at] is POS.CCONJ and part[:at].shape() is part[at + 1 :].shape() is shape:
            one, other = _forms(part[:at], shape), _forms(part[at + 1 :], shape)
            if one and other and "with" not in part.words[:at]:
                return (*one[0], "with", *other[1]), (*one[1], "with", *other[1])
    if shape is Shape.CLAUSE:
        gerund, verbs = to_gerund(part), part.finite_verbs()
        if any(part.tags[part.before(verb)] is not POS.CCONJ for verb in verbs[1:]):
            return None
        whole = gerund and ClausePart.parse(join(gerund), _EMBEDDED).shape()
        told = whole in {Shape.GERUND_CLAUSE, Shape.GERUND}
        return (to_simple(part), gerund) if gerund and told else None
    plural = is_plural(part)
    if shape is Shape.GERUND_CLAUSE and not part.is_of_a_sound():
        finite = to_finite(part, plural)
        return (finite, part.tokens) if finite else None
    if shape is Shape.GERUND and needs_doer(part):
        return None
    if plural is None:  # "claps and cheers from a crowd", but "the sound of horses and carts"
        first = next((at for at, tag in enumerate(part.tags) if tag in {POS.ADP, POS.CCONJ}), 0)
        attributive = part.tags[first - 1] is POS.VERB and part.tags[-2:] == (POS.VERB, POS.NOUN)
        if part.tags[first] is not POS.CCONJ or attributive:
            return None
    return (*part.tokens, "is heard" if plural is False else "are heard"), part.tokens
