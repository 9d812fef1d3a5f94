"""Captions from tags: category-balanced views, and sentences over what is and is not in a track.

After Manco et al., Augment, Drop & Swap: tag-to-caption augmentation (section 4.1, there by a
language model, here by templates) and Augmented View Dropout (section 5.1: 10 captions an item,
each from a random tag subset balanced by category).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from synth.labels.lexicon import Tag
from synth.text.tags.tag_relations import holds_words
from synth.text.tags.tags import TagCategory, TagForm, add_article, phrase_tag

FRAMES: Final = 6
"""How many sentence frames `describe` has."""

_NOUNS: Final = ("track", "piece", "tune")
_AT_A_GLANCE: Final = 3
_TRIES: Final = 20


@dataclass(frozen=True, slots=True)
class TagSentence:
    """A text over tags; those are unsaid for which no words are known to be safe."""

    text: str
    present: tuple[Tag, ...]
    absent: tuple[Tag, ...] = ()
    unsaid: tuple[Tag, ...] = ()


def draw_views(
    tags: Sequence[Tag], count: int, per_category: int, rng: np.random.Generator
) -> list[tuple[Tag, ...]]:
    """Different partial views of an item's tags, balanced by category.

    In each view every category has as many tags as any other, or one fewer, or all it has. Tags
    seen least are drawn first, so that all are seen where the views have room. The whole is no
    view, unless the item has one tag only.

    Args:
        count: How many views; fewer come back where the tags allow no more.
    """
    by_category: dict[str, list[Tag]] = {}
    for tag in dict.fromkeys(tags):
        by_category.setdefault(tag.category, []).append(tag)
    groups = [*by_category.values()]
    total = sum(map(len, groups))
    seen: dict[Tag, int] = dict.fromkeys(tags, 0)
    views: dict[frozenset[Tag], tuple[Tag, ...]] = {}
    for _ in range(_TRIES * count):
        if len(views) == count:
            break
        view = _view(groups, seen, per_category, count - len(views), rng)
        key = frozenset(view)
        if view and key not in views and (len(view) < total or total == 1):
            views[key] = view
            for tag in view:
                seen[tag] += 1
    return list(views.values())


def _view(
    groups: Sequence[Sequence[Tag]],
    seen: Mapping[Tag, int],
    per_category: int,
    views_left: int,
    rng: np.random.Generator,
) -> tuple[Tag, ...]:
    """A view in which each category's share lets all its tags be seen by the last one."""
    unseen = [sum(not seen[tag] for tag in group) for group in groups]
    due = [0 if count < views_left else -(-count // views_left) for count in unseen]
    level = max(int(rng.integers(1, per_category + 1)), min(max(due, default=1), per_category))
    chosen: list[Tag] = []
    for group, needed in zip(groups, due, strict=True):
        share = max(level - int(rng.integers(2)), min(needed, level))
        chances = rng.random(len(group))
        order = sorted(range(len(group)), key=lambda at: (seen[group[at]], chances[at]))
        chosen.extend(group[at] for at in sorted(order[:share]))
    return tuple(chosen)


def join_tags(tags: Sequence[Tag]) -> TagSentence:
    """The tags with commas between: "rock, happy, guitar"."""
    return TagSentence(", ".join(tag.name for tag in tags), tuple(tags))


def describe(tags: Sequence[Tag], absent: Sequence[Tag] = (), frame: int = 0) -> TagSentence:
    """One or a few sentences that say which tags hold, and which do not.

    "hard rock" says "rock" along with itself, and "not rock" denies "hard rock": one is told.

    Args:
        frame: Which of the `FRAMES` sentence frames.

    Returns:
        The text; empty where none of the tags can be said.
    """
    present = _Words.of(tags, _is_kind_of)
    missing = _Words.of(absent, lambda general, special: _is_kind_of(special, general))
    unsaid = (*present.unsaid, *missing.unsaid)
    if not (present.tags or missing.tags):
        return TagSentence("", (), (), unsaid)
    text = _tell(present, missing, frame % FRAMES)
    return TagSentence(text[0].upper() + text[1:], present.tags, missing.tags, unsaid)


def _is_kind_of(special: Tag, general: Tag) -> bool:
    return (
        phrase_tag(special).kind is phrase_tag(general).kind
        and holds_words(special.name, general.name)
        and not holds_words(general.name, special.name)
    )


@dataclass(frozen=True, slots=True)
class _Words:
    """Tags sorted by where they stand in a sentence."""

    tags: tuple[Tag, ...]
    unsaid: tuple[Tag, ...]
    moods: tuple[str, ...]
    origins: tuple[str, ...]
    genres: tuple[str, ...]
    eras: tuple[str, ...]
    things: tuple[str, ...]
    themes: tuple[str, ...]

    @classmethod
    def of(cls, tags: Sequence[Tag], says: Callable[[Tag, Tag], bool]) -> _Words:
        words = {tag: phrase_tag(tag) for tag in dict.fromkeys(tags)}
        safe = {tag: phrase for tag, phrase in words.items() if phrase.form is not TagForm.NONE}
        told = [safe[tag] for tag in safe if not any(says(other, tag) for other in safe)]

        def of_form(form: TagForm, *kinds: TagCategory) -> tuple[str, ...]:
            return tuple(
                dict.fromkeys(
                    phrase.words
                    for phrase in told
                    if phrase.form is form and (not kinds or phrase.kind in kinds)
                )
            )

        return cls(
            tags=tuple(safe),
            unsaid=tuple(tag for tag in words if tag not in safe),
            moods=of_form(TagForm.ADJECTIVE, TagCategory.MOOD),
            origins=of_form(TagForm.ADJECTIVE, TagCategory.OTHER),
            genres=of_form(
                TagForm.ADJECTIVE, TagCategory.GENRE, TagCategory.INSTRUMENT, TagCategory.VOCAL
            ),
            eras=of_form(TagForm.ERA),
            things=tuple(dict.fromkeys(phrase.noun for phrase in told if phrase.is_thing)),
            themes=of_form(TagForm.THEME),
        )

    @property
    def is_long(self) -> bool:
        return (
            len(self.moods) > _AT_A_GLANCE
            or len(self.genres) > _AT_A_GLANCE
            or len(self.moods) + len(self.genres) + len(self.origins) > _AT_A_GLANCE + 2
        )


def _tell(present: _Words, missing: _Words, frame: int) -> str:
    noun, moods = _NOUNS[frame % len(_NOUNS)], present.moods
    if any(genre.endswith(noun) for genre in present.genres):
        noun = "recording"  # no "soundtrack track"
    if missing.tags:
        opening = "this is " if frame % 2 else ""
        return f"{opening}{_say_whole(present, missing, noun)}."
    if present.is_long:
        return _say_in_sentences(present, noun)
    match frame:
        case 2 if moods:
            return _say_with_predicate(present, noun)
        case 3 | 5 if present.things and _say_name(present, "", moods) and not present.themes:
            parts = enumerate_words(present.things)
            return f"{parts} in {add_article(_say_name(present, noun, moods))}{_say_eras(present)}."
        case 1 | 4:
            return f"this is {_say_whole(present, missing, noun)}."
    return f"{_say_whole(present, missing, noun)}."


def _say_whole(present: _Words, missing: _Words, noun: str) -> str:
    """As "a happy track from the 80s that is not rock, with guitar but without drums"."""
    text = add_article(_say_name(present, noun, present.moods)) + _say_eras(present)
    qualities = (*missing.moods, *missing.origins, *_decades(missing.eras, "or"))
    if qualities or missing.genres:
        text += f" that is {deny_qualities(qualities, missing.genres)}"
    parts = []
    if present.things or present.themes:
        parts.append(f"with {_say_things(present)}")
    if missing.things or missing.themes:
        lacking = enumerate_words((*missing.things, *_themes(missing.themes, "or")), "or")
        parts.append(f"without {lacking}")
    if not parts:
        return text
    return f"{text}{',' if qualities or missing.genres else ''} {' but '.join(parts)}"


def deny_qualities(qualities: Sequence[str], genres: Sequence[str], negator: str = "not") -> str:
    """As "not happy or calm", "not pop or rock music", "not calm, and not rock music"."""
    parts = [f"{negator} {enumerate_words(qualities, 'or')}"] if qualities else []
    if genres:
        named = [genre.removesuffix(" music") for genre in genres]
        parts.append(f"not {enumerate_words(named, 'or')} music")
    return ", and ".join(parts)


def _say_with_predicate(present: _Words, noun: str) -> str:
    """As "this rock track from the 80s is happy and calm, and features guitar"."""
    text = (
        f"this {_say_name(present, noun)}{_say_eras(present)} is {enumerate_words(present.moods)}"
    )
    things = _say_things(present)
    if not things:
        return f"{text}."
    comma = "," if len(present.moods) > 1 else ""
    return f"{text}{comma} and features {things}."


def _say_in_sentences(present: _Words, noun: str) -> str:
    """The same in several short sentences, where one would be too long."""
    sentences = [f"{add_article(_say_name(present, noun))}{_say_eras(present)}"]
    if present.moods:
        sentences.append(f"the music is {enumerate_words(present.moods)}")
    if things := _say_things(present):
        sentences.append(f"it features {things}")
    return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)


def _say_name(present: _Words, noun: str, moods: Sequence[str] = ()) -> str:
    """As "happy, calm Brazilian jazz and pop track"."""
    parts = (", ".join(moods), *present.origins, enumerate_words(present.genres), noun)
    return " ".join(filter(None, parts))


def _say_eras(present: _Words) -> str:
    return "".join(f" {decades}" for decades in _decades(present.eras, "and"))


def _decades(eras: Sequence[str], conjunction: str) -> tuple[str, ...]:
    return (f"from the {enumerate_words(eras, conjunction)}",) if eras else ()


def _say_things(present: _Words) -> str:
    """As "guitar and a summer theme"; two themes in one list with things would be read as four."""
    themes = _themes(present.themes, "and")
    if len(present.themes) > 1 and present.things:
        return f"{enumerate_words(present.things)}, as well as {themes[0]}"
    return enumerate_words((*present.things, *themes))


def _themes(themes: Sequence[str], conjunction: str) -> tuple[str, ...]:
    """As "a summer theme", "summer and party themes", "a summer or party theme"."""
    if not themes:
        return ()
    if conjunction == "and" and len(themes) > 1:
        return (f"{enumerate_words(themes)} themes",)
    return (add_article(f"{enumerate_words(themes, conjunction)} theme"),)


def enumerate_words(parts: Sequence[str], conjunction: str = "and") -> str:
    """As "guitar", "guitar and bass", "guitar, bass and drums"."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {conjunction} {parts[-1]}"
