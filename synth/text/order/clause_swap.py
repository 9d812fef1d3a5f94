"""The two sides of before, after, then and followed by, exchanged (the paper's PTe, swapped).

"A goose honks before a gate shuts" is "A gate shuts before a goose honks". The
connective stays where it is, with its comma, its "and" and its adverb ("and then suddenly").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

from synth.base.errors import SpecError
from synth.base.rng import Randomness
from synth.base.shipped import shipped_set
from synth.labels.connective import ORDER, Connective
from synth.text.grammar.tagger import (
    POS,
    EmbeddedTagger,
    Tagger,
    ends_as_gerund,
    ends_as_third_person,
)
from synth.text.grammar.tokens import STOPS, Piece, word_set
from synth.text.order.clauses import ClausePart, Shape, is_doing, is_plural, needs_doer
from synth.text.order.connectives import (
    BE,
    ConnectiveMatch,
    OrderStep,
    SwapOutcome,
    SwapReason,
    are_labels,
    find_connectives,
    is_a_stage,
    is_heard,
    may_lack_subject,
    omit_if,
    omit_no_events,
    points_back,
    presupposes,
    require,
    rewrite,
    split_fronted,
    to_finite,
    to_gerund,
    to_outcome,
    to_simple,
)
from synth.text.order.temporal import (
    keep_nouns_and_verbs,
    swap_as_then,
    swap_before_after,
)

_EMBEDDED: Final = EmbeddedTagger()
_TIMES: Final = frozenset({Connective.BEFORE, Connective.AFTER})
_OPENERS: Final = word_set("begin beginning begins start starting starts")
_LEADS: Final = {
    Connective.BEFORE: frozenset({",", "and", "immediately", "just", "right", "shortly", "soon"}),
    Connective.AFTER: frozenset({",", "and", "immediately", "just", "right", "shortly", "soon"}),
    Connective.THEN: frozenset({",", "and", "but"}),
    Connective.FOLLOWED_BY: frozenset(
        {",", "and", "closely", "immediately", "quickly", "shortly", "soon", "suddenly", "then"}
    ),
}
_THEN_LEADS: Final = frozenset({"immediately", "quickly", "shortly", "suddenly"})
_PHRASES: Final = frozenset({Shape.NOUN_PHRASE, Shape.GERUND_CLAUSE, Shape.GERUND})
_WITH_SUBJECT: Final = frozenset({Shape.CLAUSE, Shape.GERUND_CLAUSE})
_SHARED: Final = frozenset({"is", "are", "being"})
_SUBJECTLESS: Final = frozenset({Shape.PREDICATE, Shape.GERUND})


@dataclass(frozen=True, slots=True)
class _Sides:
    """A caption cut at its connective and what goes with it, the link."""

    front: ClausePart
    link: ClausePart
    rear: ClausePart
    kind: Connective


_Made = tuple[tuple[Piece, ...], tuple[OrderStep, ...]]


def swap_clauses(caption: str, tagger: Tagger = _EMBEDDED) -> SwapOutcome:
    """Exchange the two sides of the one ordering connective of a caption.

    "as" and "while" order nothing and stay within their side. Two ordering connectives, and commas
    inside a side, are left out: what each joins is unclear.
    """
    return rewrite(caption, tagger, _find_only, _exchange_sides)


def _find_only(part: ClausePart) -> ConnectiveMatch:
    connectives = [match for match in find_connectives(part.words) if match.kind in ORDER]
    if (
        len(connectives) == 2
        and connectives[0].kind is Connective.THEN
        and connectives[0].end == connectives[1].start
    ):
        connectives = connectives[1:]
    omit_if(not connectives, SwapReason.NO_CONNECTIVE)
    omit_if(len(connectives) > 1, SwapReason.SEVERAL_CONNECTIVES)
    return connectives[0]


def _exchange_sides(part: ClausePart, only: ConnectiveMatch) -> SwapOutcome:
    pieces, steps = _swap_fronted(part, only) if only.start == 0 else _swap(_cut(part, only))
    return to_outcome(part, pieces, only, OrderStep.SWAPPED, *steps)


def _cut(part: ClausePart, match: ConnectiveMatch) -> _Sides:
    start, end = match.start, match.end
    words = part.words
    if match.kind is Connective.FOLLOWED_BY and words[start - 1] in BE:
        start -= 1
    while start and words[start - 1] in _LEADS[match.kind]:
        start -= 1
        if words[start] == ",":
            break
    if words[end : end + 1] == ("which",):
        end += 1
    if match.kind is Connective.THEN:
        while end < len(words) and words[end] in _THEN_LEADS:
            end += 1
    rear = part[end:]
    while len(rear) and rear.tokens[-1].text in STOPS:
        rear = rear[: len(rear) - 1]
    return _Sides(part[:start], part[start:end], rear, match.kind)


def _swap(sides: _Sides) -> _Made:
    front, rear = sides.front, sides.rear
    omit_if(not any(token.word is not None for token in front.tokens), SwapReason.DANGLING)
    omit_if(POS.PUNCT in (*front.tags, *rear.tags), SwapReason.SEVERAL_PARTS)
    is_told = front.words[-2:] == ("same", "time") or front.words[0] in _OPENERS
    omit_if(
        is_told or shipped_set("order words") & {*front.words, *rear.words}, SwapReason.ORDER_WORD
    )
    omit_if(points_back(rear), SwapReason.PRONOUN)
    omit_if(presupposes(rear) or "do so" in " ".join(front.words), SwapReason.REFERS_BACK)
    if made := _share_auxiliary(sides):
        return made
    omit_if(Shape.UNCLEAR in {front.shape(), rear.shape()}, SwapReason.NOT_A_CLAUSE)
    omit_if({"as", "while"}.intersection(rear.words), SwapReason.SEVERAL_CONNECTIVES)
    omit_no_events(front, rear, sides.kind)
    if sides.kind is Connective.FOLLOWED_BY:
        return _swap_around_followed_by(sides)
    if rear.shape() in _SUBJECTLESS and is_doing(rear):
        return _carry_subject(sides)
    omit_if(Shape.PREDICATE in {rear.shape(), front.shape()}, SwapReason.SHARED_SUBJECT)
    if front.shape() in _WITH_SUBJECT:
        omit_if(may_lack_subject(rear, front.is_under_way()), SwapReason.SHARED_SUBJECT)
    link = sides.link.words
    if sides.kind in _TIMES:
        are_heard = are_labels(front, rear) or (is_heard(front) and is_heard(rear))
        omit_if(not are_heard, SwapReason.NO_SOUND)
        omit_if("which" not in link and {",", "and"} & {*link}, SwapReason.FRONTED)
    if "which" in link:
        omit_if({front.shape(), rear.shape()} != {Shape.CLAUSE}, SwapReason.NOT_A_CLAUSE)
    if rear.shape() is Shape.CLAUSE and front.shape() is Shape.GERUND_CLAUSE:
        finite = require(to_finite(front, is_plural(front)), SwapReason.VERB_FORM)
        return (*rear.tokens, *sides.link.tokens, *finite), (OrderStep.FINITE,)
    head = to_simple(front) if sides.kind in _TIMES else front.tokens
    return (*rear.tokens, *sides.link.tokens, *head), ()


def _share_auxiliary(sides: _Sides) -> _Made | None:
    """What is said behind one "is" or "being" is exchanged: "a door is opened and then shut".

    None where the sides do not share one.
    """
    front, rear = sides.front, sides.rear
    verbs = front.finite_verbs() or front.gerunds_with_subject()
    if sides.kind is not Connective.THEN or len(verbs) != 1 or front.words[verbs[0]] not in _SHARED:
        return None
    end = verbs[0] + 1 + (front.words[verbs[0] + 1 : verbs[0] + 2] == ("being",))
    tail = front[end:]
    if not len(tail) or not len(rear) or front.shape() not in _WITH_SUBJECT or rear != rear.core():
        return None
    first = rear.after(-1)
    same = ends_as_gerund(tail.words[tail.after(-1)]) is ends_as_gerund(rear.words[first])
    does = rear.tags[first] is POS.VERB and not ends_as_third_person(rear.words[first])
    whole = ClausePart((front.tokens[verbs[0]], *rear.tokens), (POS.AUX, *rear.tags)).shape()
    if not (same and does) or rear.is_attributive(first) or whole not in _SUBJECTLESS:
        return None
    omit_if(is_a_stage(front) or is_a_stage(rear), SwapReason.ONE_EVENT)
    omit_no_events(front, rear)
    pieces = (*front.tokens[:end], *rear.tokens, *sides.link.tokens, *tail.tokens)
    return pieces, (OrderStep.CARRIED,)


def _swap_around_followed_by(sides: _Sides) -> _Made:
    """Noun phrases and gerunds stand on both sides of "followed by"; a clause must become one."""
    front, rear, link = sides.front, sides.rear, sides.link
    omit_if(rear.shape() not in _PHRASES or "and" in link.words, SwapReason.NOT_A_CLAUSE)
    omit_if(rear.shape() is Shape.GERUND and needs_doer(rear), SwapReason.SHARED_SUBJECT)
    if BE & {*link.words}:
        return _swap_around_is_followed_by(sides)
    if front.shape() in _PHRASES:
        return (*rear.tokens, *link.tokens, *front.tokens), ()
    is_whole = front.shape() is Shape.CLAUSE and front.words[-1] not in {"being", "been"}
    omit_if(not is_whole, SwapReason.NOT_A_CLAUSE)
    gerund = require(to_gerund(front), SwapReason.VERB_FORM)
    return (*rear.tokens, *link.tokens, *gerund), (OrderStep.GERUND,)


def _swap_around_is_followed_by(sides: _Sides) -> _Made:
    omit_if(sides.front.shape() not in _PHRASES, SwapReason.NOT_A_CLAUSE)
    plural = is_plural(sides.rear)
    omit_if(plural is None, SwapReason.VERB_FORM)
    be = next(word for word in sides.link.words if word in BE)
    agreed = {"is": "are", "was": "were"} if plural else {"are": "is", "were": "was"}
    if be not in agreed:
        return (*sides.rear.tokens, *sides.link.tokens, *sides.front.tokens), ()
    link = (agreed[be] if token.lower == be else token for token in sides.link.tokens)
    return (*sides.rear.tokens, *link, *sides.front.tokens), (OrderStep.AGREED,)


def _carry_subject(sides: _Sides) -> _Made:
    """The subject stays in front, and what is said of it is exchanged.

    "A man speaks then laughs" is "A man laughs then speaks"; "A man speaks before laughing" is
    "A man laughs before speaking".
    """
    front, rear = sides.front, sides.rear
    is_joined = len(rear.core()) < len(rear) or rear.has_a_noun_joined()
    omit_if(is_joined, SwapReason.SHARED_SUBJECT)
    is_one = is_a_stage(front) or is_a_stage(rear) or "accompanied" in rear.words
    omit_if(is_one, SwapReason.ONE_EVENT)
    split = require(_end_of_subject(front), SwapReason.SHARED_SUBJECT)
    subject, predicate = front[:split], front[split:]
    steps = (OrderStep.CARRIED,)
    if front.shape() is Shape.GERUND_CLAUSE and rear.shape() is Shape.GERUND:
        return (*subject.tokens, *rear.tokens, *sides.link.tokens, *predicate.tokens), steps
    omit_if(front.shape() is not Shape.CLAUSE, SwapReason.SHARED_SUBJECT)
    verb = predicate.words[predicate.finite_verbs()[0]]
    third = ends_as_third_person(verb) and verb != "was"
    if rear.shape() is Shape.PREDICATE:
        agrees = ends_as_third_person(rear.words[rear.finite_verbs()[0]]) is third
        omit_if(not agrees, SwapReason.SHARED_SUBJECT)
        omit_if(verb in BE and POS.AUX not in rear.tags, SwapReason.VERB_FORM)
        return (*subject.tokens, *rear.tokens, *sides.link.tokens, *predicate.tokens), steps
    omit_if(sides.kind is Connective.THEN, SwapReason.SHARED_SUBJECT)
    gerund = require(to_gerund(predicate), SwapReason.VERB_FORM)
    finite = require(to_finite(rear, plural=not third), SwapReason.VERB_FORM)
    pieces = (*subject.tokens, *finite, *sides.link.tokens, *gerund)
    return pieces, (*steps, OrderStep.GERUND, OrderStep.FINITE)


def _end_of_subject(part: ClausePart) -> int | None:
    """Index past the subject of a part that has one subject; None where it may have two."""
    if len(part.core()) < len(part):
        return None
    shape = part.shape()
    verbs = part.finite_verbs() if shape is Shape.CLAUSE else part.gerunds_with_subject()
    if not verbs:
        return None
    if any(part.tags[part.before(verb)] is not POS.CCONJ for verb in verbs[1:]):
        return None
    return part.before(verbs[0]) + 1 or None


def _swap_fronted(part: ClausePart, only: ConnectiveMatch) -> _Made:
    """Make of "After A, B" the text "After B, A"; both are clauses, one comma parts them."""
    omit_if(only.kind not in _TIMES, SwapReason.FRONTED)
    inner, main = split_fronted(part, only.end)
    omit_if({inner.shape(), main.shape()} != {Shape.CLAUSE}, SwapReason.FRONTED)
    omit_no_events(main, inner, only.kind)
    omit_if(points_back(inner) or points_back(main), SwapReason.PRONOUN)
    link: tuple[Piece, ...] = part.tokens[: only.end]
    return (*link, *to_simple(main), ",", *inner.tokens), ()


# Probe sets cut from caption files: PTe, BAT and as/then (ACBA paper, sections 3.1 and 3.2).


TextTool: TypeAlias = Callable[[str, Tagger], SwapOutcome]


class Probe(StrEnum):
    """What is made of each caption of a file."""

    NV = "nv"
    """Nouns and verbs only."""
    CLAUSE_SWAP = "clause-swap"
    """The sides of before, after, then or followed by exchanged."""
    BEFORE_AFTER = "before-after"
    """Before exchanged for after, and back."""
    AS_THEN = "as-then"
    """As exchanged for then, and back."""
    PTE = "pte"
    """The preposition test set: `CLAUSE_SWAP`, each sentence once."""
    BAT = "bat"
    """The before-after test: `BEFORE_AFTER`, each sentence once, as many of one as of the other."""
    AS_THEN_SET = "as-then-set"
    """The as/then test: `AS_THEN`, each sentence once; compare within one connective."""


TOOLS: Final[dict[Probe, TextTool]] = {
    Probe.NV: keep_nouns_and_verbs,
    Probe.CLAUSE_SWAP: swap_clauses,
    Probe.BEFORE_AFTER: swap_before_after,
    Probe.AS_THEN: swap_as_then,
    Probe.PTE: swap_clauses,
    Probe.BAT: swap_before_after,
    Probe.AS_THEN_SET: swap_as_then,
}
SETS: Final = frozenset({Probe.PTE, Probe.BAT, Probe.AS_THEN_SET})


@dataclass(frozen=True, slots=True)
class ProbeCaption:
    """One caption of a file, which may have several columns of them."""

    id: str
    text: str
    column: str = "caption"


@dataclass(frozen=True, slots=True)
class Probed:
    """A caption and what was made of it."""

    caption: ProbeCaption
    outcome: SwapOutcome


def probe(
    kind: Probe,
    captions: Iterable[ProbeCaption],
    *,
    tagger: Tagger | None = None,
    balanced: bool = True,
    size: int | None = None,
    seed: int = 0,
) -> list[Probed]:
    """Run one tool, or cut one set, over captions; one answer a caption, in order.

    A set holds the answers that were made. What is not in it stays in the list with its reason: a
    sentence that stands in the file twice is `REPEATED`, one that balance leaves over is
    `BALANCED_OUT`.

    Args:
        tagger: Parts of speech; the embedded tagger by default.
        balanced: For BAT: as many sentences with "before" as with "after".
        size: For BAT: the number of sentences, an even one; by default as many as there are.
    """
    if size is not None and (kind is not Probe.BAT or not balanced):
        raise SpecError(
            f"a size goes only with a balanced BAT, not with {kind}", fix="leave out the size"
        )
    tool, chosen = TOOLS[kind], tagger or EmbeddedTagger()
    probed = [Probed(caption, tool(caption.text, chosen)) for caption in captions]
    if kind in SETS:
        probed = _drop_repeats(probed)
    return _balance(probed, size, seed) if kind is Probe.BAT and balanced else probed


def _drop_repeats(probed: Sequence[Probed]) -> list[Probed]:
    seen: set[str] = set()
    kept: list[Probed] = []
    for answer in probed:
        text = " ".join(answer.caption.text.split()).casefold()
        repeated = answer.outcome.made and text in seen
        kept.append(_omit(answer, SwapReason.REPEATED) if repeated else answer)
        seen.add(text)
    return kept


def _balance(probed: Sequence[Probed], size: int | None, seed: int) -> list[Probed]:
    places = {
        kind: [at for at, answer in enumerate(probed) if _holds(answer, kind)]
        for kind in (Connective.BEFORE, Connective.AFTER)
    }
    most = min(map(len, places.values()))
    half = most if size is None else size // 2
    if size is not None and (size % 2 or size < 0 or half > most):
        raise SpecError(
            f"a balanced BAT of {size} sentences cannot be made: "
            f"{len(places[Connective.BEFORE])} hold before, "
            f"{len(places[Connective.AFTER])} hold after",
            fix=f"ask for an even size up to {2 * most}",
        )
    drawn: set[int] = set()
    for kind, where in places.items():
        draw = Randomness(seed).at(f"bat {kind}", 0).permutation(len(where))[:half]
        drawn.update(where[at] for at in draw)
    return [
        _omit(answer, SwapReason.BALANCED_OUT)
        if answer.outcome.made and at not in drawn
        else answer
        for at, answer in enumerate(probed)
    ]


def _holds(probed: Probed, kind: Connective) -> bool:
    return probed.outcome.made and probed.outcome.connective == kind


def _omit(probed: Probed, reason: SwapReason) -> Probed:
    return replace(probed, outcome=SwapOutcome.omit(reason, probed.outcome.connective))
