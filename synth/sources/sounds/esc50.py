"""ESC-50: 2,000 clips of 5 s in 50 classes (Piczak, 2015).

Get it from github.com/karolpiczak/ESC-50 and give the unpacked folder, which holds `audio/` and
`meta/esc50.csv`. The dataset as a whole is CC BY-NC 3.0, its ESC-10 subset CC BY 3.0; single clips
are under what its file LICENSE says of them, and where that is missing, or silent on a clip, under
the whole's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from synth.sources.reading.base import ClipRef, Origin
from synth.sources.reading.files import FileSource, require_folder
from synth.sources.reading.tables import Columns, drop_duplicates, read_rows
from synth.sources.sounds.esc50_licence import read_credits

COLLECTION: Final = "ESC-50 (K. J. Piczak)"
COLUMNS: Final = ("filename", "fold", "category", "esc10", "src_file", "take")


class Esc50(FileSource):
    """The dataset's own folder."""

    name: ClassVar[str] = "esc50"
    origin: ClassVar[Origin] = Origin(
        title="ESC-50: Dataset for Environmental Sound Classification",
        url="https://github.com/karolpiczak/ESC-50",
        licence="CC BY-NC 3.0; the ESC-10 subset CC BY 3.0; single clips as LICENSE says",
        reference="K. J. Piczak, ESC: Dataset for Environmental Sound Classification, ACM MM 2015",
    )

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
