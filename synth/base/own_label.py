"""Own labels: what a spec says of a label of its library, kept in the label itself.

A label carries it behind its name, so that whoever reads a manifest knows it, in any process:
`budgie {noun: a budgie; clause: a budgie chirps; gerund: a budgie chirping; like: Bird}`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Final, Self, TypeAlias

from pydantic import AfterValidator, ValidationError, model_validator

from synth.base.choice import StrictModel
from synth.base.doors import tidy_text

_OWN: Final = re.compile(r"(?P<name>.*\S) \{(?P<told>[a-z]+: [^{}]*)\}", re.DOTALL)
_BETWEEN: Final = "; "
_LISTED: Final = " | "
_MARKS: Final = ";|{}"


def _check_words(text: str) -> str:
    if text != " ".join(text.split()).rstrip(".") or not text or set(text) & set(_MARKS):
        raise ValueError(f"expected words without {' '.join(_MARKS)} and no final stop")
    return text


LabelName: TypeAlias = Annotated[str, AfterValidator(tidy_text)]
"""A label in a setting, spelt as libraries spell theirs: composed, on one line."""
_Part: TypeAlias = Annotated[LabelName, AfterValidator(_check_words)]


class OwnLabel(StrictModel):
    """What a spec says of a label.

    Args:
        like: A listed label that the sound is a kind of; without words it is said as that.
        noun: A noun phrase: "a budgie".
        clause: A clause: "a budgie chirps".
        gerund: A gerund phrase: "a budgie chirping".
        countable: Whether it names one short event, which may be heard twice; by default as `like`.
        also: Listed labels that the sound could be called besides: an airplane is an engine, too.
        excludes: Labels that it could never be called, nor they by it.
    """

    like: _Part | None = None
    noun: _Part | None = None
    clause: _Part | None = None
    gerund: _Part | None = None
    countable: bool | None = None
    also: tuple[_Part, ...] = ()
    excludes: tuple[_Part, ...] = ()

    @model_validator(mode="after")
    def _check_forms(self) -> Self:
        forms = (self.noun, self.clause, self.gerund)
        if any(forms) and not all(forms):
            raise ValueError("give noun, clause and gerund, or none of them")
        return self

    def label(self, name: str) -> str:
        """The label of this name that carries this."""
        fields = (f"{key}: {_write(value)}" for key, value in self if value not in (None, ()))
        text = _BETWEEN.join(fields)
        return f"{name} {{{text}}}" if text else name


@lru_cache(maxsize=1 << 16)
def read_own(label: str) -> tuple[str, OwnLabel | None]:
    """The name of a label, and what it carries; None for a label that is a name alone."""
    match = _OWN.fullmatch(label) if label.endswith("}") else None
    if match is None:
        return label, None
    fields = dict(part.partition(": ")[::2] for part in match["told"].split(_BETWEEN))
    lists = {key: fields[key].split(_LISTED) for key in ("also", "excludes") if key in fields}
    try:
        return match["name"], OwnLabel.model_validate({**fields, **lists})
    except ValidationError:
        return label, None


def name_of(label: str) -> str:
    """A label without what it carries: the library's own."""
    return read_own(label)[0]


def _write(value: object) -> str:
    if isinstance(value, tuple):
        return _LISTED.join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
