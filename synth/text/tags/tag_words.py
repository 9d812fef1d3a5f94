"""How a tag is said in a sentence: its kind, its words, and the form they take.

The shipped list, `lexicons/tag_categories.csv`, was written for the 1,054 tags of the Million Song
Dataset's cleaned list and for MTG-Jamendo's; a tag that is not listed goes by its own category, or
by its last word ("groovy bass guitar" is an instrument as "bass guitar" is).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final

from synth.base.shipped import shipped_path
from synth.labels.tag import Tag

LISTING: Final = "lexicons/tag_categories.csv"
_DECADE: Final = re.compile(r"(?:19|20)?\d0'?s")
_CONSONANT: Final = re.compile(r"(?i)u(?:k|sa|kulele|ni[^nm]|s[eu]|topia)|eu|one\b|once\b")
_VOWEL: Final = re.compile(r"(?i)[aeiouàáâäæèéêëìíîïòóôöøœ]|8|11(?!\d)|18|hour|honest|heir")
_LAST_ARTICLE: Final = re.compile(r"(?i)\b(an?)(\s+)$")
_LETTERS: Final = re.compile(r"[A-Za-z]+")


class TagCategory(StrEnum):
    """What a tag tells of a recording; it decides the words around it."""

    GENRE = "genre"
    MOOD = "mood"
    INSTRUMENT = "instrument"
    VOCAL = "vocal"
    ERA = "era"
    THEME = "theme"
    SOUND = "sound"
    OTHER = "other"


class TagForm(StrEnum):
    """How a tag stands in a sentence."""

    ADJECTIVE = "adjective"
    """Before a noun and after "is": "a rock song", "it is happy"."""
    MASS = "mass"
    """A thing named without an article: "with guitar", "with drums"."""
    COUNT = "count"
    """A thing named with one: "with an orchestra"."""
    ERA = "era"
    """A decade: "from the 80s"."""
    THEME = "theme"
    """A subject: "with a summer theme"."""
    NONE = "none"
    """No sentence is known to be safe."""


_FORMS: Final[Mapping[TagCategory, TagForm]] = {
    TagCategory.GENRE: TagForm.ADJECTIVE,
    TagCategory.MOOD: TagForm.ADJECTIVE,
    TagCategory.INSTRUMENT: TagForm.MASS,
    TagCategory.VOCAL: TagForm.MASS,
    TagCategory.ERA: TagForm.ERA,
    TagCategory.THEME: TagForm.THEME,
    TagCategory.SOUND: TagForm.NONE,
    TagCategory.OTHER: TagForm.NONE,
}
_CATEGORIES: Final[Mapping[str, TagCategory]] = {kind.value: kind for kind in TagCategory} | {
    "instrumentation": TagCategory.INSTRUMENT,
    "instruments": TagCategory.INSTRUMENT,
    "genres": TagCategory.GENRE,
    "moods": TagCategory.MOOD,
    "mood/theme": TagCategory.MOOD,
    "vocals": TagCategory.VOCAL,
    "decade": TagCategory.ERA,
}


@dataclass(frozen=True, slots=True)
class TagPhrase:
    """A tag in words.

    Args:
        kind: What it tells of.
        words: The words, lower case but for names: "R&B", "hip hop".
        form: How they stand in a sentence.
    """

    kind: TagCategory
    words: str
    form: TagForm

    @property
    def noun(self) -> str:
        """The noun phrase of a thing: "guitar", "an orchestra"."""
        return add_article(self.words) if self.form is TagForm.COUNT else self.words

    @property
    def is_thing(self) -> bool:
        """Whether it is heard as a part of the music, and can be "without"."""
        return self.form in {TagForm.MASS, TagForm.COUNT}


@dataclass(frozen=True, slots=True)
class _Row:
    kind: TagCategory
    said: str
    form: TagForm


@cache
def _read_listing() -> Mapping[str, _Row]:
    text = shipped_path(LISTING).read_text(encoding="utf-8")
    rows: dict[str, _Row] = {}
    for row in csv.DictReader(text.splitlines()):
        kind = TagCategory(row["category"])
        form = TagForm(row["form"]) if row["form"] else _FORMS[kind]
        rows[row["tag"]] = _Row(kind, row["said"] or row["tag"], form)
    for entry in tuple(rows.values()):
        rows.setdefault(_plain(entry.said), entry)
    return rows


def find_category(name: str) -> TagCategory | None:
    """The kind that the shipped list gives a tag, None for one that is not listed."""
    row = _read_listing().get(_plain(name))
    return row.kind if row else None


def spell(name: str) -> str:
    """A tag's name as it is spelled in a sentence: "electricguitar" is "electric guitar".

    Only the spelling changes, never the words; see `phrase_tag` for those.
    """
    row = _read_listing().get(_plain(name))
    return row.said if row and _letters(row.said) == _letters(name) else name


@lru_cache(maxsize=65_536)
def phrase_tag(tag: Tag) -> TagPhrase:
    """How a tag is said."""
    name = _plain(tag.name)
    row = _read_listing().get(name)
    if row:
        return TagPhrase(row.kind, row.said, row.form)
    if _DECADE.fullmatch(name):
        return TagPhrase(TagCategory.ERA, name, TagForm.ERA)
    kind = _CATEGORIES.get(tag.category.casefold()) or _by_last_words(name)
    if kind is TagCategory.MOOD and " " in name:
        return TagPhrase(
            kind, tag.name, TagForm.NONE
        )  # "wake up call": an adjective, or a sentence?
    return TagPhrase(kind, tag.name, _FORMS[kind])


def _by_last_words(name: str) -> TagCategory:
    words = name.split()
    for size in (2, 1):
        row = _read_listing().get(" ".join(words[-size:]))
        if row and row.form in {TagForm.MASS, TagForm.COUNT}:
            return row.kind
    return TagCategory.OTHER


def add_article(words: str) -> str:
    """The words behind "a" or "an", by sound."""
    return f"{article(words)} {words}"


def article(words: str) -> str:
    """`a` or `an`, by the sound of the first word: "an hour", "a ukulele", "an R&B song"."""
    first = words.lstrip("\"'“‘(").split(" ", 1)[0]  # noqa: RUF001
    if _CONSONANT.match(first):
        return "a"
    return "an" if _begins_with_vowel(first) else "a"


def fix_article(before: str, words: str) -> str:
    """The text before some words, an article at its end made to agree with them."""
    found = _LAST_ARTICLE.search(before)
    if found is None:
        return before
    proper = article(words)
    proper = proper.capitalize() if found[1][0].isupper() else proper
    return f"{before[: found.start()]}{proper}{found[2]}"


def _begins_with_vowel(word: str) -> bool:
    letters = _LETTERS.match(word)
    if letters is not None and letters.group().isupper():
        return word[0] in "AEFHILMNORSX"  # spelled out: "an R&B song"
    return bool(_VOWEL.match(word))


def _plain(name: str) -> str:
    return " ".join(name.casefold().replace("-", " ").split())


def _letters(name: str) -> str:
    plain = re.sub(r"[\W_]+", " ", name.casefold().replace("&", " n "))
    return "".join("n" if word == "and" else word for word in plain.split())
