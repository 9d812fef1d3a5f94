"""Checks of scenes over labels, and of tags in captions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import ClassVar, Final

from pydantic import Field

from synth.base.errors import NotationError, SceneError, nearest
from synth.labels.lexicon import Tag
from synth.labels.words import words_of
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
from synth.scene.edit import Meaning, meaning
from synth.scene.scene import Concat, Event, Overlay, Scene, format_scene, labels, parse
from synth.text.negation.negators import find_denials, is_denied
from synth.text.tags.tags import TagVocabulary, are_same_words

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
    """

    name: ClassVar[str] = "scenes"
    main: ClassVar[str] = "labels"
    labels: OptionalField = "labels"
    least: int = Field(default=1, ge=1)
    most: int = Field(default=100, ge=1)

    def _find_faults(self, texts: Sequence[str], case: Case) -> Iterator[str]:
        known = case.field(self.labels) if self.labels else None
        seen: set[tuple[Meaning, tuple[str, ...]]] = set()
        for text in texts:
            scene, fault = parse_scene(text)
            if scene is None:
                yield fault
                continue
            named = labels(scene)
            listed = named if known is None else known
            for label in dict.fromkeys(named):
                if label not in listed:
                    near = nearest(label, listed)
                    hint = f"; did you mean {quote(near)}?" if near else ""
                    yield f"{quote(text)} names {quote(label)}, which is no label of the list{hint}"
            if not self.least <= len(named) <= self.most:
                asked = f"{self.least} to {self.most} are asked for"
                yield f"{quote(text)} has {len(named)} sounds; {asked}"
            if len(set(named)) < len(named):
                yield f"{quote(text)} names a label twice"
            form = meaning(scene), tuple(sorted(named))  # how often each sound is there
            if form in seen:
                yield f"{quote(text)} is a scene given before"
            seen.add(form)


class Recomposed(Check):
    """Each notation composes the labels of the original's notation in another way.

    Args:
        original: Where the answer gives the notation of the original. A `claim` of the item, a
            scene over labels as JSON, goes before it.
    """

    name: ClassVar[str] = "recomposed"
    original: AnswerPlace = "scene"

    def _find_faults(self, texts: Sequence[str], case: Case) -> Iterator[str]:
        original = _claimed_scene(case)
        if original is None:
            given = next(texts_at(case.answer, self.original), "")
            if not given and not texts:
                return
            original, fault = parse_scene(given)
            if original is None:
                yield fault
                return
        shown = quote(format_scene(original))
        for text in texts:
            scene, fault = parse_scene(text)
            if scene is None:
                yield fault
            elif Counter(labels(scene)) != Counter(labels(original)):
                yield f"{quote(text)} must hold exactly the labels of {shown}"
            elif meaning(scene) == meaning(original):
                yield f"{quote(text)} must not be the same composition as {shown}"


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

    def _explain(self, text: str, case: Case) -> Iterator[str]:
        own = tuple(map(str, case.field(self.tags)))
        known = tuple(map(str, case.field(self.vocabulary) or ()))
        matches = _make_vocabulary(frozenset((*own, *known))).find(text)
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
def _make_vocabulary(names: frozenset[str]) -> TagVocabulary:
    return TagVocabulary.of(Tag("", name) for name in names)


def _is_among(name: str, others: Iterable[str]) -> bool:
    """Whether a name is one of the others, or said with one: "rock" with "alternative rock"."""
    words = {word.key for word in words_of(name)}
    return any(
        are_same_words(name, other) or words <= {word.key for word in words_of(other)}
        for other in others
    )
