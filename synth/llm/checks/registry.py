"""The checks that a prompt's file may call for, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from synth.base.errors import suggestion
from synth.llm.checks.check import Check
from synth.llm.checks.claim_checks import Reading, SameClaim, Truth
from synth.llm.checks.figure_checks import Measures, SameNames, SameNumerals
from synth.llm.checks.label_checks import Recomposed, ScenesCheck, TagsCheck
from synth.llm.checks.order_checks import NotationTold, Rebound, Reordered, SameOrder, Shares
from synth.llm.checks.text_checks import (
    Differs,
    Distinct,
    Language,
    MaxWords,
    OneLine,
    TextCount,
    Words,
)

CHECKS: Final[Mapping[str, type[Check]]] = {
    check.name: check
    for check in (
        *(OneLine, Differs, Distinct, Words, MaxWords, TextCount, Language),
        *(Reordered, Rebound, SameOrder, NotationTold, Shares),
        *(ScenesCheck, Recomposed, TagsCheck, SameNumerals, SameNames, Measures, Truth),
        *(Reading, SameClaim),
    )
}


def read_checks(listed: Sequence[Any]) -> list[Check]:
    """Checks as a file lists them: `[{differs: {}}, {max_words: 30}, {truth: refuted}]`."""
    return [_read(entry, f"checks.{place}") for place, entry in enumerate(listed)]


def _read(entry: Any, where: str) -> Check:
    if isinstance(entry, str):
        entry = {entry: {}}
    if not isinstance(entry, Mapping) or len(entry) != 1:
        raise ValueError(f"{where}: expected one check and its settings, got {entry!r}")
    ((name, settings),) = entry.items()
    kind = CHECKS.get(name)
    if kind is None:
        raise ValueError(f"{where}: there is no check {name!r}; {suggestion(name, CHECKS)}")
    if settings is None:
        settings = {}
    if not isinstance(settings, Mapping):
        if not kind.main:
            raise ValueError(f"{where}.{name}: expected settings by name, got {settings!r}")
        settings = {kind.main: settings}
    try:
        return kind.model_validate(settings)
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(map(str, problem["loc"]))
        told = (
            "there is no such setting" if problem["type"] == "extra_forbidden" else problem["msg"]
        )
        raise ValueError(f"{where}.{name}.{key}: {told}") from error
