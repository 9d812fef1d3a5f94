"""Tags in running text: a vocabulary, and where a caption names one of its tags.

A tag is found as whole words only, the longest first, and never inside another: in "a pop rock
song" stands "pop rock", not "rock"; "no wave" is a genre, not a denial (Vasilakis et al., Towards
effective negation modeling, section 2.2). Case, hyphens, spaces
and Unicode forms do not matter: "Hip-Hop" is "hip hop".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final, TypeAlias

from synth.labels.tag import Tag
from synth.text.tags.tag_words import phrase_tag, spell

Words: TypeAlias = tuple[str, ...]

_WORD: Final = re.compile(r"[^\W_]+(?:['’ʼ＇][^\W_]+)*|&")  # noqa: RUF001
_WITHIN: Final = re.compile(r"[\s_'’ʼ\-\u2010\u2011\u2012\u2013]*")  # noqa: RUF001
_HYPHENS: Final = frozenset("-\u2010\u2011")
_APOSTROPHES: Final = str.maketrans("", "", "'’ʼ")  # noqa: RUF001
_AND: Final = frozenset({"and", "n", "&"})


@dataclass(frozen=True, slots=True)
class TagMatch:
    """A tag in a caption.

    Args:
        tag: The vocabulary's tag.
        start: First character, from 0.
        end: One past its last character.
        text: The caption's own spelling.
    """

    tag: Tag
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text: its comparable form, and where it stands."""

    key: str
    start: int
    end: int


@dataclass(frozen=True)
class TagVocabulary:
    """The tags of a data set, each once, in a fixed order.

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
        found: dict[str, list[Tag]] = {}
        for tag in self.tags:
            found.setdefault(tag.category, []).append(tag)
        return {category: tuple(tags) for category, tags in found.items()}

    @cached_property
    def _forms(self) -> Mapping[str, tuple[tuple[Words, Tag], ...]]:
        """By first word, every way to spell a tag."""
        forms: dict[Words, Tag] = {}
        for tag in self.tags:
            for form in sorted(_spellings(tag.name)):
                forms.setdefault(form, tag)
        for tag in self.tags:  # "bell" is said "bells"
            for form in sorted(_spellings(phrase_tag(tag).words)):
                forms.setdefault(form, tag)
        found: dict[str, list[tuple[Words, Tag]]] = {}
        for form, tag in forms.items():
            found.setdefault(form[0], []).append((form, tag))
        return {first: tuple(each) for first, each in found.items()}

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
        self, caption: str, words: Sequence[Word], at: int
    ) -> Iterator[tuple[TagMatch, int]]:
        """The tags that begin at a word, each with its length in letters."""
        for form, tag in self._forms.get(words[at].key, ()):
            last = at + len(form) - 1
            if last >= len(words) or any(
                words[at + offset].key != key for offset, key in enumerate(form)
            ):
                continue
            start, end = words[at].start, words[last].end
            if _are_together(caption, words[at : last + 1]) and not _is_hyphenated(
                caption, start, end
            ):
                yield TagMatch(tag, start, end, caption[start:end]), sum(map(len, form))


def words_of(text: str) -> list[Word]:
    """The words of a text: NFKC, no case, no apostrophes; "and", "&" and "n" are one word."""
    return [Word(_key(found.group()), found.start(), found.end()) for found in _WORD.finditer(text)]


def are_same_words(first: str, second: str) -> bool:
    """Whether two names are spellings of one: "hip-hop" and "Hip Hop", "hiphop" and "hip hop"."""
    return not _spellings(first).isdisjoint(_spellings(second))


def _key(word: str) -> str:
    plain = unicodedata.normalize("NFKC", word).casefold().translate(_APOSTROPHES)
    return "&" if plain in _AND else plain


@lru_cache(maxsize=65_536)
def _spellings(name: str) -> frozenset[Words]:
    """The words of a tag, as named and as said, apart and run together."""
    found: list[Words] = []
    for text in dict.fromkeys((name, spell(name))):
        words = tuple(word.key for word in words_of(text))
        if not words:
            continue
        found.append(words)
        if len(words) > 1:
            found.append(("".join("n" if word == "&" else word for word in words),))
    return frozenset(found)


def _are_together(caption: str, words: Sequence[Word]) -> bool:
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
