"""Keep the clips whose licences a spec allows. Bookkeeping, not legal advice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from synth.base.errors import SpecError, nearest
from synth.corpus.licence import (
    CONDITIONS,
    ONLY_VERSION,
    REFERENCE,
    UNKNOWN,
    Licence,
    parse_licence,
)
from synth.sources.catalogue import quarantine_row

STAGE: Final = "licence"
_SUGGESTED: Final = 3


@dataclass(frozen=True, slots=True)
class Allowed:
    """The licences that clips may have; `Allowed.of` makes it from a spec's names.

    Args:
        licences: Without a version: every version and port; without a port: every port.
    """

    licences: tuple[Licence, ...]

    @classmethod
    def of(cls, names: Sequence[str]) -> Allowed:
        """Read `licences: [CC0, CC-BY]`.

        A family's name (`CC-BY`) admits all its versions, `CC-BY-3.0` that version with its ports,
        `CC-BY-3.0-US` that port alone. `unknown` and `LicenseRef-...` admit just what is called so.
        """
        if not names:
            raise SpecError(
                "licences: the list is empty and would keep no clip",
                fix="name licences, as in [CC0, CC-BY], or leave `licences` out",
            )
        return cls(tuple(dict.fromkeys(_parse_name(name) for name in names)))

    def admits(self, licence: Licence) -> bool:
        """Whether a clip of this licence may be used."""
        return any(
            allowed.family == licence.family
            and allowed.version in ("", licence.version)
            and allowed.port in ("", licence.port)
            for allowed in self.licences
        )

    def __str__(self) -> str:
        return ", ".join(licence.id for licence in self.licences)


def withdraw_unlicensed(
    rows: Iterable[dict[str, Any]], allowed: Allowed
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Keep the clips whose licence is allowed.

    Args:
        rows: With the columns `id`, `location` and `licence`, the latter in any words that
            `parse_licence` reads.

    Returns:
        The rows to keep, and rows of `schema.QUARANTINE` for the others.
    """
    kept, withdrawn = [], []
    for row in rows:
        licence = parse_licence(row["licence"])
        if allowed.admits(licence):
            kept.append(row)
            continue
        has = "has no known licence" if licence == UNKNOWN else f"is under {licence.id}"
        reason = f"{has}; the spec allows {allowed}"
        withdrawn.append(quarantine_row(row["id"], row["location"], STAGE, reason))
    return kept, withdrawn


def suggest_licences(found: Iterable[str]) -> str:
    """What a spec may say for clips of some licences: those most clips have, in words it takes."""
    counts = Counter(parse_licence(text).id for text in found)
    names = [name for name, _ in counts.most_common(_SUGGESTED)]
    known = ", ".join(names)
    more = f" (and {len(counts) - len(names)} more)" if len(counts) > len(names) else ""
    said = f"if you may use these licences, write `licences: [{known}]`{more}"
    if UNKNOWN.id in counts:
        said += "; for your own sounds, set it in the index or as the source's `licence`"
    return said


def _parse_name(name: str) -> Licence:
    licence = parse_licence(name)
    meant = name.strip().casefold()
    if licence.known or meant == UNKNOWN.id or meant.startswith(REFERENCE.casefold()):
        return licence
    families = [
        f"{family}-{ONLY_VERSION[family]}" if family == "Apache" else family
        for family in CONDITIONS
    ]
    near = nearest(name, (*families, UNKNOWN.id), likeness=0.5)
    raise SpecError(
        f"licences: {name!r} is not known",
        fix=f"did you mean {near}?"
        if near
        else f"known: {', '.join(families)}; clips that say {name!r} are under {licence.id}",
    )
