"""Phrases: how a label is said, which labels are kin, and what a sound could be called besides.

The shipped forms are built from readable sources; see `benchmarks.lexicon`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final

from synth.base.own_label import name_of, read_own
from synth.base.rng import digest
from synth.base.shipped import read_shipped_rows, shipped_path
from synth.labels.words import plain_words

PHRASES: Final = "lexicons/phrases.csv"
SEPARATOR: Final = " | "
"""Between the wordings of a label."""
OTHER: Final = "other"
"""The category of a label that is not listed."""

_UNLISTED: Final = frozenset({"again", "long", "pitch"})
"""What can be said of a label that is not listed."""
_KIN_CACHE: Final = 1 << 16
_SEPARATORS: Final = re.compile(r"[\s_-]+")
_SINGULAR: Final = re.compile("the [a-z-]*[^s ] of ")
"""What starts so is a sound already, and one: "the hum of an engine", not "the bells of"."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """The forms of one sound in running text, lower case and without a final stop.

    Args:
        plain: The label as the papers print it: "crackling fire".
        noun: A noun phrase: "a crackling fire".
        clause: A clause: "a fire crackles".
        gerund: A gerund phrase: "a fire crackling".
        lasts: Whether it may be said to go on: a dog is barking, but not letting out a bark.
    """

    plain: str
    noun: str
    clause: str
    gerund: str
    lasts: bool = True

    @property
    def definite(self) -> str:
        """The noun as of a sound that is known: "the crackling fire"."""
        first, _, rest = self.noun.partition(" ")
        if first in ("a", "an", "some"):
            return f"the {rest}"
        is_bare = first != "the" and not first.startswith("some")
        return f"the {self.noun}" if is_bare else self.noun

    @property
    def sound(self) -> str:
        """The noun of what is heard of it, singular: "the sound of a dog"."""
        return self.noun if _SINGULAR.match(self.noun) else f"the sound of {self.noun}"

    @property
    def bare(self) -> str:
        """The noun behind "no" or "any": "siren"."""
        first, _, rest = self.noun.partition(" ")
        articles = "a", "an", "the", "some", "someone's"
        return rest if rest and first in articles else self.noun

    @property
    def progressive(self) -> str:
        """The clause as of what goes on, if it may: "a dog is barking"."""
        clause, gerund = self.clause.split(), self.gerund.split()
        both = zip(clause, gerund, strict=False)
        same = next((at for at, (word, other) in enumerate(both) if word != other), 0)
        if not (same and self.lasts):
            return self.clause
        is_plural = not clause[same].endswith("s") or f"{clause[same]}ing" == gerund[same]
        return " ".join((*clause[:same], "are" if is_plural else "is", *gerund[same:]))

    @classmethod
    def of_label(cls, label: str) -> Phrase:
        """The standard wording of a label, or a serviceable one for a label that is not listed."""
        return next(iter(_find_wordings(label)))

    @classmethod
    def fallback(cls, label: str) -> Phrase:
        """Forms that are grammatical whatever the label is.

        They all lean on "the sound of ...": the clause is "the sound of theremin is heard", and
        the noun and the gerund are both "the sound of theremin". So a sentence must not put "the
        sound of" before the noun of a label that is not listed.
        """
        composed = unicodedata.normalize("NFC", label)
        plain = composed.replace("_", " ") if label.strip("_ ") else composed
        sound = f"the sound of {_lower_title(plain)}"
        return cls(plain, sound, f"{sound} is heard", sound)

    @classmethod
    def of_caption(cls, caption: str) -> Phrase:
        """A whole caption as a part of a longer one: no final stop, no capital inside."""
        plain = " ".join(caption.split()).rstrip(" .;,:!?")
        inner = lower_initial(plain)
        return cls(plain, inner, inner, inner)


@cache
def shipped_phrases() -> Mapping[str, Mapping[Phrase, frozenset[str]]]:
    """The wordings that ship with the project, and what can be said by each, by label."""
    columns = "noun", "clause", "gerund", "said"
    return {
        label: {
            Phrase(label.replace("_", " "), noun, clause, gerund, "long" in uses): frozenset(
                uses.split()
            )
            for noun, clause, gerund, uses in zip(
                *(row[name].split(SEPARATOR) for name in columns), strict=True
            )
        }
        for label, row in _read_phrases().items()
    }


def wordings(label: str, uses: Collection[str] = ()) -> tuple[Phrase, ...]:
    """The wordings of a label, all meaning the same, the standard one first.

    Args:
        uses: Those by which all this can be said: see `benchmarks.lexicon`.
    """
    return tuple(phrase for phrase, its in _find_wordings(label).items() if its.issuperset(uses))


@lru_cache(maxsize=_KIN_CACHE)
def _find_wordings(label: str) -> Mapping[Phrase, frozenset[str]]:
    name, own = read_own(label)
    listed = shipped_phrases().get(find_listed(label) or "", {Phrase.fallback(name): _UNLISTED})
    if own is None:
        return listed
    if own.noun and own.clause and own.gerund:
        uses = next(iter(listed.values()))
        forms = own.noun, own.clause, own.gerund
        listed = {Phrase(name.replace("_", " "), *forms, "long" in uses): uses}
    if own.countable is None:
        return listed
    counted = frozenset({"count"})
    change = frozenset.union if own.countable else frozenset.difference
    return {phrase: change(uses, counted) for phrase, uses in listed.items()}


@lru_cache(maxsize=_KIN_CACHE)
def find_listed(label: str) -> str | None:
    """The listed label that one is, or is like."""
    name, own = read_own(label)
    if own is None:
        return label if label in _read_phrases() else None
    return spell_listed(own.like or name)


def spell_listed(label: str) -> str | None:
    """The listed label that is spelt so, or so but for case and separators: "Car-Horn"."""
    return label if label in _read_phrases() else _read_spellings().get(fold_spelling(label))


@lru_cache(maxsize=_KIN_CACHE)
def families(label: str) -> tuple[str, ...]:
    """The family paths of a listed label, as "animal/dog"; none for a label that is not listed."""
    return _read_paths(label, "family")


@lru_cache(maxsize=_KIN_CACHE)
def other_families(label: str) -> tuple[str, ...]:
    """The family paths of what a listed label's recordings could be called besides, often none."""
    _, own = read_own(label)
    also = (path for other in (own.also if own else ()) for path in families(other))
    return (*_read_paths(label, "also"), *also)


def _read_paths(label: str, column: str) -> tuple[str, ...]:
    listed = find_listed(label)
    return tuple(filter(None, _read_phrases()[listed][column].split(";"))) if listed else ()


def is_countable(label: str) -> bool:
    """Whether a label names one short event, so that it may be heard twice."""
    return bool(wordings(label, ["count"]))


def has_rhythm(label: str) -> bool:
    """Whether a label names short events in a row, so that they may be heard faster."""
    return bool(wordings(label, ["fast"]))


def category(label: str) -> str:
    """The first segment of a label's first family path, `OTHER` for a label that is not listed."""
    paths = families(label)
    return paths[0].split("/", 1)[0] if paths else OTHER


@lru_cache(maxsize=_KIN_CACHE)
def are_kin(first: str, second: str) -> bool:
    """Whether one recording could be called by either label.

    True for equal labels, and not for those that a spec says exclude one another. Two listed labels
    are kin if `are_related` holds of their family paths. Any other two are kin if the words of one
    are a run of the other's: "rock" and "alternative rock".
    """
    if first == second:
        return True
    if _exclude(first, second):
        return False
    first_paths, second_paths = families(first), families(second)
    if first_paths and second_paths:
        return are_related(first_paths, second_paths)
    both = (f" {plain_words(name_of(label))} " for label in (first, second))
    words, others = sorted(both, key=len)
    return words.strip() != "" and words in others


def _exclude(first: str, second: str) -> bool:
    return any(
        own is not None and plain_words(name_of(other)) in map(plain_words, own.excludes)
        for (_, own), other in ((read_own(first), second), (read_own(second), first))
    )


@lru_cache(maxsize=_KIN_CACHE)
def could_be_called(sound: str, name: str) -> bool:
    """Whether a recording labelled `sound` could be called `name`, so that nobody may deny it.

    True for kin, and where `name` is related to what the sound is called besides: an airplane could
    be called an engine, an engine no airplane.
    """
    if are_kin(sound, name):
        return True
    return are_related(other_families(sound), families(name)) and not _exclude(sound, name)


def are_confusable(first: str, second: str) -> bool:
    """Whether one of two labels could be said of the other's recordings."""
    return could_be_called(first, second) or could_be_called(second, first)


def could_be_meant(noun_of: str, sound: str) -> bool:
    """Whether a noun of one label ends one of another: "the fire" may mean artillery fire."""
    nouns, named = (
        {f" {phrase.definite.partition(' ')[2]}" for phrase in wordings(label)}
        for label in (noun_of, sound)
    )
    return any(noun.strip() and name.endswith(noun) for noun in nouns for name in named)


def are_related(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether a path of one equals, or is above, a path of the other: "animal" and "animal/dog"."""
    return any(
        f"{one_path}/".startswith(f"{other_path}/") or f"{other_path}/".startswith(f"{one_path}/")
        for one_path in first
        for other_path in second
    )


@cache
def words_digest() -> str:
    """Of every shipped word list: captions made with other lists are other captions."""
    folder = shipped_path("lexicons")
    lists = sorted(
        (path for path in folder.iterdir() if path.name.endswith((".csv", ".txt"))),
        key=lambda path: path.name,
    )
    return digest(*(text for path in lists for text in (path.name, path.read_text("utf-8"))))


@cache
def _read_phrases() -> Mapping[str, Mapping[str, str]]:
    return {row["label"]: row for row in read_shipped_rows(PHRASES)}


@cache
def _read_spellings() -> Mapping[str, str]:
    """Listed labels as all spell them; of "Dog" and "dog" the latter, the sound that most mean."""
    return {fold_spelling(label): label for label in sorted(_read_phrases())}


def fold_spelling(label: str) -> str:
    """A label by which spellings compare: no case, and one kind of separators."""
    composed = unicodedata.normalize("NFC", label).casefold()
    return " ".join(_SEPARATORS.split(composed))


def _lower_title(plain: str) -> str:
    """A label within a sentence: "Kettle Boiling" as "kettle boiling", "Türklingel" as it is.

    What is not ASCII is no English, and its capitals are left as they were written.
    """
    if not plain.isascii():
        return plain
    words = plain.split(" ")
    is_title = "I" not in words and all(word.istitle() for word in words)
    return plain.lower() if is_title else lower_initial(plain)


def lower_initial(text: str) -> str:
    """Lower-case the first letter, unless it starts an acronym or the word "I"."""
    word = text.split(" ", 1)[0]
    if word == "I" or word.startswith("I'") or any(letter.isupper() for letter in word[1:]):
        return text
    return text[:1].lower() + text[1:]


# Tags: words that hold of a whole recording, each in a category such as genre or mood.


@dataclass(frozen=True, slots=True, order=True)
class Tag:
    """A tag of a recording: a "genre", a "mood" and so on, or of no category ("")."""

    category: str
    name: str


MUSIC: Final = "music"
"""The label of a clip that has none: tags tell of it."""


# Treatments by name, and how a clip tells its own.


class Treatment(StrEnum):
    """What is done to a recording: see `synth.audio.treatments`."""

    HALL = "hall"
    FAR = "far"
    HIGH = "high"
    LOW = "low"
    FAST = "fast"
    SLOW = "slow"
    RISING = "rising"
    FALLING = "falling"


TREATMENT: Final = "treatment"
"""The category of the tag that tells a clip's treatment."""

_MARK: Final = "~"


def treated_id(clip: str, treatment: Treatment) -> str:
    """Id of a clip's rendition."""
    return f"{clip}{_MARK}{treatment.value}"


def untreated_id(clip: str) -> str:
    """The id of the clip that one was made of; its own where it was not treated."""
    name, _, treatment = clip.rpartition(_MARK)
    return name if treatment in tuple(Treatment) else clip


def heard_tags(tags: Iterable[Mapping[str, str]]) -> tuple[Tag, ...]:
    """A clip's tags, but for that of its treatment: it is nothing that is heard beside others."""
    return tuple(Tag(**tag) for tag in tags if tag["category"] != TREATMENT)


def find_treatment(tags: Iterable[Mapping[str, str]]) -> str:
    """The treatment that a clip's tags tell, "" for none."""
    return next((tag["name"] for tag in tags if tag["category"] == TREATMENT), "")
