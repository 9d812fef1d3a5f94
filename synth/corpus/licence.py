"""Licences of clips as values, read from what datasets publish.

This is bookkeeping, not legal advice: it repeats what a library says of its clips, in one spelling.
It does not know whether the library was right, nor what your use of the clips is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations
from typing import Final

from synth.base.shipped import read_shipped_rows

# The words of licences: elements, versions, jurisdictions, and what adds nothing.


NOTHING_SAID: Final = frozenset(
    {"", "-", "?", "unknown", "none", "n/a", "na", "nan", "null", "noassertion"}
    | {"unspecified", "not specified", "not given", "undefined"}
)
"""Texts in place of a licence, in lower case."""

_VERSION: Final = re.compile(r"v?(?P<major>\d)(?:\.(?P<minor>\d))?")


@dataclass(frozen=True, slots=True)
class LicenceTerms:
    """What the words of a text say, not yet whether there is such a licence.

    Args:
        symbols: Elements (BY, NC, SA, ND, PLUS) and names (CC0, PDM, PD, MIT, APACHE).
    """

    symbols: frozenset[str]
    versions: frozenset[str]
    ports: frozenset[str]


@cache
def _phrases() -> Mapping[tuple[str, ...], tuple[str, str]]:
    """What words say: an element or a name (`symbol`), a `port`, or nothing that counts ("")."""
    rows = read_shipped_rows("lexicons/tables/licence_words.csv")
    return {tuple(row["words"].split()): (row["kind"], row["value"]) for row in rows}


def _is_port(word: str) -> bool:
    return ("port", word) in _phrases().values()


def read_words(text: str) -> LicenceTerms | None:
    """Read a text in lower case; None where a word is not understood."""
    words = [word.strip(".") for word in re.split(r"[^\w.+]+|_", text)]
    words = [word for word in words if word]
    parts: dict[str, set[str]] = {"symbol": set(), "version": set(), "port": set(), "": set()}
    at, last = 0, ""
    while at < len(words):
        length, kind, value = _match_next(words, at, last)
        if not length:
            return None
        parts[kind].add(value)
        at, last = at + length, kind
    return LicenceTerms(
        frozenset(parts["symbol"]), frozenset(parts["version"]), frozenset(parts["port"])
    )


def _match_next(words: list[str], at: int, last: str) -> tuple[int, str, str]:
    """How many words are understood together, and as what; 0 where the first is not."""
    longest = max(map(len, _phrases()))
    for length in range(min(longest, len(words) - at), 0, -1):
        phrase = _phrases().get(tuple(words[at : at + length]))
        if phrase is not None:
            return length, *phrase
    version = _VERSION.fullmatch(words[at])
    if version is not None:
        return 1, "version", f"{version['major']}.{version['minor'] or 0}"
    # "in", "no" and "it" are jurisdictions only where an id ends in them.
    if last == "version" and at == len(words) - 1 and _is_port(words[at]):
        return 1, "port", words[at]
    return 0, "", ""


CONDITIONS: Final[dict[str, frozenset[str]]] = {
    "CC0": frozenset(),
    "CC-PDM": frozenset(),
    "CC-BY": frozenset({"BY"}),
    "CC-BY-SA": frozenset({"BY", "SA"}),
    "CC-BY-NC": frozenset({"BY", "NC"}),
    "CC-BY-NC-SA": frozenset({"BY", "NC", "SA"}),
    "CC-BY-ND": frozenset({"BY", "ND"}),
    "CC-BY-NC-ND": frozenset({"BY", "NC", "ND"}),
    "CC-Sampling-Plus": frozenset({"BY", "PLUS"}),
    "CC-NC-Sampling-Plus": frozenset({"BY", "NC", "PLUS"}),
    "MIT": frozenset({"MIT"}),
    "Apache": frozenset({"APACHE"}),
}
"""What each family asks for. BY: that the author is named; NC: no commercial use, under Sampling
Plus of whole copies only; SA: this very licence for adaptations; ND: that none is shared; PLUS: not
for advertising; MIT, APACHE: that notice is kept."""

ONLY_VERSION: Final = {
    "CC0": "1.0",
    "CC-PDM": "1.0",
    "CC-Sampling-Plus": "1.0",
    "CC-NC-Sampling-Plus": "1.0",
    "MIT": "",
    "Apache": "2.0",
}
"""The version of families that have one; all others have those of `VERSIONS`."""

VERSIONS: Final = ("1.0", "2.0", "2.1", "2.5", "3.0", "4.0")
REFERENCE: Final = "LicenseRef-"

_CREATIVE_COMMONS: Final = "https://creativecommons.org"
_CODES: Final = {
    "CC-Sampling-Plus": "sampling+",
    "CC-NC-Sampling-Plus": "nc-sampling+",
}
_PAGES: Final = {
    "CC0": f"{_CREATIVE_COMMONS}/publicdomain/zero/1.0/",
    "CC-PDM": f"{_CREATIVE_COMMONS}/publicdomain/mark/1.0/",
    "MIT": "https://opensource.org/license/mit",
    "Apache": "https://www.apache.org/licenses/LICENSE-2.0",
}
_URL: Final = re.compile(
    r"(?:https?://)?(?:www\.)?creativecommons\.org/"
    r"(?P<kind>licenses|publicdomain)/(?P<code>[a-z][a-z+%0-9-]*)"
    r"(?:/(?P<version>\d\.\d)(?:/(?!deed|legalcode)(?P<port>[a-z]+))?)?"
    r"/?(?:(?:deed|legalcode)(?:\.[a-z_-]+)?)?(?:[?#][^\s)>\]]*)?(?=$|[\s)>\].,;])"
)


@dataclass(frozen=True, slots=True, order=True)
class Licence:
    """A licence; `parse_licence` makes them.

    Args:
        family: A key of `CONDITIONS`, `unknown`, or `LicenseRef-` and the words of a licence that
            is not known here.
        version: "4.0"; "" where none is given.
        port: Jurisdiction of a Creative Commons licence before 4.0 that was adapted to one, as in
            its address ("us", "scotland"); "" for the unported text.
    """

    family: str
    version: str = ""
    port: str = ""

    @property
    def id(self) -> str:
        """SPDX identifier, or one in its manner: `CC-BY-3.0-US`, `CC-BY` where no version is known.

        SPDX lists no Sampling Plus and not every port.
        """
        return "-".join(part for part in (self.family, self.version, self.port.upper()) if part)

    @property
    def known(self) -> bool:
        """Whether its conditions are known here."""
        return self.family in CONDITIONS

    @property
    def conditions(self) -> frozenset[str]:
        """What it asks for; empty where that is nothing, or not known."""
        return CONDITIONS.get(self.family, frozenset())

    @property
    def url(self) -> str:
        """Address of its text; "" where it is not known, or not of which version."""
        if self.family in _PAGES:
            return _PAGES[self.family]
        if not (self.known and self.version):
            return ""
        code = _CODES.get(self.family) or self.family.removeprefix("CC-").lower()
        port = f"{self.port}/" if self.port else ""
        return f"{_CREATIVE_COMMONS}/licenses/{code}/{self.version}/{port}"


UNKNOWN: Final = Licence("unknown")
NO_COMMON: Final = Licence(f"{REFERENCE}no-common-licence")
"""What `licence_mix.effective_licence` gives for clips that no one licence covers."""


@lru_cache(maxsize=4096)
def parse_licence(text: str) -> Licence:
    """The licence that a text names: an SPDX id, an address, or words as datasets use them.

    Known are Creative Commons' six licences in every version and port, CC0, Sampling Plus, MIT and
    Apache 2.0. "Public domain", in whatever words, is the Public Domain Mark: a statement by
    somebody, not a waiver. Every word must be understood: "Attribution 3.0, no AI training" is
    not CC-BY-3.0. What is not understood keeps its words: "academic use" is
    `LicenseRef-academic-use`. A text that says nothing ("", "n/a") is `unknown`.

    An id is read as itself: `parse_licence(licence.id) == licence`.
    """
    plain = " ".join(unicodedata.normalize("NFKC", text).split())
    folded = plain.casefold()
    if folded in NOTHING_SAID:
        return UNKNOWN
    if folded.startswith(REFERENCE.casefold()):
        return _make_reference(plain[len(REFERENCE) :])
    address = _URL.search(folded)
    if address is None:
        return _find_licence(read_words(folded)) or _make_reference(plain)
    licence = _find_licence(_read_address(address))
    others = (folded[: address.start()] + " " + folded[address.end() :]).strip(" <>()[].,;:-")
    words = _find_licence(read_words(others)) if others else licence
    if licence is None or words is None or words.family != licence.family:
        return _make_reference(plain)
    agree = words.version in ("", licence.version) and words.port in ("", licence.port)
    return licence if agree else _make_reference(plain)


def is_versioned(family: str) -> bool:
    """Whether licences of this family differ by version and port."""
    return family in CONDITIONS and family not in ONLY_VERSION


def _read_address(address: re.Match[str]) -> LicenceTerms | None:
    code = address["code"].replace("%2b", "+")
    versions = frozenset({address["version"]} if address["version"] else ())
    ports = frozenset({address["port"]} if address["port"] else ())
    if address["kind"] == "publicdomain":
        symbols = {"zero": {"CC0"}, "mark": {"PDM"}}.get(code, set())
    elif code == "publicdomain":
        symbols = {"PD"}
    else:
        parts = code.replace("sampling+", "plus").upper().split("-")
        symbols = set(parts) if set(parts) <= {"BY", "NC", "SA", "ND", "PLUS"} else set()
    return LicenceTerms(frozenset(symbols), versions, ports)


def _find_licence(reading: LicenceTerms | None) -> Licence | None:
    """The licence of a reading; None where there is no such licence."""
    if reading is None or len(reading.versions) > 1 or len(reading.ports) > 1:
        return None
    family = _family(reading.symbols)
    if family is None:
        return None
    version = next(iter(reading.versions), "")
    port = next(iter(reading.ports), "")
    if family in ONLY_VERSION:
        only = ONLY_VERSION[family]
        return Licence(family, only) if version in ("", only) and not port else None
    if version not in ("", *VERSIONS):
        return None
    if port and (not _is_port(port) or version in ("", "4.0")):
        return None
    return Licence(family, version, port)


def _family(symbols: frozenset[str]) -> str | None:
    if "CC0" in symbols:
        return "CC0" if symbols <= {"CC0", "PD"} else None
    if symbols and symbols <= {"PD", "PDM"}:
        return "CC-PDM"
    asked = symbols | {"BY"} if "PLUS" in symbols else symbols
    return _find_family(asked) if asked else None


def _find_family(asked: frozenset[str]) -> str | None:
    """The family of exactly these conditions: of none, CC0."""
    return next((name for name, conditions in CONDITIONS.items() if conditions == asked), None)


def _make_reference(words: str) -> Licence:
    slug = re.sub(r"[^\w.+]+|_", "-", words).strip("-")
    slug = re.sub("-{2,}", "-", slug)
    return Licence(REFERENCE + slug) if slug else UNKNOWN


# The licence of a work that mixes clips of several licences.
#
# This is bookkeeping, not legal advice. The rules are those of the adapter's licence chart in
# Creative Commons' FAQ (creativecommons.org/faq), read for sounds that are cut, levelled and
# mixed, which makes every sample an adaptation:
#
# - a mix keeps the conditions of all its parts: CC0 with CC-BY is CC-BY, NC anywhere makes it NC;
# - ShareAlike asks for itself: with CC-BY-SA goes only what asks for no more, so CC-BY-SA with CC-
#   BY-NC, or with CC-BY-NC-SA, has no common licence;
# - NoDerivatives lets no adaptation be shared, so no sample with such a clip has a licence;
# - the version is the highest among the parts; beside ShareAlike parts, the highest of theirs,
#   since they let adaptations pass to later versions. Only 1.0 does not: it goes with no other
#   version. A part without a version counts as lower than all. Ports that differ give the unported
#   text.
#
# The chart is silent on three. Sampling Plus keeps one more condition, no advertising: with CC-BY
# it is Sampling Plus, with CC-BY-NC it is NonCommercial Sampling Plus, and no ShareAlike licence
# can hold it. MIT and Apache mix with the public domain alone: no rule here joins them with
# others. A licence that is not known makes the mix unknown.


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
        names = " and ".join("a clip" if part == UNKNOWN else part.id for part in unknown)
        return Effective(licence, f"the terms of {names} are not known")
    if NO_COMMON in parts:
        return Effective(NO_COMMON, "one part has no common licence already")
    for part in parts:
        if "ND" in part.conditions:
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
    return "cc" if licence.conditions else "other"


def _explain_conflict(one: Licence, other: Licence) -> str:
    """Why no licence covers both; "" where one does."""
    asked = one.conditions | other.conditions
    for strict, lax in ((one, other), (other, one)):
        if "SA" in strict.conditions and strict.conditions != asked:
            return f"{strict.id} asks for itself, which does not keep the terms of {lax.id}"
    versions = {part.version for part in (one, other) if "SA" in part.conditions} - {""}
    if "1.0" in versions and len(versions) > 1:
        return f"{one.id} and {other.id} differ in version, and ShareAlike 1.0 allows no later one"
    if _find_family(asked) is None:
        return f"no rule here joins the terms of {one.id} and {other.id}"
    return ""


def _join(parts: Sequence[Licence]) -> Licence:
    if len(parts) == 1:
        return parts[0]
    asked = frozenset[str]().union(*(part.conditions for part in parts))
    family = _find_family(asked)
    assert family is not None, f"a conflict among {parts} was missed"
    if family in ONLY_VERSION:
        return Licence(family, ONLY_VERSION[family])
    strict = [part for part in parts if "SA" in part.conditions]
    versioned = [part for part in strict or parts if is_versioned(part.family)]
    version = max(part.version for part in versioned)
    ports = {part.port for part in versioned if part.version == version}
    return Licence(family, version, ports.pop() if len(ports) == 1 else "")
