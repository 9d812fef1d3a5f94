r"""ESC-50's LICENSE file: for each clip its Freesound original, author and licence.

    - [1-100032-A.ogg]: clip derived from rose_bark.wav (http://...) by nfrae [CC0]

The file gives licences without versions. `[CC-BY]` and `[CC-BY-NC]` are read as version 3.0: the
file's own header names 3.0 of both, and it is the version that Freesound offered when the clips
were taken (2015 and before). CC0 and Sampling+ have one version.

What the published file holds beyond that form, and how it is read:

- titles with parentheses, brackets, commas and runs of spaces: the last address of a line is the
  one, runs of spaces are one;
- one title as a Markdown link, `[DrinkingCan[Norberd]](http://...)`: without the link's brackets;
- letters that were written as escapes, `m\xe4\xe4kiv\xe4t`: the letters; escaped characters of no
  width: nothing;
- one name with a stray letter, `5-141683-Ad.ogg`: without it, as in the audio's name.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from synth.base.errors import SourceError
from synth.corpus.licence import is_versioned, parse_licence

FILE: Final = "LICENSE"
VERSION: Final = "3.0"

_MEANT_AS_ENTRY: Final = re.compile(r"\s*[-*]?\s*\[\d|.*(\.(ogg|wav)\]|clip derived from)", re.I)
_ENTRY: Final = re.compile(
    r"\s*[-*]\s*\[(?P<stem>\d-\d+-[A-Z])[a-z]?(?:-\d+)?\.(?:ogg|wav)\]\s*:?\s*clip derived from"
    r"(?P<title>.*)\((?P<url>https?://\S+)\)\s+by\s+(?P<author>.+?)\s*\[(?P<licence>[^\[\]]+)\]\s*"
)
_LINK: Final = re.compile(r"\s*\[(?P<title>.+)\]")
_ESCAPE: Final = re.compile(r"\\x([0-9a-f]{2})|\\u([0-9a-f]{4})")


@dataclass(frozen=True, slots=True)
class Credit:
    """What the file says of one clip.

    Args:
        licence: SPDX-like id.
        title: Of the original on Freesound; may be empty.
        author: Freesound's name of the user.
        url: The original's page.
    """

    licence: str
    title: str
    author: str
    url: str

    def attribution(self, collection: str) -> str:
        """Whom to credit, with what was done to the sound: "cut from"."""
        return f'cut from "{self.title}" by {self.author} ({self.url}), in {collection}'


def read_credits(root: Path) -> dict[str, Credit]:
    """Credits by clip (`1-100032-A`), from the file `LICENSE` in `root`; empty without one.

    Lines that are no entries, such as the header, are passed over.
    """
    path = root / FILE
    if not path.is_file():
        return {}
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: {error}", fix="save it as UTF-8") from error
    found: dict[str, Credit] = {}
    first: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if not _MEANT_AS_ENTRY.match(line):
            continue
        stem, credit = _entry(line, f"{path}: line {number}")
        if found.setdefault(stem, credit) != credit:
            raise SourceError(
                f"{path}: line {number}: says other things of {stem} than line {first[stem]}",
                fix="keep the line that is right",
            )
        first.setdefault(stem, number)
    return found


def _entry(line: str, where: str) -> tuple[str, Credit]:
    entry = _ENTRY.fullmatch(line)
    if entry is None:
        raise SourceError(
            f"{where}: {line.strip()!r} cannot be read",
            fix="expected '- [1-100-A.ogg]: clip derived from TITLE (http://...) by NAME [CC0]'",
        )
    licence = parse_licence(entry["licence"])
    if not licence.known:
        raise SourceError(
            f"{where}: the licence [{entry['licence']}] is not known",
            fix="expected one like [CC0], [CC-BY], [CC-BY-NC] or [CC-Sampling+]",
        )
    if is_versioned(licence.family) and not licence.version:
        licence = replace(licence, version=VERSION)
    title = entry["title"]
    link = _LINK.fullmatch(title)
    plain = link["title"] if link else title
    return entry["stem"], Credit(licence.id, _text(plain), _text(entry["author"]), entry["url"])


def _text(written: str) -> str:
    return " ".join(_ESCAPE.sub(_letter, written).split())


def _letter(escape: re.Match[str]) -> str:
    letter = chr(int(escape[1] or escape[2], 16))
    if unicodedata.category(letter) == "Cf":
        return ""
    return letter if letter.isprintable() else escape[0]
