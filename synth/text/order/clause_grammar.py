"""What a caption's phrases look like, word class by word class, from end to end.

A stretch of words counts as a phrase or clause only if every word has its place in one: so past
tenses and reduced passives ("recorded before sunrise"), orders ("use it as"), asides and whatever
the tagger does not know are left alone, and need not be listed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from synth.text.grammar.pos_lexicon import POS, ends_as_gerund
from synth.text.grammar.tokens import word_set
from synth.text.grammar.verb_forms import is_past


class Shape(StrEnum):
    """What a stretch of words is."""

    CLAUSE = "a man speaks"
    PREDICATE = "speaks"
    GERUND_CLAUSE = "a man speaking"
    GERUND = "speaking"
    NOUN_PHRASE = "speech"
    UNCLEAR = ""


_OTHER: Final = "x"
_CODES: Final = {
    POS.NOUN: "n",
    POS.PROPN: "n",
    POS.ADJ: "j",
    POS.ADV: "r",
    POS.ADP: "i",
    POS.DET: "d",
    POS.NUM: "d",
    POS.CCONJ: "c",
}
_BE: Final = frozenset({"is", "are"})
_INDEFINITE: Final = word_set("another everyone everything other others somebody someone something")
_POSSESSIVE: Final = word_set("her his its their")
_COMPLEX: Final = word_set(
    "accompanied but either followed my neither nor not or our preceded proceeded than though what "
    "whether which whose yet your"
)

# n noun, d determiner, j adjective, g gerund, e participle, v finite verb, b is/are, r adverb,
# i preposition, c and, t to, p someone
_QUALITY: Final = "(?:r*[jeg](?:c?r*[jeg])*)?"
_NAME: Final = f"(?:d*r?d*{_QUALITY}n+|p|d*(?:r*j)*g+)"
_NOUNS: Final = f"{_NAME}(?:i+{_NAME})*(?:c{_NAME}(?:i+{_NAME})*)*"
_REST: Final = "(?:[rijgdnpec]|tv)*"
_SAID: Final = f"r*(?:v|br*[gei]|br*j)(?:tv)?{_REST}"
_DONE: Final = f"r*(?:g|bg|be)(?:tv)?{_REST}"
_FORMS: Final = {
    Shape.CLAUSE: re.compile(rf"r*{_NOUNS}(?:i|r)*{_SAID}(?:c(?:{_NOUNS})?{_SAID})*"),
    Shape.PREDICATE: re.compile(rf"{_SAID}(?:c{_SAID})*"),
    Shape.GERUND_CLAUSE: re.compile(rf"r*{_NOUNS}{_DONE}"),
    Shape.GERUND: re.compile(_DONE),
    Shape.NOUN_PHRASE: re.compile(rf"r*{_NOUNS}r*(?:i+{_NAME}r*)*"),
}

# "And", or a quality behind its article, without what it belongs to.
_CUT_SHORT: Final = re.compile(r"c$|dr*j+(?:[ivb]|c[dnp]|$)")
# A second clause that none of the words before it joins: "a woman speaking a baby crying",
# "someone sneezes and a baby talking", "a man sits and talking", "a dog barks and a horn".
_LOOSE: Final = {
    Shape.CLAUSE: re.compile(r"[vb][^i]*c[dj]*n+r*g|v[^ibgc]*cr*g(?!r*[vb])|[vr]cr*[dj]*n+r*$"),
    Shape.GERUND_CLAUSE: re.compile(r"[np]r*gr*[dj]*n+r*g"),
}


def fits(shape: Shape, words: Sequence[str], tags: Sequence[POS]) -> bool:
    """Whether words with these tags are a whole phrase of that shape."""
    form = _FORMS.get(shape)
    codes = "".join(_code(words, tags, index) for index in range(len(words)))
    if form is None or form.fullmatch(codes) is None or _CUT_SHORT.search(codes):
        return False
    return shape not in _LOOSE or _LOOSE[shape].search(codes) is None


def _code(words: Sequence[str], tags: Sequence[POS], index: int) -> str:
    word, tag = words[index], tags[index]
    if word in _COMPLEX:
        return _OTHER
    if word == "to":
        verb = tags[index + 1 : index + 2] == (POS.VERB,)
        return "t" if verb and not ends_as_gerund(words[index + 1]) else "i"
    if word in _BE:
        return "b"
    if word == "being":
        return "g"
    if word in _INDEFINITE:
        return "p" if tag is POS.PRON else "d"
    if word in _POSSESSIVE:
        return "d"
    if tag is POS.VERB:
        passive = index > 0 and words[index - 1] in {"being", *_BE}
        return "g" if ends_as_gerund(word) else "e" if passive or is_past(word) else "v"
    return _CODES.get(tag, _OTHER)
