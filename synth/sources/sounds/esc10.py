"""ESC-10 as first released: ten folders `NNN - Name` of `FOLD-FREESOUND-TAKE.ogg`.

Get it from github.com/karolpiczak/ESC-10. Licence: CC BY 3.0. It publishes no licences of single
clips; where ESC-50's LICENSE lies beside the ten folders, its word on a clip is taken. Labels are
ESC-50's names of the same classes, so that the two sets can be used together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from synth.base.errors import SourceError
from synth.sources.reading.base import ClipRef, Origin
from synth.sources.reading.files import FileSource, require_folder, walk
from synth.sources.sounds.esc50 import read_credits

COLLECTION: Final = "ESC-10 (K. J. Piczak)"

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
_FILE: Final = re.compile(r"(?P<fold>\d)-(?P<freesound>\d+)-(?P<take>[A-Z])\.ogg")


class Esc10(FileSource):
    """The dataset's ogg folder."""

    name: ClassVar[str] = "esc10"
    origin: ClassVar[Origin] = Origin(
        title="ESC-10: Dataset for Environmental Sound Classification",
        url="https://github.com/karolpiczak/ESC-10",
        licence="CC BY 3.0",
        reference="K. J. Piczak, ESC: Dataset for Environmental Sound Classification, ACM MM 2015",
    )

    def refs(self) -> Iterator[ClipRef]:
        """One clip a file; the split is the fold, the recording Freesound's id."""
        fix = "give the ESC-10 folder that holds '001 - Dog bark' and its nine sisters"
        require_folder(self.root, "the ESC-10 folder", fix)
        folders = sorted(path for path in self.root.iterdir() if _FOLDER.fullmatch(path.name))
        if not folders:
            as_esc50 = (self.root / "meta" / "esc50.csv").is_file()
            raise SourceError(
                f"{self.root}: holds no 'NNN - Name' folder",
                fix="it is laid out as ESC-50: use the source esc50" if as_esc50 else fix,
            )
        paths = {folder: [p for p in walk(folder) if p.suffix == ".ogg"] for folder in folders}
        if not any(paths.values()):
            raise SourceError(f"{self.root}: its folders hold no .ogg file", fix=fix)
        credits = read_credits(self.root)
        for folder in folders:
            name = folder.name.split(" - ", 1)[1]
            for path in paths[folder]:
                parts = _FILE.fullmatch(path.name)
                if parts is None:
                    raise SourceError(
                        f"{path}: expected a name like 1-17150-A.ogg", fix="rename or remove it"
                    )
                credit = credits.get(path.stem)
                freesound = f"{COLLECTION}, Freesound {parts['freesound']}"
                yield ClipRef(
                    id=f"esc10/{path.stem}",
                    location=path.relative_to(self.root).as_posix(),
                    labels=(ESC50_NAMES.get(name, name.lower().replace(" ", "_")),),
                    recording=f"freesound/{parts['freesound']}",
                    licence=credit.licence if credit else "CC-BY-3.0",
                    attribution=credit.attribution(COLLECTION) if credit else freesound,
                    split=parts["fold"],
                )
