"""What a part of a caption must not be, to stand first after a swap."""

from __future__ import annotations

from typing import Final

from synth.text.grammar.pos_lexicon import POS, possible_pos_tags
from synth.text.grammar.tokens import word_set
from synth.text.grammar.verb_forms import agent_verbs, is_past, lemma_of
from synth.text.order.clauses import ClausePart, Shape

_PERSONAL: Final = word_set("he her him himself it itself she that them themselves they")
_POSSESSIVE: Final = frozenset({"his", "her", "its", "their"})
_COMPARED: Final = word_set("bigger faster harder longer louder quieter shorter slower softer")
_GROWING: Final = word_set("become becomes becoming get gets getting grow growing grows")
_OF_NOUNS: Final = frozenset({"from", "in", "of", "on", "with"})
_SOUNDS: Final = frozenset({"noise", "noises", "sound", "sounds", "water"})


def is_loose(part: ClausePart) -> bool:
    """Whether a part is an adverbial or a bare participle: "in the distance", "flushed down"."""
    start = part.first_of_predicate()
    first = part[start : start + 1]
    participle = first.tags == (POS.VERB,) and is_past(first.words[0])
    return participle or (first.tags == (POS.ADP,) and part.shape() is not Shape.CLAUSE)


def may_lack_subject(part: ClausePart) -> bool:
    """Whether a gerund in front may be a doing of the other part's subject: "closing doors"."""
    start = part.first_of_predicate()
    if start + 1 < len(part) and part.is_attributive(start):
        return part.words[start + 1] not in _SOUNDS
    return part.shape() is Shape.GERUND


def reads_as_verb(part: ClausePart) -> bool:
    """Whether a noun in front may as well be a verb without a subject: "slams", "stops briefly"."""
    start = part.first_of_predicate()
    if part.tags[start : start + 1] != (POS.NOUN,):
        return False
    word, ahead = part.words[start], part[start + 1 : start + 2]
    if POS.VERB not in possible_pos_tags(word):
        return False
    led = ahead.tags in {(POS.ADV,), (POS.DET,), (POS.PRON,), (POS.ADP,)}
    alone = not ahead.tags or ahead.words[0] in {"and", *_OF_NOUNS}
    return (led and ahead.words[0] not in _OF_NOUNS) or (alone and lemma_of(word) in agent_verbs())


def compares(part: ClausePart) -> bool:
    """Whether "louder" is louder than what came before; "gets louder" is not."""
    return not _COMPARED.isdisjoint(part.words) and _GROWING.isdisjoint(part.words)


def points_back(part: ClausePart) -> bool:
    """Whether a pronoun may stand for something outside of the part."""
    named = False
    for index, (word, tag) in enumerate(zip(part.words, part.tags, strict=True)):
        ahead = part.tags[index + 1] if index + 1 < len(part) else POS.PUNCT
        if word in {"one", "ones"} and ahead not in {POS.NOUN, POS.ADJ}:
            return True
        if word in _PERSONAL and not (word in {"that", "her"} and named):
            return True
        if word in _POSSESSIVE and not named:
            return True
        named = named or tag in {POS.NOUN, POS.PROPN} or word in {"someone", "somebody"}
    return False
