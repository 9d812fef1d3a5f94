"""ESC-50: 2,000 clips of 5 s in 50 classes (Piczak, 2015).

Get it from github.com/karolpiczak/ESC-50 and give the unpacked folder, which holds `audio/` and
`meta/esc50.csv`. Licence: CC BY-NC 3.0; the ESC-10 subset CC BY 3.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from synth.sources.base import ClipRef, FileSource, require_folder
from synth.sources.tables import Columns, read_rows

COLUMNS = ("filename", "fold", "category", "esc10", "src_file", "take")


class Esc50(FileSource):
    """The dataset's own folder."""

    name: ClassVar[str] = "esc50"

    def refs(self) -> Iterator[ClipRef]:
        """One clip a row of `meta/esc50.csv`; the split is the fold, the recording Freesound's id.

        Raises:
            SourceError: If the folder is not ESC-50's.
        """
        mend = "give the ESC-50 folder that holds audio/ and meta/esc50.csv"
        require_folder(self.root / "audio", "the audio folder of ESC-50", mend)
        for row in read_rows(self.root / "meta" / "esc50.csv", Columns(COLUMNS, mend)):
            in_esc10 = row["esc10"] == "True"
            yield ClipRef(
                id=f"esc50/{row['filename'].removesuffix('.wav')}",
                location=f"audio/{row['filename']}",
                labels=(row["category"],),
                recording=f"freesound/{row['src_file']}",
                licence="CC-BY-3.0" if in_esc10 else "CC-BY-NC-3.0",
                attribution=f"ESC-50 (K. J. Piczak), Freesound {row['src_file']}",
                split=row["fold"],
            )
