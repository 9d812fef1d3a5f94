"""Values of a spec that are wrong, in words, with what was meant."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from synth.base.errors import SpecError
from synth.sources.licence_filter import Allowed

CORPUS: Final = r"^[a-z0-9]+(-[a-z0-9]+)*$"
CORPUS_LETTERS: Final = 40
_FOREIGN: Final = re.compile(r"[^a-z0-9]+")


def make_corpus_name(text: str) -> str:
    """The name of a corpus that is most like a text."""
    return _FOREIGN.sub("-", text.lower()).strip("-")[:CORPUS_LETTERS].strip("-") or "corpus"


def check_corpus(name: object) -> None:
    """Refuse a name that a corpus cannot have.

    Raises:
        ValueError: If it cannot.
    """
    if isinstance(name, str) and name != make_corpus_name(name):
        raise ValueError(
            f"expected lowercase letters, digits and single '-', {CORPUS_LETTERS} at most, got "
            f"{name!r}; try {make_corpus_name(name)!r}"
        )


def check_licences(names: tuple[str, ...]) -> None:
    """Refuse licences that are not known.

    Raises:
        ValueError: If one is not.
    """
    try:
        Allowed.of(names)
    except SpecError as error:
        told = str(error).removeprefix("licences: ")
        raise ValueError(
            f"{told}; write a family (CC-BY), a version (CC-BY-4.0), a port (CC-BY-3.0-US), the "
            "licence's address, or unknown"
        ) from error


def check_splits(splits: Mapping[str, Any]) -> None:
    """Refuse splits that are not all shares, or all lists that have nothing in common.

    Raises:
        ValueError: If they are neither.
    """
    shares = {name: share for name, share in splits.items() if isinstance(share, float)}
    if not splits or (shares and len(shares) < len(splits)):
        raise ValueError("give every split a share, or every split a list of source splits")
    total = sum(shares.values())
    if any(share <= 0 for share in shares.values()) or total > 1 + 1e-9:
        told = f"shares must be above 0 and add up to 1 at most, got {total:g}"
        raise ValueError(told + _suggest_percent(shares, total))
    listed = [str(name) for names in splits.values() if isinstance(names, list) for name in names]
    twice = {name for name in listed if listed.count(name) > 1}
    if twice:
        raise ValueError(f"source split {', '.join(sorted(twice))} is in two splits")


def _suggest_percent(shares: Mapping[str, float], total: float) -> str:
    """What was meant by shares that are percent."""
    if total > 100 or any(share < 1 for share in shares.values()):
        return ""
    meant = ", ".join(f"{name}: {share / 100:g}" for name, share in shares.items())
    return f"; did you mean {{{meant}}}?"
