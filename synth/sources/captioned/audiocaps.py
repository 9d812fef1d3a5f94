"""AudioCaps: captions of 10 s AudioSet clips (Kim et al., 2019).

Captions come as `train.csv`, `val.csv` and `test.csv` (audiocap_id, youtube_id, start_time,
caption); the audio has to be collected from YouTube by whoever may do so. Files are found by any of
the names in common use.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from synth.sources.reading.base import ClipRef
from synth.sources.reading.collected import Collected, find_tables, stems
from synth.sources.reading.tables import Columns, TableRow, read_rows

COLUMNS: Final = ("audiocap_id", "youtube_id", "start_time", "caption")
SPLITS: Final = ("train", "val", "test")
CLIP_S: Final = 10.0
_MEND: Final = "give the folder of AudioCaps' train.csv, val.csv and test.csv"


class AudioCaps(Collected):
    """The caption files of `root`, and a folder of audio."""

    name: ClassVar[str] = "audiocaps"

    def refs(self) -> Iterator[ClipRef]:
        """One clip a (youtube_id, start_time), with all its captions; the split is the file's.

        A clip whose audio is not found keeps the location where it was expected, and is
        quarantined when it is opened.
        """
        expected = "train.csv, val.csv or test.csv"
        tables = find_tables(self.root, SPLITS, "SPLIT.csv", expected, _MEND)
        files = self.files()
        for split, path in tables.items():
            clips: dict[tuple[str, str], list[TableRow]] = {}
            for row in read_rows(path, Columns(COLUMNS, _MEND)):
                row.seconds("start_time")
                if not row["youtube_id"]:
                    row.refuse("names no youtube_id")
                clips.setdefault((row["youtube_id"], row["start_time"]), []).append(row)
            for (youtube_id, start), rows in clips.items():
                names = (*stems(youtube_id, start, CLIP_S), rows[0]["audiocap_id"])
                yield ClipRef(
                    id=f"audiocaps/{youtube_id}_{start}",
                    location=files.find_stem(*names) if files else names[0],
                    captions=tuple(row["caption"] for row in rows if row["caption"].strip()),
                    recording=f"youtube/{youtube_id}",
                    attribution=f"AudioCaps; YouTube {youtube_id}",
                    split=split,
                    duration_s=CLIP_S,
                )
