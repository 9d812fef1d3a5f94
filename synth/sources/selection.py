"""Which clips a spec lets in, and into which split: by licence and by recording.

Licences are bookkeeping, not legal advice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from synth.base.errors import SpecError, nearest
from synth.base.rng import uniform_hash
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
                "licences: expected a list of licences, got an empty one",
                fix="list licences, as in [CC0, CC-BY], or leave out `licences`",
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


def suggest_licences(texts: Iterable[str]) -> str:
    """What a spec may say for clips of some licences: those most clips have, in words it takes."""
    counts = Counter(parse_licence(text).id for text in texts)
    names = [name for name, _ in counts.most_common(_SUGGESTED)]
    known = ", ".join(names)
    more = f" (and {len(counts) - len(names)} more)" if len(counts) > len(names) else ""
    words = f"if you may use these licences, write `licences: [{known}]`{more}"
    if UNKNOWN.id in counts:
        words += "; for your own sounds, set it in the index or as the source's `licence`"
    return words


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


# The splits of a library's clips: no recording is in two.


@dataclass(frozen=True, slots=True)
class SplitRule:
    """How clips are dealt to a split.

    Args:
        name: `train`, `val` or `test`.
        fraction: Share of the recordings, or None.
        source_splits: The library's own splits or folds that form it.
    """

    name: str
    fraction: float | None = None
    source_splits: tuple[str, ...] = ()


def assign_splits(
    rows: Sequence[dict[str, Any]], rules: Sequence[SplitRule], seed: int
) -> list[dict[str, str]]:
    """Set each row's `split` so that no recording is in two; "" for rows outside every split.

    By fraction: a recording's split follows from the seed, its name and the fractions alone, so
    that it does not move where other clips come or go. The fractions hold in expectation.

    Returns:
        Rows of `schema.QUARANTINE` for clips of recordings that the library itself divides.
    """
    find_split = split_finder(rules, seed)
    for row in rows:
        row["split"] = find_split(row)
    return _withdraw_divided(rows)


def split_finder(rules: Sequence[SplitRule], seed: int) -> Callable[[Mapping[str, Any]], str]:
    """What tells a clip's split, by its row; see `assign_splits`."""
    if all(rule.fraction is None for rule in rules):
        owner = {name: rule.name for rule in rules for name in rule.source_splits}
        return lambda row: owner.get(row["source_split"], "")
    return lambda row: _split_at(uniform_hash("split", str(seed), row["recording"]), rules)


def _split_at(position: float, rules: Sequence[SplitRule]) -> str:
    edge = 0.0
    for rule in rules:
        edge += rule.fraction or 0.0
        if position < edge:
            return rule.name
    return rules[-1].name if edge > 1 - 1e-9 else ""


def _withdraw_divided(rows: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    splits: dict[str, set[str]] = {}
    for row in rows:
        if row["split"]:
            splits.setdefault(row["recording"], set()).add(row["split"])
    withdrawn = []
    for row in rows:
        splits_of = sorted(splits.get(row["recording"], ()))
        if row["split"] and len(splits_of) > 1:
            row["split"] = ""
            named = " and ".join(splits_of)
            reason = f"is from recording {row['recording']}, which lies in the splits {named}"
            withdrawn.append(quarantine_row(row["id"], row["location"], "split", reason))
    return withdrawn
