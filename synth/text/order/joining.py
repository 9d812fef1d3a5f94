"""A whole caption as a part of a longer sentence: as a clause, and as what "followed by" takes."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Final

from synth.labels.lexicon import Phrase
from synth.text.grammar.pos_lexicon import POS
from synth.text.grammar.prose import is_one_sentence
from synth.text.grammar.tagger import EmbeddedTagger
from synth.text.grammar.tokens import Piece, join, lower_opener
from synth.text.order.clause_forms import to_finite, to_gerund, to_simple
from synth.text.order.clause_grammar import Shape
from synth.text.order.clause_tests import points_back, presupposes, reads_as_verb, tells_of_sound
from synth.text.order.clauses import ClausePart, is_plural, needs_doer
from synth.text.order.connectives import find_connectives
from synth.text.order.temporal import HOW_SOON, ORDER_WORDS

_TAGGER: Final = EmbeddedTagger()


class Unjoinable(StrEnum):
    """Why a caption cannot be a part of a longer sentence."""

    NOT_A_SENTENCE = "is not one sentence in plain words"
    SEVERAL_PARTS = "is parted by commas"
    CONNECTIVE = "relates sounds itself, by 'as', 'while' or a word of order"
    UNKNOWN_WORD = "has a word that is not known"
    FRAGMENT = "is neither a clause nor a noun phrase"
    REFERS = "refers to something outside of it"
    VERB_FORM = "has a verb whose other form is not known"
    NO_SOUND = "names nothing that is heard"


@lru_cache(maxsize=65_536)
def say_caption(caption: str) -> Phrase | Unjoinable:
    """The forms of a caption inside a sentence, or why it has none.

    "A man talks." is "a man talks" and, behind "followed by", "a man talking"; "Loud music" is
    "loud music", and as a clause "loud music is heard". Names keep their capitals.
    """
    if not is_one_sentence(caption):
        return Unjoinable.NOT_A_SENTENCE
    part = ClausePart.parse(caption, _TAGGER).without_marks()
    if POS.PUNCT in part.tags:
        return Unjoinable.SEVERAL_PARTS
    if find_connectives(part.words):
        return Unjoinable.CONNECTIVE
    if not part.is_known():
        return Unjoinable.UNKNOWN_WORD
    if points_back(part) or presupposes(part) or _tells_when(part):
        return Unjoinable.REFERS
    shape = part.shape()
    if shape in {Shape.UNCLEAR, Shape.PREDICATE} or reads_as_verb(part):
        return Unjoinable.FRAGMENT
    if not tells_of_sound(part):
        return Unjoinable.NO_SOUND
    forms = _forms(part, shape)
    if forms is None:
        return Unjoinable.VERB_FORM
    clause, gerund = (join(lower_opener(form, part.tokens)) for form in forms)
    made, wanted = (
        (gerund, Shape.GERUND_CLAUSE) if shape is Shape.CLAUSE else (clause, Shape.CLAUSE)
    )
    if not made.endswith(" heard") and ClausePart.parse(made, _TAGGER).shape() is not wanted:
        return Unjoinable.VERB_FORM
    return Phrase(Phrase.of_caption(caption).plain, gerund, clause, gerund)


def _tells_when(part: ClausePart) -> bool:
    """Whether a word of order is in it, or one at its end that would go with what follows."""
    return not ORDER_WORDS.isdisjoint(part.words) or not HOW_SOON.isdisjoint(part.words[-1:])


def _forms(part: ClausePart, shape: Shape) -> tuple[tuple[Piece, ...], tuple[Piece, ...]] | None:
    """The caption as a clause, and as a gerund or a noun phrase."""
    if shape is Shape.CLAUSE:
        gerund = to_gerund(part)
        return None if gerund is None else (to_simple(part), gerund)
    plural = is_plural(part)
    if shape is Shape.GERUND_CLAUSE and not part.is_of_a_sound():
        finite = None if plural is None else to_finite(part, plural)
        return None if finite is None else (finite, part.tokens)
    if shape is Shape.GERUND and needs_doer(part):
        return None
    if plural is None:  # "claps and cheers from a crowd", but "the sound of horses and carts"
        first = next((at for at, tag in enumerate(part.tags) if tag in {POS.ADP, POS.CCONJ}), 0)
        attributive = part.tags[first - 1] is POS.VERB and part.tags[-2:] == (POS.VERB, POS.NOUN)
        if part.tags[first] is not POS.CCONJ or attributive:
            return None
    return (*part.tokens, "is heard" if plural is False else "are heard"), part.tokens
