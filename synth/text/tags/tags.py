"""Tags in running text: a vocabulary, and where a caption names one of its tags.

A tag is found as whole words only, the longest first, and never inside another: in "a pop rock
song" stands "pop rock", not "rock"; "no wave" is a genre, not a denial (Vasilakis et al., Towards
effective negation modeling, section 2.2). Case, hyphens, spaces
and Unicode forms do not matter: "Hip-Hop" is "hip hop".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import Final, TypeAlias

from synth.base.own_label import name_of
from synth.base.shipped import read_shipped_rows
from synth.labels.lexicon import Phrase, Tag, lower_initial, spell_listed
from synth.labels.words import Token, words_of

# How a tag is said in a sentence: its kind, its words, and the form they take.
#
# The shipped list, `lexicons/tag_categories.csv`, was written for the 1,054 tags of the Million
# Song Dataset's cleaned list and for MTG-Jamendo's; a tag that is not listed goes by its own
# category, or by its last word ("groovy bass guitar" is an instrument as "bass guitar" is).
# `lexicons/tag_words.csv` tells of single words of such tags: the things that a last word names,
# with an article ("a punchy kick") or without, names with their capitals, and words that deny.


LISTING: Final = "lexicons/tag_categories.csv"
WORDS: Final = "lexicons/tag_words.csv"
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
    """A tag in words, lower case but for names: "R&B", "hip hop"."""

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


@cache
def _read_listing() -> Mapping[str, TagPhrase]:
    phrases: dict[str, TagPhrase] = {}
    for row in read_shipped_rows(LISTING):
        kind = TagCategory(row["category"])
        form = TagForm(row["form"]) if row["form"] else _FORMS[kind]
        phrases[row["tag"]] = TagPhrase(kind, row["said"] or _capitalise(row["tag"]), form)
    for phrase in tuple(phrases.values()):
        phrases.setdefault(_plain(phrase.words), phrase)
    return phrases


def find_category(name: str) -> TagCategory | None:
    """The kind that the shipped list gives a tag, None for one that is not listed."""
    row = _read_listing().get(_plain(name))
    return row.kind if row else None


def spell(name: str) -> str:
    """A tag's name as it is spelled in a sentence: "electricguitar" is "electric guitar".

    Only the spelling changes, never the words; see `phrase_tag` for those.
    """
    listed = _read_listing().get(_plain(name))
    same = listed and _run_together(listed.words) == _run_together(name)
    return listed.words if listed and same else _capitalise(name)


@lru_cache(maxsize=65_536)
def phrase_tag(tag: Tag) -> TagPhrase:
    """How a tag is said."""
    name = _plain(tag.name)
    if name in _read_listing():
        return _read_listing()[name]
    if _DECADE.fullmatch(name):
        return TagPhrase(TagCategory.ERA, name, TagForm.ERA)
    words = _capitalise(tag.name)
    if is_denial(tag):
        return TagPhrase(TagCategory.OTHER, words, TagForm.NONE)
    head = _find_head(name)
    kind = _CATEGORIES.get(tag.category.casefold()) or (head.kind if head else TagCategory.OTHER)
    if kind is TagCategory.MOOD and " " in name:
        return TagPhrase(kind, words, TagForm.NONE)  # "wake up call": an adjective, or a sentence?
    form = head.form if head and head.kind is kind else _FORMS[kind]
    has_article = form is TagForm.COUNT and name.split()[0] in _read_words("determiner")
    return TagPhrase(kind, words, TagForm.MASS if has_article else form)


def is_denial(tag: Tag) -> bool:
    """Whether a tag itself denies something, as "no vocals" does; "no wave" is a genre."""
    name = _plain(tag.name)
    return name not in _read_listing() and not _read_words("denial").isdisjoint(name.split()[:-1])


def _find_head(name: str) -> TagPhrase | None:
    """The thing that a tag's last word names, or its last two; None where they name none."""
    words = name.split()
    for size in (2, 1):
        last = " ".join(words[-size:])
        if last in _read_heads():
            return _read_heads()[last]
        row = _read_listing().get(last)
        if row and row.is_thing:
            is_one = row.words.casefold() == last and len(words) > size and not is_plural(last)
            return replace(row, form=TagForm.COUNT) if is_one else row
    return None


def is_plural(words: str) -> bool:
    """Whether words name several things."""
    return words.endswith("s") and not words.endswith(("ss", "us"))


@cache
def _read_heads() -> Mapping[str, TagPhrase]:
    """The things that a last word names, one or several."""
    heads = {}
    for row in read_shipped_rows(WORDS):
        if row["category"]:
            kind, word = TagCategory(row["category"]), row["words"]
            heads[word] = TagPhrase(kind, word, TagForm(row["form"]))
            heads[f"{word}s"] = TagPhrase(kind, f"{word}s", TagForm.MASS)
    return heads


@cache
def _read_words(form: str) -> frozenset[str]:
    return frozenset(row["words"] for row in read_shipped_rows(WORDS) if row["form"] == form)


@cache
def _read_names() -> tuple[re.Pattern[str], Mapping[str, str]]:
    """What finds a name in a tag, and its spellings."""
    names = {row["words"]: row["said"] for row in read_shipped_rows(WORDS) if row["said"]}
    longest = sorted(map(re.escape, names), key=len, reverse=True)
    return re.compile(rf"(?i)(?<!\w)(?:{'|'.join(longest)})(?!\w)"), names


def _capitalise(name: str) -> str:
    """A tag in which names, and no labels, have capitals: "middle eastern drums", "wind chime"."""
    pattern, names = _read_names()
    if name[:1].isupper() and (label := spell_listed(name)):
        listed = name_of(label)
        is_name = listed.split(" ", 1)[0] in Phrase.of_label(label).noun.split(" ")
        name = name if is_name or "," in listed else lower_initial(listed)
    return pattern.sub(lambda match: names[match.group().lower()], name)


def add_article(words: str) -> str:
    """The words behind "a" or "an", by sound."""
    return f"{article(words)} {words}"


def article(words: str) -> str:
    """`a` or `an`, by the sound of the first word: "an hour", "a ukulele", "an R&B song"."""
    first = words.lstrip("\"'“‘(").split(" ", 1)[0]  # noqa: RUF001
    letters = _LETTERS.match(first)
    if _CONSONANT.match(first):
        return "a"
    if letters is not None and letters.group().isupper():
        return "an" if first[0] in "AEFHILMNORSX" else "a"  # spelled out: "an R&B song"
    return "an" if _VOWEL.match(first) else "a"


def fix_article(before: str, words: str) -> str:
    """The text before some words, an article at its end made to agree with them."""
    last = _LAST_ARTICLE.search(before)
    if last is None:
        return before
    proper = article(words)
    proper = proper.capitalize() if last[1][0].isupper() else proper
    return f"{before[: last.start()]}{proper}{last[2]}"


def _plain(name: str) -> str:
    return " ".join(name.casefold().replace("-", " ").split())


Words: TypeAlias = tuple[str, ...]

_WITHIN: Final = re.compile(r"[\s_'’ʼ\-\u2010\u2011\u2012\u2013]*")  # noqa: RUF001
_HYPHENS: Final = frozenset("-\u2010\u2011")


@dataclass(frozen=True, slots=True)
class TagMatch:
    """A tag in a caption, from character `start` to before `end`, and how it is spelled there."""

    tag: Tag
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class TagVocabulary:
    """The tags of a data set, each once, in a fixed order; a denial ("no vocals") is found nowhere.

    Two tags that read alike ("hip hop", "hip-hop") are both kept; a caption's match names the
    first.
    """

    tags: tuple[Tag, ...]

    @classmethod
    def of(cls, tags: Iterable[Tag]) -> TagVocabulary:
        """The tags, sorted, each once."""
        return cls(tuple(sorted(set(tags))))

    @cached_property
    def by_category(self) -> Mapping[str, tuple[Tag, ...]]:
        """The tags of each category."""
        by_kind: dict[str, list[Tag]] = {}
        for tag in self.tags:
            by_kind.setdefault(tag.category, []).append(tag)
        return {category: tuple(tags) for category, tags in by_kind.items()}

    @cached_property
    def _forms(self) -> Mapping[Words, Tag]:
        """Every way to spell a tag."""
        forms: dict[Words, Tag] = {}
        tags = [tag for tag in self.tags if not is_denial(tag)]
        for tag in tags:
            for form in sorted(spellings(tag.name)):
                forms.setdefault(form, tag)
        for tag in tags:  # "bell" is said "bells"
            for form in sorted(spellings(phrase_tag(tag).words)):
                forms.setdefault(form, tag)
        return forms

    @cached_property
    def _sizes(self) -> Mapping[str, Collection[int]]:
        """By first word, how many words the tags have that begin with it."""
        sizes: dict[str, set[int]] = {}
        for form in self._forms:
            sizes.setdefault(form[0], set()).add(len(form))
        return sizes

    def find(self, caption: str) -> tuple[TagMatch, ...]:
        """The tags that the caption names, from left to right; they never overlap.

        Args:
            caption: Any text. A word joined to another by a hyphen is part of that other word:
                "rock" does not stand in "post-rock" nor in "rock-inspired".
        """
        words = words_of(caption)
        candidates = [
            (match, size)
            for at in range(len(words))
            for match, size in self._find_starting(caption, words, at)
        ]
        candidates.sort(key=lambda found: (-found[1], found[0].start))
        chosen: list[TagMatch] = []
        taken = bytearray(len(caption))
        for match, _ in candidates:
            if not any(taken[match.start : match.end]):
                taken[match.start : match.end] = b"\1" * (match.end - match.start)
                chosen.append(match)
        return tuple(sorted(chosen, key=lambda match: match.start))

    def find_tags(self, caption: str) -> tuple[Tag, ...]:
        """The tags that the caption names, each once."""
        return tuple(dict.fromkeys(match.tag for match in self.find(caption)))

    def _find_starting(
        self, caption: str, words: Sequence[Token], at: int
    ) -> Iterator[tuple[TagMatch, int]]:
        """The tags that begin at a word, each with its length in letters."""
        for size in self._sizes.get(words[at].key, ()):
            form = tuple(word.key for word in words[at : at + size])
            tag = self._forms.get(form)
            if tag is None or len(form) < size:
                continue
            last = at + size - 1
            start, end = words[at].start, words[last].start + len(words[last].bare)
            if _are_together(caption, words[at : last + 1]) and not _is_hyphenated(
                caption, start, end
            ):
                yield TagMatch(tag, start, end, caption[start:end]), sum(map(len, form))


def are_same_words(first: str, second: str) -> bool:
    """Whether two names are spellings of one: "hip-hop" and "Hip Hop", "hiphop" and "hip hop"."""
    return not spellings(first).isdisjoint(spellings(second))


@lru_cache(maxsize=65_536)
def spellings(name: str) -> frozenset[Words]:
    """The words of a tag, as named and as said, apart and run together."""
    spelt: list[Words] = []
    for text in dict.fromkeys((name, spell(name))):
        words = tuple(word.key for word in words_of(text))
        spelt += [words, (_run_together(text),)] if words else []
    return frozenset(spelt)


def _run_together(name: str) -> str:
    """A name without what parts its words: "drum & bass" is "drumnbass"."""
    return "".join("n" if word.key == "&" else word.key for word in words_of(name))


def _are_together(caption: str, words: Sequence[Token]) -> bool:
    """Whether only spaces, hyphens or apostrophes part the words; a stop only in "L.A."."""
    for first, second in pairwise(words):
        gap = caption[first.end : second.start]
        if first.end - first.start == 1 and gap.startswith("."):
            gap = gap[1:]
        if not _WITHIN.fullmatch(gap):
            return False
    return True


def _is_hyphenated(caption: str, start: int, end: int) -> bool:
    """Whether the stretch is joined by a hyphen to a word beside it."""
    before = caption[max(0, start - 2) : start]
    after = caption[end : end + 2]
    return (len(before) == 2 and before[1] in _HYPHENS and before[0].isalnum()) or (
        len(after) == 2 and after[0] in _HYPHENS and after[1].isalnum()
    )
