"""How two tags relate: what one implies, makes likely or excludes, by words and shipped lists."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import cache, lru_cache
from typing import Final

from synth.base.shipped import read_shipped_rows
from synth.labels.lexicon import Tag
from synth.labels.words import plain_words, words_of
from synth.text.grammar.tokens import content_words
from synth.text.tags.tags import (
    TagCategory,
    TagVocabulary,
    are_same_words,
    phrase_tag,
    spell,
    spellings,
)


@lru_cache(maxsize=65_536)
def explain_nearness(first: str, second: str) -> str:
    """Why two names cannot stand for contraries, "" where their words allow it.

    "rock" is implied by "alternative rock", "vocals" is "vocal" by its stem, and "acoustic guitar"
    and "electric guitar" share their last word: one recording often has both.
    """
    ours, theirs = _keys(first), _keys(second)
    if ours == theirs or are_same_words(first, second):
        return "same name"
    if not ours or not theirs:
        return "no word in it"
    if set(ours) <= set(theirs) or set(theirs) <= set(ours):
        return "one holds the other"
    if ours[-1] == theirs[-1]:
        return "shared last word"
    return ""


def is_implied(tag: Tag, known: Iterable[Tag]) -> bool:
    """Whether a tag is among the known ones, or too near one to be called absent."""
    return any(explain_nearness(tag.name, other.name) for other in known)


def holds_words(name: str, other: str) -> bool:
    """Whether a name holds every word of another: "pop rock" holds "rock", not "pop punk"."""
    return bool(_keys(other)) and set(_keys(other)) <= set(_keys(name))


def is_named_in(tag: Tag, caption: str) -> bool:
    """Whether every word of a tag, by its stem, stands somewhere in a caption."""
    words = set(_keys(tag.name))
    return bool(words) and words <= set(_stems(caption))


@lru_cache(maxsize=65_536)
def _keys(name: str) -> tuple[str, ...]:
    """The stems of a name's words, in order, as it is spelled in a sentence."""
    return _stems(spell(name))


@lru_cache(maxsize=1024)
def _stems(text: str) -> tuple[str, ...]:
    """A function word ("soft", "in") and a number stand as they are."""
    words = (word.key for word in words_of(text))
    return tuple(
        next(iter(content_words(word)), word) if word.isalpha() else word for word in words
    )


# Families of tags, and what one tag says along with itself: techno is electronic.
#
# The shipped lists are `lexicons/tag_families.csv` and `lexicons/tag_implications.csv`; the second
# tells what a family, or a single tag, implies, and what is likely beside it: drums in rock. A tag
# of the family `vague` says too little to be right or wrong: "contemporary", "groove". What other
# families it has are what it may well be.


LISTING: Final = "lexicons/tag_families.csv"
IMPLICATIONS: Final = "lexicons/tag_implications.csv"
_LONGEST: Final = 4
_VAGUE: Final = "vague"


@lru_cache(maxsize=65_536)
def implies(said: Tag, other: Tag) -> bool:
    """Whether a recording that bears one tag can hardly lack the other.

    So "alternative rock" implies rock, techno electronic, a violin strings and a rapper a voice;
    and a mood implies those that stand as high or low as it does.
    """
    if said == other or holds_words(said.name, other.name):
        return True
    moods = phrase_tag(said).kind is phrase_tag(other).kind is TagCategory.MOOD
    if moods and not families(said).isdisjoint(families(other)):
        return True
    return _names(_read_implications("implied"), said, other)


@lru_cache(maxsize=65_536)
def makes_likely(said: Tag, other: Tag) -> bool:
    """Whether a recording that bears one tag may well bear the other: rock has drums."""
    return (
        implies(said, other)
        or _names_any(other)
        or _names(_read_implications("likely"), said, other)
    )


def _names_any(tag: Tag) -> bool:
    """Whether a tag is likely in any music."""
    names = {plain_words(tag.name), plain_words(phrase_tag(tag).words)}
    return not names.isdisjoint(_read_implications("likely")["any music"])


def are_opposed(first: Tag, second: Tag) -> bool:
    """Whether two moods stand nowhere together, and opposite: "sad" and "loud" do not.

    They do so in valence, or in arousal where neither tells of valence.
    """
    ours, theirs = families(first), families(second)
    axis = "valence" if any(family[:-1] == "valence" for family in ours | theirs) else "arousal"
    return {f"{axis}+", f"{axis}-"} <= ours | theirs and ours.isdisjoint(theirs)


def _names(listed: Mapping[str, frozenset[str]], said: Tag, other: Tag) -> bool:
    keys = {plain_words(said.name), plain_words(phrase_tag(said).words)}
    if not is_vague(said):
        keys |= families(said)
    if phrase_tag(said).kind is TagCategory.VOCAL:
        keys.add("voice")
    names = frozenset().union(*(listed.get(key, frozenset()) for key in keys))
    return not names.isdisjoint({plain_words(other.name), plain_words(phrase_tag(other).words)})


def explain_undeniable(tag: Tag, caption: str, known: Iterable[Tag]) -> str:
    """Why an absent tag is not denied beside a caption and known tags, "" where it may be.

    Nothing may say it, and nothing named may make it likely, also by the shipped list's words and
    by "sings" or "rapper" for a voice. A mood is denied only beside its opposite; an origin, a use
    and what most music has are never denied.
    """
    named = (*known, *find_listed(caption))
    if reason := explain_never_denied(tag):
        return reason
    if lacks_opposite(tag, named):
        return "a mood without its opposite"
    if reason := next(filter(None, (explain_said(tag, other) for other in named)), ""):
        return reason
    voiced = {word.key for word in words_of(caption)} & _read_implications("implied")["voice words"]
    if "voice" in families(tag) or phrase_tag(tag).kind is TagCategory.VOCAL:
        return f"said by {min(voiced)}" if voiced else ""
    return ""


def explain_said(tag: Tag, other: Tag) -> str:
    """How a tag is said by another, or made likely, "" where it is far from it."""
    if makes_likely(other, tag):
        return f"said by {other.name}"
    return f"near {other.name}" if share_family(tag, other) else ""


def lacks_opposite(tag: Tag, named: Iterable[Tag]) -> bool:
    """Whether a tag is a mood, and none that is named stands opposite."""
    is_mood = phrase_tag(tag).kind is TagCategory.MOOD
    return is_mood and not any(are_opposed(tag, other) for other in named)


def explain_never_denied(tag: Tag) -> str:
    """Why a tag is denied beside nothing, "" where it may be."""
    if phrase_tag(tag).kind is TagCategory.OTHER:
        return "an origin or use that nobody tells of"
    return "in most music" if _names_any(tag) else ""


def families(tag: Tag) -> frozenset[str]:
    """The families of a tag: those of its name, or else of every run of words in it."""
    return _listed_families(tag) - {_VAGUE}


def is_vague(tag: Tag) -> bool:
    """Whether a tag says too little to contradict anything, or to be denied."""
    return _VAGUE in _listed_families(tag)


@cache
def _listed_families(tag: Tag) -> frozenset[str]:
    kind = phrase_tag(tag).kind.value
    name = plain_words(phrase_tag(tag).words)
    whole = _read_listing().get((name, kind)) or _read_listing().get((plain_words(tag.name), kind))
    if whole:
        return whole
    words = name.split()
    runs = (
        " ".join(words[at : at + size])
        for size in range(1, _LONGEST)
        for at in range(len(words) - size + 1)
    )
    listed = [_read_listing().get((run, kind), frozenset()) for run in runs]
    # "contemporary jazz" is as clear as "jazz".
    is_clear = any(families_of and _VAGUE not in families_of for families_of in listed)
    return frozenset().union(*listed) - ({_VAGUE} if is_clear else set())


@cache
def _read_listing() -> Mapping[tuple[str, str], frozenset[str]]:
    return {
        (plain_words(row["words"]), row["category"]): frozenset(row["families"].split())
        for row in read_shipped_rows(LISTING)
    }


@cache
def _read_implications(column: str) -> Mapping[str, frozenset[str]]:
    return {
        row["said"]: frozenset(map(plain_words, filter(None, row[column].split(";"))))
        for row in read_shipped_rows(IMPLICATIONS)
    }


@cache
def _listed_tags() -> TagVocabulary:
    return TagVocabulary.of(Tag(kind, words) for words, kind in _read_listing())


@lru_cache(maxsize=4096)
def find_listed(caption: str) -> tuple[Tag, ...]:
    """The tags of the shipped list that a caption names."""
    return _listed_tags().find_tags(caption)


# Which tags contradict: those of disjoint families, by a shipped list of families.
#
# A genre's family is its root ("rock", "electronic"), an instrument's its section; a mood stands
# high or low in valence and in arousal, and contradicts one that stands opposite. Vague tags
# contradict nothing.


_KINDS: Final = frozenset(
    {
        TagCategory.GENRE,
        TagCategory.MOOD,
        TagCategory.INSTRUMENT,
        TagCategory.VOCAL,
        TagCategory.ERA,
    }
)


def compare_names(first: Tag, second: Tag) -> bool:
    """Whether the names of two tags tell if they contradict, before what they mean does."""
    kind = phrase_tag(first).kind
    is_open = kind is phrase_tag(second).kind and not (is_vague(first) or is_vague(second))
    return is_open and kind in _KINDS - {TagCategory.ERA, TagCategory.VOCAL}


def explain_alike(first: Tag, second: Tag) -> str:
    """Why two tags do not contradict by what they mean; tags of one `meaning` do so alike."""
    ours, theirs = phrase_tag(first), phrase_tag(second)
    if ours.kind is not theirs.kind:
        return "of another kind"
    if ours.kind not in _KINDS:
        return f"{ours.kind.value} tags do not exclude one another"
    if is_vague(first) or is_vague(second):
        return "too vague"
    if _is_variety(first) or _is_variety(second):
        return "a variety"
    if ours.kind is TagCategory.ERA:
        return "same name" if ours.words == theirs.words else ""
    if ours.kind is TagCategory.MOOD and families(first) and families(second):
        return "" if are_opposed(first, second) else "moods that may go together"
    both = families(first) & families(second)
    if not (families(first) and families(second)):
        return "of no known family"
    return f"both {min(both)}" if both else ""


def meaning(tag: Tag) -> Hashable:
    """All that `explain_alike` knows of a tag."""
    said = phrase_tag(tag)
    is_era = said.kind is TagCategory.ERA
    return said.kind, is_vague(tag), _is_variety(tag), families(tag), said.words if is_era else ""


def _is_variety(tag: Tag) -> bool:
    """Whether a genre is of one country or a mixture, whatever else it is: "Scandinavian pop"."""
    said = phrase_tag(tag)
    words = said.words.split()
    has_name = len(words) > 1 and said.words != said.words.lower()
    return said.kind is TagCategory.GENRE and (has_name or len(words) > 2)


def name_keys(name: str) -> frozenset[Hashable]:
    """Of which two names share one, if `explain_nearness` says anything of them.

    A name without a word is near every other: it has none.
    """
    return frozenset(_keys(name)) | spellings(name)


def leaves_open(known: Tag, other: Tag) -> bool:
    """Whether a tag says nothing of another: it is vague or of another kind, and nowhere near."""
    ours, theirs = phrase_tag(known), phrase_tag(other)
    if ours.kind is theirs.kind and not (
        is_vague(known) and families(known).isdisjoint(families(other))
    ):
        return False
    return not implies(known, other) and not explain_nearness(known.name, other.name)


def share_family(tag: Tag, other: Tag) -> bool:
    """Whether two tags of one kind stand in one family."""
    same_kind = phrase_tag(tag).kind is phrase_tag(other).kind
    return same_kind and not families(tag).isdisjoint(families(other))
