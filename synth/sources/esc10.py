"""ESC-10 as first released: ten folders `NNN - Name` of `FOLD-FREESOUND-TAKE.ogg`.

Get it from github.com/karolpiczak/ESC-10. Licence: CC BY 3.0. Labels are ESC-50's names of the same
classes, so that the two sets can be used together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from synth.errors import SourceError
from synth.sources.base import ClipRef, FileSource, require_folder

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

    def refs(self) -> Iterator[ClipRef]:
        """One clip a file; the split is the fold, the recording Freesound's id.

        Raises:
            SourceError: If the folder is not ESC-10's.
        """
        mend = "give the ESC-10 folder that holds '001 - Dog bark' and its nine sisters"
        require_folder(self.root, "the ESC-10 folder", mend)
        folders = sorted(path for path in self.root.iterdir() if _FOLDER.fullmatch(path.name))
        if not folders:
            raise SourceError(f"{self.root}: holds no 'NNN - Name' folder", mend=mend)
        for folder in folders:
            name = folder.name.split(" - ", 1)[1]
            for path in sorted(folder.glob("*.ogg")):
                parts = _FILE.fullmatch(path.name)
                if parts is None:
                    raise SourceError(
                        f"{path}: expected a name like 1-17150-A.ogg", mend="rename or remove it"
                    )
                yield ClipRef(
                    id=f"esc10/{path.stem}",
                    location=f"{folder.name}/{path.name}",
                    labels=(ESC50_NAMES.get(name, name.lower().replace(" ", "_")),),
                    recording=f"freesound/{parts['freesound']}",
                    licence="CC-BY-3.0",
                    attribution=f"ESC-10 (K. J. Piczak), Freesound {parts['freesound']}",
                    split=parts["fold"],
                )
