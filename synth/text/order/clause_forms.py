"""Clauses with their verbs in another form: finite ones as gerunds, and back."""

from __future__ import annotations

from typing import Final

from synth.text.grammar.pos_lexicon import POS, ends_as_gerund
from synth.text.grammar.tokens import Piece, word_set
from synth.text.grammar.verb_forms import inflect, lemma_of
from synth.text.order.clauses import FINITE_AUX, ClausePart

_BEFORE_GERUND: Final = word_set("begin come continue go keep start stop")
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


def to_finite(part: ClausePart, plural: bool) -> tuple[Piece, ...] | None:
    """A gerund clause with finite verbs: "a man talking" is "a man talks"; None if unclear."""
    core = part.core()
    if core.is_of_a_sound():
        return None
    pieces: list[Piece] = []
    started = False
    for index, token in enumerate(part.tokens):
        is_core = index < len(core)
        if not (is_core and core.is_gerund(index)):
            pieces.append(token)
            continue
        joined = index and core.tags[index - 1] is POS.CCONJ
        if started and not joined:
            pieces.append(token)
            continue
        if token.lower == "being" or (not started and not core.has_subject(index) and index):
            return None
        started = True
        if part.tags[index + 1 : index + 2] == (POS.NOUN,):
            return None  # "a train crossing alarm"
        made = inflect(token.lower, "VBP" if plural else "VBZ")
        if not made:
            return None
        pieces.append(made)
    return tuple(pieces) if started else None


def to_simple(part: ClausePart) -> tuple[Piece, ...]:
    """A clause without progressive forms, as behind "before": "is talking" is "talks".

    As it is where a form is unclear: "is idling and being revved".
    """
    pieces: list[Piece] = []
    finite = part.finite_verbs()
    number = ""
    for index, token in enumerate(part.tokens):
        joined = index > 0 and part.tags[index - 1] is POS.CCONJ and index + 1 not in finite
        if token.lower in _PRESENT and part.is_progressive(index):
            number = _PRESENT[token.lower]
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
    if part.tags[index] is POS.VERB and word not in FINITE_AUX:
        ahead = part.words[index + 1] if index + 1 < len(part) else ""
        if ends_as_gerund(ahead) and lemma_of(word) not in _BEFORE_GERUND:
            return None
        return inflect(word, "VBG") or None
    if word not in BE:
        return None
    behind = index + 1
    while behind < len(part) and part.tags[behind] is POS.ADV:
        behind += 1
    if behind >= len(part) or part.tags[behind] not in {POS.VERB, POS.AUX}:
        return None
    return "" if ends_as_gerund(part.words[behind]) else "being"
