"""Checks of scenes over labels, and of tags in captions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import Any, ClassVar, Final, TypeAlias

from pydantic import Field

from synth.base.errors import NotationError, SceneError, nearest
from synth.labels.connective import Connective
from synth.labels.lexicon import Tag
from synth.labels.words import COMPOUND, tokenize, words_of
from synth.llm.checks.check import (
    AnswerPlace,
    Case,
    Check,
    NeededField,
    OptionalField,
    TextCheck,
    quote,
    texts_at,
)
from synth.scene.claim import claim_from_json
from synth.scene.scene import Concat, Event, Overlay, Scene, format_scene, labels, operands, parse
from synth.text.grammar.tagger import POS, lemma_of, possible_pos_tags
from synth.text.grammar.tokens import function_words, word_set
from synth.text.negation.negators import find_denials, is_denied
from synth.text.order.connectives import find_connectives
from synth.text.tags.tags import TagVocabulary, are_same_words

UNCLEAR: Final = "tells its order unclearly; use then, before, after, while or followed by"
DENIES: Final = "must deny what the original denies, and nothing else"
_SHOWN: Final = 5


def parse_scene(text: str) -> tuple[Scene | None, str]:
    """The scene that a notation denotes, or why it denotes none."""
    try:
        return parse(text), ""
    except NotationError as error:
        fault = f"column {error.column}: {error.reason}"
        return None, f"{quote(text)} is no scene notation: {fault}"


class ScenesCheck(Check):
    """Each text is a scene in our notation, over the labels of a vocabulary.

    Args:
        labels: The item's field that lists the labels; any will do for an item without it.
        least: Fewest sounds of a scene.
        most: Most sounds of a scene.
        repeats: Whether a label may come twice in a scene.
    """

    name: ClassVar[str] = "scenes"
    main: ClassVar[str] = "labels"
    labels: OptionalField = "labels"
    least: int = Field(default=1, ge=1)
    most: int = Field(default=100, ge=1)
    repeats: bool = False

    def faults(self, case: Case) -> list[str]:
        """Notation that does not parse, unknown labels, too few or many sounds, scenes repeated."""
        known = case.field(self.labels) if self.labels else None
        seen: set[str] = set()
        faults = []
        for text in self.select_texts(case):
            scene, fault = parse_scene(text)
            if scene is None:
                faults.append(fault)
                continue
            faults += [f"{quote(text)} {fault}" for fault in self._in_scene(scene, known)]
            form = repr(composition(scene))
            if form in seen:
                faults.append(f"{quote(text)} is a scene given before")
            seen.add(form)
        return faults

    def _in_scene(self, scene: Scene, known: Sequence[str] | None) -> list[str]:
        named = labels(scene)
        faults = []
        if known is not None:
            faults += _explain_unknown(named, known)
        if not self.least <= len(named) <= self.most:
            faults.append(f"has {len(named)} sounds; {self.least} to {self.most} are asked for")
        if not self.repeats and len(set(named)) < len(named):
            faults.append("names a label twice")
        return faults


def _explain_unknown(named: Iterable[str], known: Sequence[str]) -> list[str]:
    faults = []
    for label in dict.fromkeys(named):
        if label in known:
            continue
        near = nearest(label, known)
        hint = f"; did you mean {quote(near)}?" if near else ""
        faults.append(f"names {quote(label)}, which is no label of the list{hint}")
    return faults


def composition(scene: Scene) -> tuple[Any, ...]:
    """What a scene says, without how it is nested: concatenations in order, overlays in any."""
    match scene:
        case Event(label):
            return ("", label)
        case Concat():
            return ("+", *map(composition, operands(scene)))
        case Overlay():
            return ("*", *sorted(map(composition, operands(scene)), key=repr))


class Recomposed(Check):
    """Each notation composes the labels of the original's notation, in another or the same way.

    Args:
        original: Where the answer gives the notation of the original. A `claim` of the item, a
            scene over labels as JSON, goes before it.
        same: Whether the composition must be the original's, instead of another.
    """

    name: ClassVar[str] = "recomposed"
    original: AnswerPlace = "scene"
    same: bool = False

    def faults(self, case: Case) -> list[str]:
        """Notation that does not parse, other labels, and the composition that is not wanted."""
        texts = self.select_texts(case)
        original = _claimed_scene(case)
        if original is None:
            given = next(texts_at(case.answer, self.original), "")
            if not given and not texts:
                return []
            original, fault = parse_scene(given)
            if original is None:
                return [fault]
        faults = []
        for text in texts:
            scene, fault = parse_scene(text)
            fault = fault if scene is None else self._fault(scene, original)
            if fault:
                faults.append(fault if scene is None else f"{quote(text)} {fault}")
        return faults

    def _fault(self, scene: Scene, original: Scene) -> str:
        shown = quote(format_scene(original))
        if Counter(labels(scene)) != Counter(labels(original)):
            return f"must hold exactly the labels of {shown}"
        if (composition(scene) == composition(original)) is not self.same:
            return f"must {'be' if self.same else 'not be'} the same composition as {shown}"
        return ""


def _claimed_scene(case: Case) -> Scene | None:
    """The scene that the item's caption is known to claim."""
    claim = case.field("claim")
    if claim is None:
        return None
    try:
        read = claim_from_json(claim)
    except SceneError:
        return None
    return read if isinstance(read, Event | Concat | Overlay) else None


class TagsCheck(TextCheck):
    """Each text names all tags of the item, denies none, and names no other of the vocabulary.

    Args:
        tags: The item's field that lists the tags by name.
        vocabulary: The item's field that lists every tag there is; without, only the item's own
            are looked for.
    """

    name: ClassVar[str] = "tags"
    main: ClassVar[str] = "tags"
    tags: NeededField = "tags"
    vocabulary: OptionalField = "vocabulary"

    def explain(self, text: str, case: Case) -> Iterator[str]:
        """Tags that are missing, denied, or none of the item's."""
        own = tuple(map(str, case.field(self.tags)))
        known = tuple(map(str, case.field(self.vocabulary) or ()))
        matches = _vocabulary(tuple(sorted({*own, *known}))).find(text)
        denials = find_denials(text, matches)
        named = [name for match in matches for name in own if are_same_words(name, match.tag.name)]
        for problem, names in (
            ("does not name", [tag for tag in own if not _is_among(tag, named)]),
            ("denies", [match.text for match in matches if is_denied(match, denials)]),
            (
                "names what is not among the tags:",
                [match.text for match in matches if not _is_among(match.tag.name, own)],
            ),
        ):
            if names:
                yield f"{problem} {', '.join(map(quote, names[:_SHOWN]))}"


@lru_cache(maxsize=64)
def _vocabulary(names: tuple[str, ...]) -> TagVocabulary:
    return TagVocabulary.of(Tag("", name) for name in names)


def _is_among(name: str, others: Iterable[str]) -> bool:
    """Whether a name is one of the others, or said with one: "rock" with "alternative rock"."""
    words = {word.key for word in words_of(name)}
    return any(
        are_same_words(name, other) or words <= {word.key for word in words_of(other)}
        for other in others
    )


# The words of a caption that carry its content, and what it tells of their order in time.
#
# Nouns and verbs are compared by lemma and without deciding which of the two a form is: "barks" is
# "barking" is "bark". Words that only frame a sound ("is heard", "starts", "in the background") and
# those that tell order are no content.


_FRAMING: Final = word_set(
    "accompanied accompany accompanying afterward afterwards amid amidst audio beforehand began "
    "begin beginning begins begun continue continued end ended ending ends eventually finally "
    "finish finishes first follow followed following follows happen happened happening happens "
    "initially last lastly later meanwhile middle moment moments occurred occurring order "
    "overlap overlapping overlaps precede preceded precedes preceding present simultaneous "
    "simultaneously started stopped subsequently succeeded succeeding time"
)
_CONTENT: Final = frozenset({POS.NOUN, POS.PROPN, POS.VERB})
_TOGETHER: Final = word_set("with amid amidst alongside along accompanied meanwhile")
_LISTING: Final = frozenset({"and", ",", ";", "or", "plus"})
_NEXT: Final = frozenset({Connective.THEN, Connective.FOLLOWED_BY, Connective.BEFORE})
_AT_ONCE: Final = frozenset({Connective.AS, Connective.WHILE})
_UNREAD: Final = word_set(
    "later earlier next previously subsequently finally afterward afterwards beforehand first last "
    "preceded precedes preceding follows following until till once when since eventually "
    "initially lastly simultaneously follow precede succeeded succeeding"
)
Group: TypeAlias = frozenset[tuple[str, int]]
"""The content words of a part of a caption, each with how often it has it."""


@dataclass(frozen=True, slots=True)
class StatedOrder:
    """The order that a caption tells.

    Args:
        stages: Its parts from the first to the last. What parts of a stage are to one another is
            left open ("a dog barks and a bell rings"), unless they are together.
        together: The pairs of parts that are said to be at once.
    """

    stages: tuple[tuple[Group, ...], ...]
    together: frozenset[frozenset[Group]] = frozenset()

    def relations(self) -> dict[tuple[str, str], int]:
        """By pair of words, how their parts lie: 1 for first before second, -1 behind, 0 at once.

        Only of words that stand once in the caption; pairs without a certain relation are missing.
        """
        counts = Counter(word for stage in self.stages for group in stage for word, _ in group)
        often = {word for stage in self.stages for group in stage for word, n in group if n > 1}
        at = {
            word: (place, group)
            for place, stage in enumerate(self.stages)
            for group in stage
            for word, _ in group
            if counts[word] == 1 and word not in often
        }
        signs = {}
        for (one, (place, group)), (other, (later, second)) in permutations(at.items(), 2):
            if place != later:
                signs[one, other] = 1 if place < later else -1
            elif frozenset({group, second}) in self.together:
                signs[one, other] = 0
        return signs


@dataclass(frozen=True, slots=True)
class Content:
    """The content words of a caption.

    Args:
        parts: By part of the caption, the words in the order of the text.
        joins: What stands between a part and the next: "then", "and"; one fewer than parts.
        fronted: The connective before the first part, "" for none.
        unread: Whether it tells an order by words that `parse_order` cannot read.
    """

    parts: tuple[tuple[str, ...], ...]
    joins: tuple[str, ...]
    fronted: str
    unread: bool

    def words(self) -> tuple[str, ...]:
        """All the words, in the order of the text."""
        return tuple(word for part in self.parts for word in part)


@lru_cache(maxsize=4096)
def parse_content(caption: str) -> Content:
    """The content words of a caption, in parts cut at connectives, "and" and marks."""
    words = [token.lower for token in tokenize(caption, COMPOUND)]
    cuts: dict[int, tuple[int, str]] = {
        connective.start: (connective.end, connective.kind.value)
        for connective in find_connectives(words)
        if not connective.fault
    }
    parts: list[list[str]] = [[]]
    joins: list[str] = [""]
    index = 0
    while index < len(words):
        end, join = cuts.get(index, (index + 1, _join(words[index])))
        if not join:
            if is_content(words[index]):
                parts[-1].append(words[index])
        elif parts[-1]:
            parts.append([])
            joins.append(join)
        else:
            joins[-1] = _pick_stronger(joins[-1], join)
        index = end
    if not parts[-1]:
        parts.pop()
        joins.pop()
    return Content(
        tuple(map(tuple, parts)),
        tuple(joins[1:]),
        joins[0] if joins and joins[0] not in {"and", "."} else "",
        not _UNREAD.isdisjoint(words),
    )


def _join(word: str) -> str:
    if word in _TOGETHER:
        return Connective.WHILE.value
    return "and" if word in _LISTING else "." if word in {".", "!", "?", ":"} else ""


def _pick_stronger(first: str, second: str) -> str:
    """Of two joins side by side the one that tells more: of ", and then" it is "then"."""
    return first if second in {"and", "."} and first not in {"", "and"} else second


@lru_cache(maxsize=65_536)
def is_content(word: str) -> bool:
    """Whether a word may be a noun or a verb, and is none that only frames others."""
    if word in function_words() or word in _FRAMING or not word[:1].isalpha():
        return False
    return not _CONTENT.isdisjoint(possible_pos_tags(word))


@lru_cache(maxsize=65_536)
def lemmas(word: str) -> frozenset[str]:
    """What a form may be a form of, as a noun and as a verb; itself among them."""
    from lemminflect import getAllLemmas

    known = getAllLemmas(word)
    forms = {word, *(form for tag in ("NOUN", "VERB") for form in known.get(tag, ()))}
    if POS.VERB in possible_pos_tags(word):
        forms.add(lemma_of(word))
    if not known and word.endswith("s") and not word.endswith("ss"):
        forms.add(word[:-1])
    return frozenset(forms - {""})


def in_words_of(words: Sequence[str], original: Sequence[str]) -> list[str]:
    """Words in the forms in which an original has them; a word that it lacks stays as it is."""
    left = Counter(original)
    found = list(words)
    for at, word in enumerate(words):
        if left[word]:
            left[word] -= 1
        else:
            found[at] = ""
    for at, word in enumerate(words):
        if found[at]:
            continue
        forms = lemmas(word)
        match = next((one for one in left if left[one] and not forms.isdisjoint(lemmas(one))), "")
        left[match] -= bool(match)
        found[at] = match or word
    return found


def align(content: Content, original: Content) -> Content:
    """The same content with its words in the forms in which the original has them."""
    words = iter(in_words_of(content.words(), original.words()))
    parts = tuple(tuple(next(words) for _ in part) for part in content.parts)
    return Content(parts, content.joins, content.fronted, content.unread)


def parse_order(content: Content) -> StatedOrder | None:
    """What is told from the first to the last; None where the words leave it open.

    Read are "then", "followed by", "before", "after", "as", "while", "with" and lists, one after
    the other or "before" and "after" at the head of a caption of two parts.
    """
    joins = content.joins
    if content.unread or "." in joins or not content.parts:
        return None
    groups = [frozenset(Counter(part).items()) for part in content.parts]
    if content.fronted:
        return _parse_fronted(content, groups)
    if Connective.AFTER in joins:
        return (
            StatedOrder(tuple((group,) for group in reversed(groups))) if len(joins) == 1 else None
        )
    stages: list[tuple[Group, ...]] = [(groups[0],)]
    together: set[frozenset[Group]] = set()
    for join, before, group in zip(joins, groups, groups[1:], strict=False):
        if join in _NEXT:
            stages.append((group,))
            continue
        stages[-1] = (*stages[-1], group)
        if join in _AT_ONCE:
            together.add(frozenset({before, group}))
    return StatedOrder(tuple(stages), frozenset(together))


def _parse_fronted(content: Content, groups: list[Group]) -> StatedOrder | None:
    """Of "After A, B" and "As A, B"."""
    if content.joins != ("and",):
        return None
    if content.fronted in _AT_ONCE:
        return StatedOrder((tuple(groups),), frozenset({frozenset(groups)}))
    if content.fronted not in {Connective.BEFORE, Connective.AFTER}:
        return None
    order = groups if content.fronted == Connective.AFTER else groups[::-1]
    return StatedOrder(tuple((group,) for group in order))
