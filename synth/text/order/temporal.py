"""Word probes on free captions: nouns and verbs only, before <-> after, as <-> then.

After "Audio-text models do not yet leverage natural language" (ACBA), section 3. What a text holds
besides the one word that is exchanged stays as it is; see `clause_swap` for the exchange of sides.
"""

from __future__ import annotations

from typing import Final

from synth.text.grammar.pos_lexicon import POS
from synth.text.grammar.tagger import EmbeddedTagger, Tagger
from synth.text.grammar.tokens import Piece, format_order, to_sentence, word_set
from synth.text.order.clause_forms import to_finite
from synth.text.order.clauses import ClausePart, Shape, is_plural
from synth.text.order.connectives import ConnectiveKind, ConnectiveMatch, find_connectives
from synth.text.order.outcome import Step, SwapOutcome, SwapReason

KEPT_TAGS: Final = frozenset({POS.NOUN, POS.PROPN, POS.VERB})
ORDER_WORDS: Final = word_set(
    "afterward afterwards end ending eventually finally first initially lastly later next second "
    "secondly subsequently third"
)
_ENDS: Final = frozenset({"end", "ending"})
GOES_ON: Final = word_set("continue continued continues continuing resume resumed resumes resuming")
_EMBEDDED: Final = EmbeddedTagger()
_OTHER_ORDER: Final = {
    ConnectiveKind.BEFORE: ConnectiveKind.AFTER,
    ConnectiveKind.AFTER: ConnectiveKind.BEFORE,
}
_GOVERNED: Final = frozenset({Shape.CLAUSE, Shape.GERUND_CLAUSE})


def keep_nouns_and_verbs(caption: str, tagger: Tagger = _EMBEDDED) -> SwapOutcome:
    """The nouns and verbs of a caption, in order (the paper's NV).

    Kept are NOUN, PROPN and VERB. Gerunds and participles are verbs, so they stay ("running
    water", "is followed"); a past participle right before its noun is an adjective and goes
    ("muffled speech"). Auxiliaries, "is" among them, pronouns and numbers go.
    """
    part = ClausePart.parse(caption, tagger)
    words = [token for token in part.tokens if token.word is not None]
    if not words:
        return SwapOutcome.omit(SwapReason.EMPTY)
    kept = [
        token
        for token, tag in zip(part.tokens, part.tags, strict=True)
        if tag in KEPT_TAGS and token.word is not None
    ]
    if not kept:
        return SwapOutcome.omit(SwapReason.NOTHING_LEFT)
    text = " ".join(token.text for token in kept)
    return SwapOutcome(text, steps=(Step.KEPT,), order=format_order(kept))


def swap_before_after(caption: str, tagger: Tagger = _EMBEDDED) -> SwapOutcome:
    """Exchange "before" and "after" (the paper's BAT).

    The caption must hold one of the two words, once; other connectives may stand beside it, for
    whatever they join, the one relation told by this word is turned round. All else stays byte for
    byte, so the swap undoes itself.
    """
    part = ClausePart.parse(caption, tagger)
    found, reason = _find_only(part, {ConnectiveKind.BEFORE, ConnectiveKind.AFTER})
    if found is None:
        return SwapOutcome.omit(reason)
    fault = found.fault or _explain_ungoverned(part, found)
    if fault:
        return SwapOutcome.omit(fault, found.kind)
    token = part.tokens[found.start]
    word = _match_case(_OTHER_ORDER[found.kind], like=token.text)
    text = caption[: token.start] + word + caption[token.start + len(token.text) :]
    pieces: list[Piece] = [*part.tokens]
    pieces[found.start] = word
    return SwapOutcome(text, None, found.kind, (Step.REPLACED,), format_order(pieces))


def swap_as_then(caption: str, tagger: Tagger = _EMBEDDED) -> SwapOutcome:
    """Exchange "as" and "then": at once for one after the other, and back.

    "A as B" is "A then B"; "A, and then B" is "A as B", where B is a clause. A gerund behind "then"
    is made finite ("then water running" is "as water runs"); a fronted "As A, B" is "A, then B".
    The caption must hold one of the two words, once, and no other connective but "followed by".
    """
    part = ClausePart.parse(caption, tagger)
    found, reason = _find_only(part, {ConnectiveKind.AS, ConnectiveKind.THEN})
    if found is None:
        return SwapOutcome.omit(reason)
    others = find_connectives(part.words)
    if any(other.kind not in {found.kind, ConnectiveKind.FOLLOWED_BY} for other in others):
        return SwapOutcome.omit(SwapReason.SEVERAL_CONNECTIVES, found.kind)
    if found.fault:
        return SwapOutcome.omit(found.fault, found.kind)
    if found.kind is ConnectiveKind.AS:
        return _as_to_then(part, found)
    return _then_to_as(part, found)


def _as_to_then(part: ClausePart, found: ConnectiveMatch) -> SwapOutcome:
    if found.start == 0:
        return _swap_fronted_as(part)
    behind = _first_stretch(part[found.end :])
    if behind.shape() not in _GOVERNED:
        return SwapOutcome.omit(SwapReason.NOT_A_CLAUSE, found.kind)
    if part[: found.start].without_marks().shape() is Shape.UNCLEAR:
        return SwapOutcome.omit(SwapReason.NOT_A_CLAUSE, found.kind)
    pieces: list[Piece] = [*part.tokens]
    pieces[found.start] = ConnectiveKind.THEN.value
    return _make_outcome(part, pieces, found, (Step.REPLACED,))


def _swap_fronted_as(part: ClausePart) -> SwapOutcome:
    """Make of "As A, B" the text "A, then B" where a single comma parts them."""
    commas = [index for index, word in enumerate(part.words) if word == ","]
    if len(commas) != 1:
        return SwapOutcome.omit(SwapReason.FRONTED, ConnectiveKind.AS)
    front, rear = part[1 : commas[0]], part[commas[0] + 1 :].without_marks()
    if {front.shape(), rear.shape()} != {Shape.CLAUSE} or rear.words[0] == "and":
        return SwapOutcome.omit(SwapReason.NOT_A_CLAUSE, ConnectiveKind.AS)
    if any(tag is POS.PRON for tag in front.tags):
        return SwapOutcome.omit(SwapReason.PRONOUN, ConnectiveKind.AS)
    pieces: tuple[Piece, ...] = (*front.tokens, ",", "then", *rear.tokens)
    return SwapOutcome(
        to_sentence(pieces, part.tokens),
        None,
        ConnectiveKind.AS,
        (Step.REPLACED,),
        format_order(pieces),
    )


def _then_to_as(part: ClausePart, found: ConnectiveMatch) -> SwapOutcome:
    start = found.start
    while start and part.words[start - 1] in {",", "and", "but"}:
        start -= 1
    front, rear = part[:start].without_marks(), part[found.end :].without_marks()
    behind = _first_stretch(rear)
    if not len(front):
        return SwapOutcome.omit(SwapReason.DANGLING, found.kind)
    if front.shape() is Shape.UNCLEAR:
        return SwapOutcome.omit(SwapReason.NOT_A_CLAUSE, found.kind)
    if "," in front.words:
        return SwapOutcome.omit(SwapReason.SEVERAL_PARTS, found.kind)
    if ORDER_WORDS & {*front.words, *rear.words}:
        return SwapOutcome.omit(SwapReason.ORDER_WORD, found.kind)
    shape = behind.shape()
    if shape in {Shape.PREDICATE, Shape.GERUND}:
        return SwapOutcome.omit(SwapReason.SHARED_SUBJECT, found.kind)
    if shape not in _GOVERNED:
        return SwapOutcome.omit(SwapReason.NOT_A_CLAUSE, found.kind)
    clause: tuple[Piece, ...] | None = behind.tokens
    steps: tuple[Step, ...] = (Step.REPLACED,)
    if shape is Shape.GERUND_CLAUSE:
        plural = is_plural(behind)
        clause = None if plural is None else to_finite(behind, plural)
        steps = (Step.REPLACED, Step.FINITE)
    if clause is None:
        return SwapOutcome.omit(SwapReason.VERB_FORM, found.kind)
    pieces: tuple[Piece, ...] = (
        *front.tokens,
        ConnectiveKind.AS.value,
        *clause,
        *rear.tokens[len(behind) :],
    )
    return _make_outcome(part, pieces, found, steps)


def _make_outcome(
    part: ClausePart,
    pieces: list[Piece] | tuple[Piece, ...],
    found: ConnectiveMatch,
    steps: tuple[Step, ...],
) -> SwapOutcome:
    return SwapOutcome(
        to_sentence(pieces, part.tokens), None, found.kind, steps, format_order(pieces)
    )


def _find_only(
    part: ClausePart, kinds: set[ConnectiveKind]
) -> tuple[ConnectiveMatch | None, SwapReason]:
    """The one connective of these kinds, or why there is no one."""
    if not any(token.word is not None for token in part.tokens):
        return None, SwapReason.EMPTY
    found = [each for each in find_connectives(part.words) if each.kind in kinds]
    if len(found) == 1:
        return found[0], SwapReason.EMPTY
    if not found:
        return None, SwapReason.NO_CONNECTIVE
    fixed = all(each.fault is SwapReason.FIXED_PHRASE for each in found)
    return None, SwapReason.FIXED_PHRASE if fixed else SwapReason.SEVERAL_CONNECTIVES


def _explain_ungoverned(part: ClausePart, found: ConnectiveMatch) -> SwapReason | None:
    """Why what stands behind "before" or "after" is not governed by it."""
    behind = _first_stretch(part[found.end :])
    if not GOES_ON.isdisjoint(behind.words):
        return SwapReason.REFERS_BACK
    if not _ENDS.isdisjoint(behind.words):
        return SwapReason.ORDER_WORD
    if behind.words[:1] == ("which",):
        return None
    if found.start == 0 and "," not in part.words:
        return SwapReason.FRONTED
    if behind.shape() in {Shape.PREDICATE, Shape.UNCLEAR}:
        return SwapReason.NOT_A_CLAUSE
    return None


def _first_stretch(part: ClausePart) -> ClausePart:
    """Up to the first comma or other connective."""
    ends = [index for index, tag in enumerate(part.tags) if tag is POS.PUNCT]
    ends += [found.start for found in find_connectives(part.words) if not found.fault]
    return part[: min(ends, default=len(part))]


def _match_case(word: str, like: str) -> str:
    if like.isupper():
        return word.upper()
    return word.capitalize() if like[:1].isupper() else str(word)
