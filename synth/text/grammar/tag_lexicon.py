"""The parts of speech that a word form may have, before its neighbours are looked at."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final, TypeAlias

from synth.base.shipped import shipped


class Tag(StrEnum):
    """Parts of speech, by the names of Universal Dependencies."""

    NOUN = "NOUN"
    PROPN = "PROPN"
    VERB = "VERB"
    AUX = "AUX"
    ADJ = "ADJ"
    ADV = "ADV"
    ADP = "ADP"
    PRON = "PRON"
    DET = "DET"
    NUM = "NUM"
    CCONJ = "CCONJ"
    SCONJ = "SCONJ"
    PART = "PART"
    INTJ = "INTJ"
    PUNCT = "PUNCT"
    SYM = "SYM"
    X = "X"


Tags: TypeAlias = tuple[Tag, ...]

_VOWELS: Final = frozenset("aeiouy")
_NOUN_OR_VERB: Final = (Tag.NOUN, Tag.VERB)
_OF_PLURAL: Final[Mapping[Tags, Tags]] = {
    (Tag.NOUN,): (Tag.NOUN,),
    (Tag.VERB,): (Tag.VERB,),
    (Tag.NOUN, Tag.VERB): _NOUN_OR_VERB,
    (Tag.ADJ, Tag.NOUN): (Tag.NOUN,),
    (Tag.ADJ, Tag.VERB): (Tag.VERB,),
}
_PREFERENCE: Final = (Tag.AUX, Tag.ADJ, Tag.ADV, Tag.NOUN, Tag.VERB, Tag.PROPN)


@cache
def listed_tags() -> Mapping[str, Tags]:
    """The shipped list: closed classes, and the words of captions that need a decision."""
    listing = shipped("lexicons/word_tags.csv")
    rows = csv.DictReader(listing.read_text(encoding="utf-8").splitlines())
    return {row["word"]: tuple(Tag(name) for name in row["tags"].split()) for row in rows}


@lru_cache(maxsize=65_536)
def possible_tags(word: str) -> Tags:
    """The tags that a word form may have, in order of preference; never empty.

    Looked for in the shipped list, by the form's own make (digits, hyphens, genitives), in
    lemminflect's dictionary, and at last by its ending.

    Args:
        word: A word or a mark, in lower case, with plain apostrophes.
    """
    if not word[:1].isalnum():
        return (Tag.PUNCT,)
    if word in listed_tags():
        return listed_tags()[word]
    if word[0].isdigit():
        return (Tag.NUM,)
    if word.endswith(("'s", "s'")):
        return (Tag.NOUN,)
    plural = _by_singular(word)
    if plural:
        return plural
    if ends_as_gerund(word) and any(
        Tag.VERB in listed_tags().get(base, ()) for base in _bare(word)
    ):
        return (Tag.VERB,)
    found = _in_dictionary(word)
    if found:
        return found
    return _by_last_part(word) if "-" in word else _by_ending(word)


def ends_as_gerund(word: str) -> bool:
    """Whether a form ends in -ing behind a stem: "honking", but not "sing"."""
    return word.endswith("ing") and not _VOWELS.isdisjoint(word[:-3])


def ends_as_third_person(word: str) -> bool:
    """Whether a form ends in the -s of "honks", which that of "hiss" is not."""
    return word.endswith("s") and not word.endswith("ss")


def singular_of(word: str) -> str | None:
    """The form before -s, -es or -ies, where the list or the dictionary knows one."""
    if not ends_as_third_person(word):
        return None
    bases = [word[:-1]]
    if word.endswith("es"):
        bases.append(word[:-2])
    if word.endswith("ies"):
        bases.insert(0, f"{word[:-3]}y")
    return next((base for base in bases if base in listed_tags() or _in_dictionary(base)), None)


def _by_singular(word: str) -> Tags | None:
    base = singular_of(word)
    return _OF_PLURAL.get(listed_tags().get(base, ())) if base else None


@lru_cache(maxsize=65_536)
def _in_dictionary(word: str) -> Tags:
    from lemminflect import getAllLemmas

    known = set(getAllLemmas(word))
    return tuple(tag for tag in _PREFERENCE if tag.value in known)


def _by_last_part(word: str) -> Tags:
    first, last = word.split("-", 1)[0], word.rsplit("-", 1)[1]
    first_tag, last_tags = possible_tags(first)[0], possible_tags(last)
    qualifies = first_tag in {Tag.ADJ, Tag.ADV, Tag.NUM, Tag.ADP}
    if last.endswith("ed") or (qualifies and last_tags[0] is not Tag.ADP):
        return (Tag.ADJ,)
    if first_tag is Tag.VERB and last_tags[0] in {Tag.ADP, Tag.ADV}:
        return (Tag.VERB,)
    return last_tags


def _bare(gerund: str) -> tuple[str, ...]:
    """What a gerund may be made of: "meow", "rev", "idle"."""
    stem = gerund[: -len("ing")]
    return (stem, stem[:-1], f"{stem}e")


def _by_ending(word: str) -> Tags:
    if word.endswith(("ing", "ed")):
        return (Tag.VERB,)
    if word.endswith("ly"):
        return (Tag.ADV,)
    return _NOUN_OR_VERB
