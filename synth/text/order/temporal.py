"""Word probes on free captions: nouns and verbs only, before <-> after, as <-> then.

After "Audio-text models do not yet leverage natural language" (ACBA), section 3. What a text holds
besides the one word that is exchanged stays as it is; see `clause_swap` for the exchange of sides.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Final

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
    to_sentence,
    word_set,
)
from synth.text.order.clause_tests import (
    FOLLOWING,
    are_labels,
    explain_no_events,
    explain_unreadable,
    is_a_stage,
    is_heard,
    is_one_event,
    points_back,
    presupposes,
    tells_of_sound,
    to_finite,
    to_gerund,
    to_simple,
)
from synth.text.order.clauses import ClausePart, Shape, is_plural, needs_doer
from synth.text.order.connectives import (
    ConnectiveMatch,
    OrderStep,
    SwapOutcome,
    SwapReason,
    find_connectives,
)

KEPT_TAGS: Final = frozenset({POS.NOUN, POS.PROPN, POS.VERB})
ORDER_WORDS: Final = word_set(
    "afterward afterwards concurrently end ending eventually finally first initially lastly later "
    "next second secondly simultaneously subsequently third"
)
_EMBEDDED: Final = EmbeddedTagger()
_OTHER_ORDER: Final = {
    Connective.BEFORE: Connective.AFTER,
    Connective.AFTER: Connective.BEFORE,
}
_TOLD: Final = frozenset({Shape.CLAUSE, Shape.GERUND_CLAUSE})
_WHEN: Final = ORDER_WORDS | FOLLOWING | {"throughout", "whole"}
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
    part = ClausePart.parse(caption, tagger)
    connective, reason = _find_only(part, {Connective.BEFORE, Connective.AFTER})
    if connective is None:
        return SwapOutcome.omit(reason)
    fault = (
        connective.fault
        or explain_unreadable(caption, part)
        or _explain_not_ordered(part, connective)
    )
    if fault:
        return SwapOutcome.omit(fault, connective.kind)
    token = part.tokens[connective.start]
    word = _match_case(_OTHER_ORDER[connective.kind], like=token.text)
    text = caption[: token.start] + word + caption[token.start + len(token.text) :]
    pieces: list[Piece] = [*part.tokens]
    pieces[connective.start] = word
    return SwapOutcome(text, None, connective.kind, (OrderStep.REPLACED,), format_order(pieces))


def swap_as_then(caption: str, tagger: Tagger = _EMBEDDED) -> SwapOutcome:
    """Exchange "as" and "then": at once for one after the other, and back.

    "A as B" is "A then B"; "A, and then B" is "A as B", where B is a clause. A gerund behind "then"
    is made finite ("then water running" is "as water runs"), and back behind a gerund or a noun; a
    fronted "As A, B" is "A, then B". The caption must hold one of the two words, once, and no other
    connective.
    """
    part = ClausePart.parse(caption, tagger)
    connective, reason = _find_only(part, {Connective.AS, Connective.THEN})
    if connective is None:
        return SwapOutcome.omit(reason)
    if len(find_connectives(part.words)) > 1:
        return SwapOutcome.omit(SwapReason.SEVERAL_CONNECTIVES, connective.kind)
    fault = connective.fault or explain_unreadable(caption, part)
    if fault:
        return SwapOutcome.omit(fault, connective.kind)
    if connective.kind is Connective.AS:
        return _as_to_then(part, connective)
    return _then_to_as(part, connective)


def _as_to_then(part: ClausePart, found: ConnectiveMatch) -> SwapOutcome:
    if found.start == 0:
        return _swap_fronted_as(part, found)
    front, rear = part[: found.start], part[found.end :].without_marks()
    comma = front.words[-1:] == (",",)
    front = front.without_marks()
    fault = _explain_not_joined(front, rear, found.kind)
    if fault:
        return SwapOutcome.omit(fault, found.kind)
    clause: tuple[Piece, ...] = rear.tokens
    steps: tuple[OrderStep, ...] = (OrderStep.REPLACED,)
    if front.shape() is not Shape.CLAUSE and rear.is_under_way():
        comma = True
    elif front.shape() is not Shape.CLAUSE:
        gerund = to_gerund(rear)
        if gerund is None:
            return SwapOutcome.omit(SwapReason.VERB_FORM, found.kind)
        clause, steps = gerund, (OrderStep.REPLACED, OrderStep.GERUND)
    marks: tuple[Piece, ...] = (",",) if comma else ()
    pieces = (*front.tokens, *marks, Connective.THEN.value, *clause)
    return _make_outcome(part, pieces, found, steps)


def _swap_fronted_as(part: ClausePart, found: ConnectiveMatch) -> SwapOutcome:
    """Make of "As A, B" the text "A, then B" where a single comma parts them."""
    comma = part.only_comma()
    if comma is None:
        return SwapOutcome.omit(SwapReason.FRONTED, Connective.AS)
    front, rear = part[1:comma], part[comma + 1 :].without_marks()
    if POS.PRON in front.tags:
        return SwapOutcome.omit(SwapReason.PRONOUN, Connective.AS)
    fault = _explain_not_joined(rear, front, found.kind)
    if fault or rear.shape() is not Shape.CLAUSE:
        return SwapOutcome.omit(fault or SwapReason.NOT_A_CLAUSE, Connective.AS)
    pieces: tuple[Piece, ...] = (*front.tokens, ",", "then", *rear.tokens)
    return _make_outcome(part, pieces, found, (OrderStep.REPLACED,))


def _then_to_as(part: ClausePart, found: ConnectiveMatch) -> SwapOutcome:
    start = found.start
    while start and part.words[start - 1] in {",", "and", "but"}:
        start -= 1
    front, rear = part[:start].without_marks(), part[found.end :].without_marks()
    if not len(front):
        return SwapOutcome.omit(SwapReason.DANGLING, found.kind)
    if rear.shape() in {Shape.PREDICATE, Shape.GERUND}:
        return SwapOutcome.omit(SwapReason.SHARED_SUBJECT, found.kind)
    if fault := _explain_not_joined(front, rear, found.kind):
        return SwapOutcome.omit(fault, found.kind)
    clause: tuple[Piece, ...] | None = rear.tokens
    steps: tuple[OrderStep, ...] = (OrderStep.REPLACED,)
    if rear.shape() is Shape.GERUND_CLAUSE:
        plural = is_plural(rear)
        clause = None if plural is None else to_finite(rear, plural)
        steps = (OrderStep.REPLACED, OrderStep.FINITE)
    if clause is None:
        return SwapOutcome.omit(SwapReason.VERB_FORM, found.kind)
    pieces: tuple[Piece, ...] = (*front.tokens, Connective.AS.value, *clause)
    return _make_outcome(part, pieces, found, steps)


def _explain_not_joined(front: ClausePart, rear: ClausePart, kind: Connective) -> SwapReason | None:
    """Why "as" or "then" does not join two events, each told whole, of which neither is why."""
    if POS.PUNCT in front.tags or POS.PUNCT in rear.tags:
        return SwapReason.SEVERAL_PARTS
    if ORDER_WORDS & {*front.words, *rear.words}:
        return SwapReason.ORDER_WORD
    if rear.tags[:1] == (POS.ADV,):
        return SwapReason.ADVERBIAL
    if points_back(rear):
        return SwapReason.PRONOUN
    governed = {Shape.CLAUSE} if kind is Connective.AS else _TOLD
    if rear.shape() not in governed or front.shape() in {Shape.UNCLEAR, Shape.PREDICATE}:
        return SwapReason.NOT_A_CLAUSE
    if presupposes(rear):
        return SwapReason.REFERS_BACK
    if fault := explain_no_events(front, rear, kind):
        return fault
    return SwapReason.ONE_EVENT if is_one_event(front, rear) else None


def _make_outcome(
    part: ClausePart,
    pieces: list[Piece] | tuple[Piece, ...],
    found: ConnectiveMatch,
    steps: tuple[OrderStep, ...],
) -> SwapOutcome:
    text = to_sentence(pieces, part.tokens)
    return SwapOutcome(text, None, found.kind, steps, format_order(pieces))


def _find_only(
    part: ClausePart, kinds: set[Connective]
) -> tuple[ConnectiveMatch | None, SwapReason]:
    """The one connective of these kinds, or why there is no one."""
    if not any(token.word is not None for token in part.tokens):
        return None, SwapReason.EMPTY
    connectives = [match for match in find_connectives(part.words) if match.kind in kinds]
    if len(connectives) == 1:
        return connectives[0], SwapReason.EMPTY
    if not connectives:
        return None, SwapReason.NO_CONNECTIVE
    fixed = all(match.fault is SwapReason.FIXED_PHRASE for match in connectives)
    return None, SwapReason.FIXED_PHRASE if fixed else SwapReason.SEVERAL_CONNECTIVES


def _explain_not_ordered(part: ClausePart, found: ConnectiveMatch) -> SwapReason | None:
    """Why what stands before and behind "before" or "after" are not two events in that order."""
    if len(find_connectives(part.words)) > 1:
        return SwapReason.SEVERAL_CONNECTIVES
    if found.start == 0:
        comma = part.only_comma()
        if comma is None:
            return SwapReason.FRONTED
        front, rear = part[comma + 1 :].without_marks(), part[1:comma]
    else:
        end = found.start - (part.words[found.start - 1] in HOW_SOON)
        front, rear = part[:end].without_marks(), part[found.end :].without_marks()
    if POS.PUNCT in front.tags or POS.PUNCT in rear.tags:
        return SwapReason.SEVERAL_PARTS
    if ORDER_WORDS & {*front.words, *rear.words}:
        return SwapReason.ORDER_WORD
    if presupposes(rear):
        return SwapReason.REFERS_BACK
    if points_back(rear):
        return SwapReason.PRONOUN
    outer, inner = front.shape(), rear.shape()
    if Shape.UNCLEAR in {outer, inner} or Shape.PREDICATE in {outer, inner}:
        return SwapReason.NOT_A_CLAUSE
    if found.start == 0 and outer is not Shape.CLAUSE:
        return SwapReason.FRONTED
    if inner is Shape.GERUND_CLAUSE and outer is Shape.CLAUSE:
        return SwapReason.NOT_A_CLAUSE
    if not (is_heard(rear) or are_labels(front, rear)):
        return SwapReason.NO_SOUND
    if inner is Shape.GERUND and outer is Shape.NOUN_PHRASE and needs_doer(rear):
        return SwapReason.SHARED_SUBJECT
    if inner is Shape.GERUND and (is_a_stage(rear) or is_a_stage(front)):
        return SwapReason.ONE_EVENT
    return explain_no_events(front, rear, found.kind)


def _match_case(word: str, like: str) -> str:
    if like.isupper():
        return word.upper()
    return word.capitalize() if like[:1].isupper() else str(word)


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
    if points_back(part) or presupposes(part) or _tells_when(part):
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


def _tells_when(part: ClausePart) -> bool:
    """Whether a word of order is in it, or one at its end that would go with what follows."""
    told = not _WHEN.isdisjoint(part.words)
    return told or not HOW_SOON.isdisjoint(part.words[-1:])


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
        finite = None if plural is None else to_finite(part, plural)
        return (finite, part.tokens) if finite else None
    if shape is Shape.GERUND and needs_doer(part):
        return None
    if plural is None:  # "claps and cheers from a crowd", but "the sound of horses and carts"
        first = next((at for at, tag in enumerate(part.tags) if tag in {POS.ADP, POS.CCONJ}), 0)
        attributive = part.tags[first - 1] is POS.VERB and part.tags[-2:] == (POS.VERB, POS.NOUN)
        if part.tags[first] is not POS.CCONJ or attributive:
            return None
    return (*part.tokens, "is heard" if plural is False else "are heard"), part.tokens
