"""The words of licences: elements, versions, jurisdictions, and what adds nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

NOTHING_SAID: Final = frozenset(
    {"", "-", "?", "unknown", "none", "n/a", "na", "nan", "null", "noassertion"}
    | {"unspecified", "not specified", "not given", "undefined"}
)
"""Texts in place of a licence, in lower case."""

_NAMES: Final = {
    "ar": "argentina",
    "am": "armenia",
    "au": "australia",
    "at": "austria",
    "az": "azerbaijan",
    "be": "belgium",
    "br": "brazil",
    "bg": "bulgaria",
    "ca": "canada",
    "cl": "chile",
    "cn": "china mainland",
    "co": "colombia",
    "cr": "costa rica",
    "hr": "croatia",
    "cz": "czech republic",
    "dk": "denmark",
    "ec": "ecuador",
    "eg": "egypt",
    "ee": "estonia",
    "fi": "finland",
    "fr": "france",
    "ge": "georgia",
    "de": "germany",
    "gr": "greece",
    "gt": "guatemala",
    "hk": "hong kong",
    "hu": "hungary",
    "igo": "intergovernmental organizations",
    "in": "india",
    "ie": "ireland",
    "il": "israel",
    "it": "italy",
    "jp": "japan",
    "kr": "south korea",
    "lu": "luxembourg",
    "mk": "macedonia",
    "my": "malaysia",
    "mt": "malta",
    "mx": "mexico",
    "nl": "netherlands",
    "nz": "new zealand",
    "no": "norway",
    "pe": "peru",
    "ph": "philippines",
    "pl": "poland",
    "pt": "portugal",
    "pr": "puerto rico",
    "ro": "romania",
    "rs": "serbia",
    "scotland": "uk scotland",
    "sg": "singapore",
    "si": "slovenia",
    "za": "south africa",
    "es": "spain",
    "se": "sweden",
    "ch": "switzerland",
    "tw": "taiwan",
    "th": "thailand",
    "ug": "uganda",
    "uk": "uk england wales",
    "us": "united states",
    "ve": "venezuela",
    "vn": "vietnam",
}

PORTS: Final = frozenset(_NAMES)
"""Jurisdictions that Creative Commons adapted licences to, as in their addresses."""

_ELEMENTS: Final = {
    "BY": ("attribution", "by"),
    "NC": ("noncommercial", "non commercial", "nc"),
    "SA": ("sharealike", "share alike", "sa"),
    "ND": (
        "noderivatives",
        "noderivs",
        "no derivatives",
        "no derivs",
        "no derivative works",
        "nd",
    ),
    "PLUS": ("sampling+", "sampling +", "sampling plus"),
    "CC0": (
        "cc0",
        "cc 0",
        "cc zero",
        "creative commons 0",
        "creative commons zero",
        "creative commons cc0",
    ),
    "PDM": ("pdm", "public domain mark"),
    "PD": ("public domain", "public domain dedication", "publicdomain"),
    "MIT": ("mit",),
    "APACHE": ("apache",),
}

_ADDS_NOTHING: Final = (
    *("cc", "creative commons", "license", "licence", "licensed", "under", "the", "version", "v"),
    *("international", "unported", "generic", "universal", "aka music sharing"),
)

_ALSO: Final = {"cn": "mainland china", "kr": "korea", "scotland": "scotland", "us": "usa"}

_PHRASES: Final[dict[tuple[str, ...], tuple[str, str]]] = {
    **{tuple(words.split()): ("", "") for words in _ADDS_NOTHING},
    **{
        tuple(words.split()): ("symbol", symbol)
        for symbol, spellings in _ELEMENTS.items()
        for words in spellings
    },
    **{tuple(name.split()): ("port", code) for code, name in _NAMES.items()},
    **{tuple(name.split()): ("port", code) for code, name in _ALSO.items()},
    ("england", "wales"): ("port", "uk"),
    ("uk", "england", "and", "wales"): ("port", "uk"),
    ("england", "and", "wales"): ("port", "uk"),
}
_LONGEST: Final = max(map(len, _PHRASES))
_VERSION: Final = re.compile(r"v?(?P<major>\d)(?:\.(?P<minor>\d))?")


@dataclass(frozen=True, slots=True)
class LicenceTerms:
    """What the words of a text say, not yet whether there is such a licence.

    Args:
        symbols: Elements (BY, NC, SA, ND, PLUS) and names (CC0, PDM, PD, MIT, APACHE).
        versions: Like "3.0".
        ports: Keys of `PORTS`.
    """

    symbols: frozenset[str]
    versions: frozenset[str]
    ports: frozenset[str]


def read_words(text: str) -> LicenceTerms | None:
    """Read a text in lower case; None where a word is not understood."""
    words = [word.strip(".") for word in re.split(r"[^\w.+]+|_", text)]
    words = [word for word in words if word]
    said: dict[str, set[str]] = {"symbol": set(), "version": set(), "port": set(), "": set()}
    at, last = 0, ""
    while at < len(words):
        length, kind, value = _match_next(words, at, last)
        if not length:
            return None
        said[kind].add(value)
        at, last = at + length, kind
    return LicenceTerms(
        frozenset(said["symbol"]), frozenset(said["version"]), frozenset(said["port"])
    )


def _match_next(words: list[str], at: int, last: str) -> tuple[int, str, str]:
    """How many words are understood together, and as what; 0 where the first is not."""
    for length in range(min(_LONGEST, len(words) - at), 0, -1):
        phrase = _PHRASES.get(tuple(words[at : at + length]))
        if phrase is not None:
            return length, *phrase
    version = _VERSION.fullmatch(words[at])
    if version is not None:
        return 1, "version", f"{version['major']}.{version['minor'] or 0}"
    # "in", "no" and "it" are jurisdictions only where an id ends in them.
    if last == "version" and at == len(words) - 1 and words[at] in PORTS:
        return 1, "port", words[at]
    return 0, "", ""
