"""Licences of clips as values, read from what datasets publish.

This is bookkeeping, not legal advice: it repeats what a library says of its clips, in one spelling.
It does not know whether the library was right, nor what your use of the clips is.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from synth.corpus.licence_words import NOTHING_SAID, PORTS, LicenceTerms, read_words

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
"""What each family asks for. PLUS: not for advertising; MIT, APACHE: that notice is kept."""

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
    def attribution(self) -> bool:
        """Whether the author, or a notice, has to be named."""
        return bool(self.conditions)

    @property
    def non_commercial(self) -> bool:
        """Whether adaptations are for non-commercial use only.

        Sampling Plus is not among these, though whole copies under it are.
        """
        return "NC" in self.conditions

    @property
    def share_alike(self) -> bool:
        """Whether adaptations must be under this very licence."""
        return "SA" in self.conditions

    @property
    def no_derivatives(self) -> bool:
        """Whether no adaptation may be shared."""
        return "ND" in self.conditions

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
    found = _find_licence(_read_address(address))
    others = (folded[: address.start()] + " " + folded[address.end() :]).strip(" <>()[].,;:-")
    if found is None or (others and not _agrees(_find_licence(read_words(others)), found)):
        return _make_reference(plain)
    return found


def is_versioned(family: str) -> bool:
    """Whether licences of this family differ by version and port."""
    return family in CONDITIONS and family not in ONLY_VERSION


def _agrees(words: Licence | None, address: Licence) -> bool:
    return (
        words is not None
        and words.family == address.family
        and words.version in ("", address.version)
        and words.port in ("", address.port)
    )


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
    if port and (port not in PORTS or version in ("", "4.0")):
        return None
    return Licence(family, version, port)


def _family(symbols: frozenset[str]) -> str | None:
    if "CC0" in symbols:
        return "CC0" if symbols <= {"CC0", "PD"} else None
    if symbols and symbols <= {"PD", "PDM"}:
        return "CC-PDM"
    asked = symbols | {"BY"} if "PLUS" in symbols else symbols
    return next(
        (name for name, conditions in CONDITIONS.items() if asked == conditions != set()), None
    )


def _make_reference(words: str) -> Licence:
    slug = re.sub(r"[^\w.+]+|_", "-", words).strip("-")
    slug = re.sub("-{2,}", "-", slug)
    return Licence(REFERENCE + slug) if slug else UNKNOWN
