"""Phrases: how a label is said as a noun phrase, a clause or a gerund."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

PHRASES = "lexicons/phrases.csv"


@dataclass(frozen=True, slots=True)
class Phrase:
    """The forms of one sound in running text, lower case and without a final stop.

    Args:
        plain: The label as the papers print it: "crackling fire".
        noun: A noun phrase: "a crackling fire".
        clause: A clause: "a fire crackles".
        gerund: A gerund phrase: "a fire crackling".
    """

    plain: str
    noun: str
    clause: str
    gerund: str

    @classmethod
    def of_label(cls, label: str) -> Phrase:
        """The shipped forms of a label, or serviceable ones for a label that is not listed."""
        listed = shipped_phrases().get(label)
        return listed if listed is not None else cls.fallback(label)

    @classmethod
    def fallback(cls, label: str) -> Phrase:
        """Forms that are grammatical whatever the label is."""
        plain = label.replace("_", " ")
        sound = f"the sound of {_lower_initial(plain)}"
        return cls(plain, sound, f"{sound} is heard", sound)

    @classmethod
    def of_caption(cls, caption: str) -> Phrase:
        """A whole caption as a part of a longer one: no final stop, no capital inside."""
        plain = " ".join(caption.split()).rstrip(" .;,:!?")
        inner = _lower_initial(plain)
        return cls(plain, inner, inner, inner)


@cache
def shipped_phrases() -> Mapping[str, Phrase]:
    """The phrases that ship with the project, by label."""
    text = files("data_manifests").joinpath(PHRASES).read_text(encoding="utf-8")
    return {
        row["label"]: Phrase(
            row["label"].replace("_", " "), row["noun"], row["clause"], row["gerund"]
        )
        for row in csv.DictReader(text.splitlines())
    }


def _lower_initial(text: str) -> str:
    """Lower-case the first letter, unless it starts an acronym or the word "I"."""
    word = text.split(" ", 1)[0]
    if word == "I" or word.startswith("I'") or any(letter.isupper() for letter in word[1:]):
        return text
    return text[:1].lower() + text[1:]
