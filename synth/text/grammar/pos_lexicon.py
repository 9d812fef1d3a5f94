"""The parts of speech that a word form may have, before its neighbours are looked at."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final, TypeAlias

from synth.base.shipped import shipped_path


class POS(StrEnum):
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


PosTags: TypeAlias = tuple[POS, ...]

_VOWELS: Final = frozenset("aeiouy")
_NOUN_OR_VERB: Final = (POS.NOUN, POS.VERB)
_OF_PLURAL: Final[Mapping[PosTags, PosTags]] = {
    (POS.NOUN,): (POS.NOUN,),
    (POS.VERB,): (POS.VERB,),
    (POS.NOUN, POS.VERB): _NOUN_OR_VERB,
    (POS.ADJ, POS.NOUN): (POS.NOUN,),
    (POS.ADJ, POS.VERB): (POS.VERB,),
}
_PREFERENCE: Final = (POS.AUX, POS.ADJ, POS.ADV, POS.NOUN, POS.VERB, POS.PROPN)


@cache
def shipped_pos_tags() -> Mapping[str, PosTags]:
    """The shipped list: closed classes, and the words of captions that need a decision."""
    listing = shipped_path("lexicons/word_tags.csv")
    rows = csv.DictReader(listing.read_text(encoding="utf-8").splitlines())
    return {row["word"]: tuple(POS(name) for name in row["tags"].split()) for row in rows}


@lru_cache(maxsize=65_536)
def possible_pos_tags(word: str) -> PosTags:
    """The tags that a word form may have, in order of preference; never empty.

    Looked for in the shipped list, by the form's own make (digits, hyphens, genitives), in
    lemminflect's dictionary, and at last by its ending.

    Args:
        word: A word or a mark, in lower case, with plain apostrophes.
    """
    if not word[:1].isalnum():
        return (POS.PUNCT,)
    if word in shipped_pos_tags():
        return shipped_pos_tags()[word]
    if word[0].isdigit():
        return (POS.NUM,)
    if word.endswith(("'s", "s'")):
        return (POS.NOUN,)
    plural = _by_singular(word)
    if plural:
        return plural
    if ends_as_gerund(word) and any(
        POS.VERB in shipped_pos_tags().get(base, ()) for base in _gerund_stems(word)
    ):
        return (POS.VERB,)
    found = _in_dictionary(word)
    if found:
        return found
    return _by_last_part(word) if "-" in word else _by_ending(word)


def is_known(word: str) -> bool:
    """Whether a word form, or each part of a hyphenated one, stands in the list or a dictionary."""
    if not word[:1].isalpha() or word in shipped_pos_tags() or "'" in word:
        return True
    if "-" in word:
        return all(map(is_known, filter(None, word.split("-"))))
    stems = _gerund_stems(word) if ends_as_gerund(word) else ()
    return bool(
        _by_singular(word)
        or _in_dictionary(word)
        or any(POS.VERB in shipped_pos_tags().get(stem, ()) for stem in stems)
    )


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
    return next(
        (base for base in bases if base in shipped_pos_tags() or _in_dictionary(base)), None
    )


def _by_singular(word: str) -> PosTags | None:
    base = singular_of(word)
    return _OF_PLURAL.get(shipped_pos_tags().get(base, ())) if base else None


@lru_cache(maxsize=65_536)
def _in_dictionary(word: str) -> PosTags:
    from lemminflect import getAllLemmas

    known = set(getAllLemmas(word))
    return tuple(tag for tag in _PREFERENCE if tag.value in known)


def _by_last_part(word: str) -> PosTags:
    first, last = word.split("-", 1)[0], word.rsplit("-", 1)[1]
    first_tag, last_tags = possible_pos_tags(first)[0], possible_pos_tags(last)
    qualifies = first_tag in {POS.ADJ, POS.ADV, POS.NUM, POS.ADP}
    if last.endswith("ed") or (qualifies and last_tags[0] is not POS.ADP):
        return (POS.ADJ,)
    if first_tag is POS.VERB and last_tags[0] in {POS.ADP, POS.ADV}:
        return (POS.VERB,)
    return last_tags


def _gerund_stems(gerund: str) -> tuple[str, ...]:
    """What a gerund may be made of: "meow", "rev", "idle"."""
    stem = gerund[: -len("ing")]
    return (stem, stem[:-1], f"{stem}e")


def _by_ending(word: str) -> PosTags:
    if word.endswith(("ing", "ed")):
        return (POS.VERB,)
    if word.endswith("ly"):
        return (POS.ADV,)
    return _NOUN_OR_VERB


# Forms of verbs, from lemminflect's dictionary and rules.


_PAST: Final = frozenset({"VBD", "VBN"})


def is_past(word: str) -> bool:
    """Whether a verb form is a past tense or a past participle."""
    return (word.endswith("ed") and not word.endswith("eed")) or not _PAST.isdisjoint(
        _verb_tags(word)
    )


@lru_cache(maxsize=16_384)
def lemma_of(word: str) -> str:
    """The verb of a form; empty where none is known."""
    from lemminflect import getAllLemmas, getLemma

    for base in (word[:-1], word[: -len("ing")]):
        listed = base in shipped_pos_tags() and POS.VERB in shipped_pos_tags()[base]
        if listed and (ends_as_gerund(word) or word == f"{base}s"):
            return base
    known = getAllLemmas(word, upos="VERB").get("VERB") or getLemma(word, "VERB")
    return str(known[0]) if known else ""


@lru_cache(maxsize=16_384)
def inflect(word: str, tag: str) -> str:
    """A verb form in another one: Penn tag VBG, VBZ or VBP; empty where none is known."""
    from lemminflect import getInflection

    lemma = lemma_of(word)
    if tag == "VBP":
        return lemma
    if tag == "VBG" and lemma.endswith("c"):
        return f"{lemma}king"
    forms = getInflection(lemma, tag) if lemma else ()
    return str(forms[0]) if forms else ""


@cache
def agent_verbs() -> frozenset[str]:
    """Verbs whose forms, said of a doer, are doings rather than sounds: "talks", not "clicks"."""
    listing = shipped_path("lexicons/agent_verbs.txt")
    return frozenset(listing.read_text(encoding="utf-8").split())


@cache
def sound_nouns() -> frozenset[str]:
    """Nouns that name a sound, in the singular, rather than what makes it: "bark", "applause"."""
    listing = shipped_path("lexicons/sound_nouns.txt")
    return frozenset(listing.read_text(encoding="utf-8").split())


@lru_cache(maxsize=16_384)
def _verb_tags(word: str) -> frozenset[str]:
    from lemminflect import getAllInflections

    lemma = lemma_of(word)
    if not lemma or lemma == word:
        return frozenset()
    return frozenset(
        tag for tag, forms in getAllInflections(lemma, upos="VERB").items() if word in forms
    )
