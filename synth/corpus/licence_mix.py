"""The licence of a work that mixes clips of several licences.

This is bookkeeping, not legal advice. The rules are those of the adapter's licence chart in
Creative Commons' FAQ (creativecommons.org/faq), read for sounds that are cut, levelled and mixed,
which makes every sample an adaptation:

- a mix keeps the conditions of all its parts: CC0 with CC-BY is CC-BY, NC anywhere makes it NC;
- ShareAlike asks for itself: with CC-BY-SA goes only what asks for no more, so CC-BY-SA with
  CC-BY-NC, or with CC-BY-NC-SA, has no common licence;
- NoDerivatives lets no adaptation be shared, so no sample with such a clip has a licence;
- the version is the highest among the parts; beside ShareAlike parts, the highest of theirs, since
  they let adaptations pass to later versions. Only 1.0 does not: it goes with no other version. A
  part without a version counts as lower than all. Ports that differ give the unported text.

The chart is silent on three. Sampling Plus keeps one more condition, no advertising: with CC-BY it
is Sampling Plus, with CC-BY-NC it is NonCommercial Sampling Plus, and no ShareAlike licence can
hold it. MIT and Apache mix with the public domain alone: no rule here joins them with others. A
licence that is not known makes the mix unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from synth.corpus.licence import CONDITIONS, NO_COMMON, ONLY_VERSION, UNKNOWN, Licence, is_versioned

HUB_LICENCES: Final = frozenset(
    {"cc0-1.0", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0"}
    | {"cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nd-4.0"}
    | {"cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0"}
    | {"cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0", "mit", "apache-2.0"}
)
"""Of the identifiers in huggingface.co/docs/hub/repositories-licenses, those of known families."""


@dataclass(frozen=True, slots=True)
class Effective:
    """What a mix can be under.

    Args:
        licence: The licence; `NO_COMMON` or `UNKNOWN` where there is none.
        reason: Why there is none, naming the licences that stand against it; else "".
    """

    licence: Licence
    reason: str = ""

    @property
    def id(self) -> str:
        """Id of the licence."""
        return self.licence.id


def effective_licence(licences: Iterable[Licence]) -> Effective:
    """The least restrictive licence that keeps the conditions of every part.

    Neither order nor repetition matter, and parts may be joined first: the licence of a mix with
    another part is that of all the parts.

    Args:
        licences: Of the parts. None at all give `unknown`; one that is not known stands alone,
            and makes any mix `unknown`.
    """
    parts = sorted(set(licences))
    if not parts:
        return Effective(UNKNOWN, "there are no clips")
    unknown = [part for part in parts if not part.known and part != NO_COMMON]
    if unknown:
        licence = unknown[0] if len(parts) == 1 else UNKNOWN
        return Effective(licence, f"the terms of {_join_names(unknown)} are not known")
    if NO_COMMON in parts:
        return Effective(NO_COMMON, "one part has no common licence already")
    for part in parts:
        if part.no_derivatives:
            return Effective(NO_COMMON, f"{part.id} lets no adaptation be shared, as a sample is")
    for one, other in combinations(parts, 2):
        reason = _explain_conflict(one, other)
        if reason:
            return Effective(NO_COMMON, reason)
    return Effective(_join(parts))


def hugging_face_licence(licence: Licence) -> str:
    """The Hub's identifier for a dataset card's `license`.

    `cc`, the Hub's name for the whole family, stands for Creative Commons licences that it does
    not list: no version, a port, Sampling Plus. `other` stands for what is outside it or has no
    common licence. With both, give the card `license_name` too.
    """
    identifier = licence.id.lower()
    if identifier in HUB_LICENCES:
        return identifier
    if licence == UNKNOWN:
        return "unknown"
    return "cc" if licence.known and licence.attribution else "other"


def _join_names(licences: Sequence[Licence]) -> str:
    return " and ".join("a clip" if part == UNKNOWN else part.id for part in licences)


def _explain_conflict(one: Licence, other: Licence) -> str:
    """Why no licence covers both; "" where one does."""
    asked = one.conditions | other.conditions
    for strict, lax in ((one, other), (other, one)):
        if strict.share_alike and strict.conditions != asked:
            return f"{strict.id} asks for itself, which does not keep the terms of {lax.id}"
    versions = {part.version for part in (one, other) if part.share_alike} - {""}
    if "1.0" in versions and len(versions) > 1:
        return f"{one.id} and {other.id} differ in version, and ShareAlike 1.0 allows no later one"
    if _family(asked) is None:
        return f"no rule here joins the terms of {one.id} and {other.id}"
    return ""


def _join(parts: Sequence[Licence]) -> Licence:
    if len(parts) == 1:
        return parts[0]
    asked = frozenset[str]().union(*(part.conditions for part in parts))
    family = _family(asked)
    assert family is not None, f"a conflict among {parts} was missed"
    if family in ONLY_VERSION:
        return Licence(family, ONLY_VERSION[family])
    strict = [part for part in parts if part.share_alike]
    versioned = [part for part in strict or parts if is_versioned(part.family)]
    version = max(part.version for part in versioned)
    ports = {part.port for part in versioned if part.version == version}
    return Licence(family, version, ports.pop() if len(ports) == 1 else "")


def _family(asked: frozenset[str]) -> str | None:
    """The family of exactly these conditions: of none, CC0."""
    return next((name for name, conditions in CONDITIONS.items() if conditions == asked), None)
