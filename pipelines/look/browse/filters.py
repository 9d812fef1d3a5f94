"""What a reader asks to see, and the condition that it puts to the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from synth.base.errors import SegueError

NONE: Final = "(none)"
"""How a filter asks for the samples that have no relation."""

FACTS: Final = "facts"
"""The table of what samples are filtered by, one row a sample, in the order of the plan."""

_CONDITIONS: Final = {
    "label": "list_contains(labels, $label)",
    "relation": "relation = $relation",
    "split": "split = $split",
    "kind": "list_contains(kinds, $kind)",
    "licence": "list_contains($licence, licences)",
}


MAX_LETTERS: Final = 500
MAX_WORDS: Final = 32


class LongSearchError(SegueError):
    """A search for more than anybody types."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which samples are wanted; an empty field asks for nothing.

    Args:
        text: Words that one sentence of the sample, its notation or its id holds, in any case.
        label: A label that is heard.
        relation: The main caption's connective, or `NONE`.
        split: `train`, `val` or `test`.
        licence: Id of the licence that the mix is under.
        kind: Edit kind of one of its negatives.
    """

    text: str = ""
    label: str = ""
    relation: str = ""
    split: str = ""
    licence: str = ""
    kind: str = ""

    @classmethod
    def of(cls, asked: Mapping[str, str]) -> Filter:
        """From the parameters of a request, each named as its field."""
        wanted = {each.name: asked.get(each.name, "").strip() for each in fields(cls)}
        for name, value in wanted.items():
            if len(value) > MAX_LETTERS or len(value.split()) > MAX_WORDS:
                raise LongSearchError(
                    f"{name}: {len(value):,} letters in {len(value.split()):,} words are too many",
                    fix=f"search for at most {MAX_WORDS} words of {MAX_LETTERS} letters together",
                )
        return cls(**wanted)

    def to_params(self) -> dict[str, str]:
        """The fields that ask for something."""
        values = {each.name: str(getattr(self, each.name)) for each in fields(self)}
        return {name: value for name, value in values.items() if value}


def build_query(wanted: Filter, mixes: list[list[str]]) -> tuple[str, dict[str, Any]]:
    """The query for the places of what a filter finds, and its values.

    What the reader wrote is in the values alone.

    Args:
        mixes: The sets of clip licences that make a mix of the wanted licence.
    """
    asked = wanted.to_params()
    words = {f"word{at}": word for at, word in enumerate(asked.pop("text", "").split())}
    values: dict[str, Any] = {**asked, **words}
    if wanted.relation == NONE:
        values["relation"] = ""
    if wanted.licence:
        values["licence"] = mixes or [[NONE]]
    condition = " AND ".join(_CONDITIONS[name] for name in asked) or "true"
    query = f"SELECT place FROM {FACTS} WHERE {condition}"
    if words:
        held = _build_words_condition(list(words))
        query = f"SELECT file_row_number AS place FROM samples WHERE {held}" + (
            f" AND file_row_number IN ({query})" if asked else ""
        )
    return f"{query} ORDER BY place", values


def _build_words_condition(names: Sequence[str]) -> str:
    """Whether one sentence, the notation or the id holds all of the words."""

    def match_all(text: str) -> str:
        return " AND ".join(f"contains(lower({text}), lower(${name}))" for name in names)

    listed = " OR ".join(
        f"len(list_filter({column}, lambda each: {match_all('each.text')})) > 0"
        for column in ("positives", "negatives")
    )
    single = " OR ".join(f"({match_all(column)})" for column in ("caption", "notation", "id"))
    return f"({single} OR {listed})"
