"""UrbanSound8K: 8,732 slices of up to 4 s in 10 classes (Salamon, Jacoby and Bello, 2014).

As published: the folder `UrbanSound8K` with `audio/fold1` to `audio/fold10` and
`metadata/UrbanSound8K.csv` (slice_file_name, fsID, start, end, salience, fold, classID, class;
times in seconds of the Freesound recording fsID). All slices of a recording are in one fold. The
authors credited are in `FREESOUNDCREDITS.txt`.

Salience 1 means that the class is in the foreground, 2 that it is behind other sounds, which nobody
named. A slice of the second kind is no recording of its class alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final, Literal

from synth.base.units import Seconds
from synth.sources.reading.base import ClipRef
from synth.sources.reading.files import FileSource, require_folder
from synth.sources.reading.tables import Columns, TableRow, drop_duplicates, read_rows

COLUMNS: Final = ("slice_file_name", "fsID", "start", "end", "salience", "fold", "class")
FOREGROUND: Final = "1"
BACKGROUND: Final = "2"
LICENCE: Final = "CC-BY-NC-3.0"
_MEND: Final = "give the UrbanSound8K folder that holds audio/ and metadata/UrbanSound8K.csv"


class UrbanSound8K(FileSource):
    """The dataset's own folder.

    Args:
        root: Holds `audio/` and `metadata/`.
        background: Slices whose class is behind other sounds: `refuse` puts them into the
            quarantine table, `keep` takes them as they are.
    """

    name: ClassVar[str] = "urbansound8k"
    background: Literal["refuse", "keep"] = "refuse"

    def refs(self) -> Iterator[ClipRef]:
        """One clip a slice; the split is the fold, the recording Freesound's id."""
        require_folder(self.root / "audio", "the audio folder of UrbanSound8K", _MEND)
        path = self.root / "metadata" / "UrbanSound8K.csv"
        for row in drop_duplicates(read_rows(path, Columns(COLUMNS, _MEND)), "slice_file_name"):
            name = row["slice_file_name"]
            yield ClipRef(
                id=f"urbansound8k/{name.removesuffix('.wav')}",
                location=f"audio/fold{row['fold']}/{name}",
                labels=(row["class"],),
                recording=f"freesound/{row['fsID']}",
                licence=LICENCE,
                attribution=f"UrbanSound8K (Salamon, Jacoby and Bello), Freesound {row['fsID']}",
                split=row["fold"],
                duration_s=_length(row),
                refusal=self._refusal(row),
            )

    def _refusal(self, row: TableRow) -> str:
        salience = row["salience"]
        if salience not in (FOREGROUND, BACKGROUND):
            row.refuse(f"salience is {salience!r}, expected 1 (foreground) or 2 (background)")
        if salience == BACKGROUND and self.background == "refuse":
            return "is in the background of other sounds (salience 2)"
        return ""


def _length(row: TableRow) -> Seconds:
    start, end = row.seconds("start"), row.seconds("end")
    if end <= start:
        row.refuse(f"start is {row['start']!r} and end {row['end']!r}, expected seconds in order")
    return end - start
