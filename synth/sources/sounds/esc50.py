"""ESC-50: 2,000 clips of 5 s in 50 classes, and ESC-10 before it (Piczak, 2015).

Get it from github.com/karolpiczak/ESC-50 and give the unpacked folder, which holds `audio/` and
`meta/esc50.csv`. The dataset as a whole is CC BY-NC 3.0, its ESC-10 subset CC BY 3.0; single clips
are under what its file LICENSE says of them, and where that is missing, or silent on a clip, under
the whole's.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Final

from synth.base.errors import SourceError
from synth.corpus.licence import is_versioned, parse_licence
from synth.sources.reading.base import ClipRef
from synth.sources.reading.files import FileSource, read_text, require_folder, walk
from synth.sources.reading.tables import Columns, drop_duplicates, read_rows

# ESC-50's LICENSE file: for each clip its Freesound original, author and licence.
#
#     - [1-100032-A.ogg]: clip derived from rose_bark.wav (http://...) by nfrae [CC0]
#
# The file gives licences without versions. `[CC-BY]` and `[CC-BY-NC]` are read as version 3.0: the
# file's own header names 3.0 of both, and it is the version that Freesound offered when the clips
# were taken (2015 and before). CC0 and Sampling+ have one version.
#
# What the published file holds beyond that form, and how it is read:
#
# - titles with parentheses, brackets, commas and runs of spaces: the last address of a line is the
#   one, runs of spaces are one;
# - one title as a Markdown link, `[DrinkingCan[Norberd]](http://...)`: without the link's brackets;
# - letters that were written as escapes, `m\xe4\xe4kiv\xe4t`: the letters; escaped characters of no
#   width: nothing;
# - one name with a stray letter, `5-141683-Ad.ogg`: without it, as in the audio's name.


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
    """What the file says of one clip; its title may be empty."""

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
    lines = read_text(path, "save it as UTF-8").split("\n")
    credits: dict[str, Credit] = {}
    first: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if not _MEANT_AS_ENTRY.match(line):
            continue
        stem, credit = _entry(line, f"{path}: line {number}")
        if credits.setdefault(stem, credit) != credit:
            raise SourceError(
                f"{path}: line {number}: contradicts line {first[stem]} about {stem}",
                fix="keep only the right line",
            )
        first.setdefault(stem, number)
    return credits


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


COLLECTION: Final = "ESC-50 (K. J. Piczak)"
COLUMNS: Final = ("filename", "fold", "category", "esc10", "src_file", "take")


class Esc50(FileSource):
    """The dataset's own folder."""

    name: ClassVar[str] = "esc50"

    def refs(self) -> Iterator[ClipRef]:
        """One clip a row of `meta/esc50.csv`: split is the fold, recording is Freesound's."""
        fix = "give the ESC-50 folder that holds audio/ and meta/esc50.csv"
        require_folder(self.root / "audio", "the audio folder of ESC-50", fix)
        credits = read_credits(self.root)
        rows = read_rows(self.root / "meta" / "esc50.csv", Columns(COLUMNS, fix))
        for row in drop_duplicates(rows, "filename"):
            name = row["filename"].removesuffix(".wav")
            credit = credits.get(name.rpartition("-")[0])
            whole = "CC-BY-3.0" if row["esc10"] == "True" else "CC-BY-NC-3.0"
            original = row["src_file"]
            # A folder of the same layout, such as an export's, has no Freesound ids.
            ours = original.isdecimal()
            yield ClipRef(
                id=f"esc50/{name}",
                location=f"audio/{row['filename']}",
                labels=(row["category"],),
                recording=f"{'freesound' if ours else 'esc50'}/{original}",
                licence=credit.licence if credit else whole if ours else "unknown",
                attribution=credit.attribution(COLLECTION)
                if credit
                else f"{COLLECTION}, Freesound {original}" * ours,
                split=row["fold"],
            )


# ESC-10 as first released: ten folders `NNN - Name` of `FOLD-FREESOUND-TAKE.ogg`.
#
# Get it from github.com/karolpiczak/ESC-10. Licence: CC BY 3.0. It publishes no licences of single
# clips; where ESC-50's LICENSE lies beside the ten folders, its word on a clip is taken. Labels are
# ESC-50's names of the same classes, so that the two sets can be used together.


ESC10_COLLECTION: Final = "ESC-10 (K. J. Piczak)"
ESC50_NAMES: Final = {
    "Dog bark": "dog",
    "Rain": "rain",
    "Sea waves": "sea_waves",
    "Baby cry": "crying_baby",
    "Clock tick": "clock_tick",
    "Person sneeze": "sneezing",
    "Helicopter": "helicopter",
    "Chainsaw": "chainsaw",
    "Rooster": "rooster",
    "Fire crackling": "crackling_fire",
}
_FOLDER: Final = re.compile(r"\d{3} - (?P<name>.+)")
_OGG: Final = re.compile(r"(?P<fold>\d)-(?P<freesound>\d+)-(?P<take>[A-Z])\.ogg")


class Esc10(FileSource):
    """The dataset's ogg folder."""

    name: ClassVar[str] = "esc10"

    def refs(self) -> Iterator[ClipRef]:
        """One clip a file; the split is the fold, the recording Freesound's id."""
        fix = "give the ESC-10 folder that holds '001 - Dog bark' and its nine sisters"
        require_folder(self.root, "the ESC-10 folder", fix)
        folders = sorted(path for path in self.root.iterdir() if _FOLDER.fullmatch(path.name))
        if not folders:
            as_esc50 = (self.root / "meta" / "esc50.csv").is_file()
            raise SourceError(
                f"{self.root}: has no 'NNN - Name' folder",
                fix="it is laid out as ESC-50: use the source esc50" if as_esc50 else fix,
            )
        paths = {folder: [p for p in walk(folder) if p.suffix == ".ogg"] for folder in folders}
        if not any(paths.values()):
            raise SourceError(f"{self.root}: its folders have no .ogg file", fix=fix)
        credits = read_credits(self.root)
        for folder in folders:
            name = folder.name.split(" - ", 1)[1]
            for path in paths[folder]:
                parts = _OGG.fullmatch(path.name)
                if parts is None:
                    raise SourceError(
                        f"{path}: expected a name like 1-17150-A.ogg", fix="rename or remove it"
                    )
                credit = credits.get(path.stem)
                freesound = f"{ESC10_COLLECTION}, Freesound {parts['freesound']}"
                yield ClipRef(
                    id=f"esc10/{path.stem}",
                    location=path.relative_to(self.root).as_posix(),
                    labels=(ESC50_NAMES.get(name, name.lower().replace(" ", "_")),),
                    recording=f"freesound/{parts['freesound']}",
                    licence=credit.licence if credit else "CC-BY-3.0",
                    attribution=credit.attribution(ESC10_COLLECTION) if credit else freesound,
                    split=parts["fold"],
                )
