"""Which tags contradict: those of disjoint families, by a shipped list of families.

A genre's family is its root ("rock", "electronic"), an instrument's its section; a mood stands high
or low in valence and in arousal, and contradicts one that stands opposite. Vague tags contradict
nothing.
"""

from __future__ import annotations

from typing import Final

from synth.labels.tag import Tag
from synth.text.tags.tag_families import are_opposed, families, implies, is_vague
from synth.text.tags.tag_kin import explain_nearness
from synth.text.tags.tag_words import TagCategory, phrase_tag

_KINDS: Final = frozenset(
    {
        TagCategory.GENRE,
        TagCategory.MOOD,
        TagCategory.INSTRUMENT,
        TagCategory.VOCAL,
        TagCategory.ERA,
    }
)


def explain_not_contrary(first: Tag, second: Tag) -> str:
    """Why two tags do not contradict, "" where they do."""
    ours, theirs = phrase_tag(first), phrase_tag(second)
    if ours.kind is not theirs.kind:
        return "of another kind"
    if ours.kind not in _KINDS:
        return f"{ours.kind.value} tags do not exclude one another"
    if is_vague(first) or is_vague(second):
        return "too vague"
    if ours.kind is TagCategory.ERA:
        return "same name" if ours.words == theirs.words else ""
    named = "" if ours.kind is TagCategory.VOCAL else explain_nearness(first.name, second.name)
    if named:
        return named
    if ours.kind is TagCategory.MOOD and families(first) and families(second):
        return "" if are_opposed(first, second) else "moods that may go together"
    return _shared_family(families(first), families(second))


def leaves_open(known: Tag, other: Tag) -> bool:
    """Whether a tag says nothing of another: it is vague or of another kind, and nowhere near."""
    ours, theirs = phrase_tag(known), phrase_tag(other)
    if ours.kind is theirs.kind and not (
        is_vague(known) and families(known).isdisjoint(families(other))
    ):
        return False
    return not implies(known, other) and not explain_nearness(known.name, other.name)


def _shared_family(ours: frozenset[str], theirs: frozenset[str]) -> str:
    if not ours or not theirs:
        return "of no known family"
    common = sorted(ours & theirs)
    return f"both {common[0]}" if common else ""
