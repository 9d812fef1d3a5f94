"""AudioCaps: captions of 10 s AudioSet clips (Kim et al., 2019).

Captions come as `train.csv`, `val.csv` and `test.csv` (audiocap_id, youtube_id, start_time,
caption) from github.com/cdjkim/audiocaps; the audio has to be collected from YouTube by whoever may
do so. Files are found by any of the names in common use, see `_stems`. Licence: captions MIT.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final

from synth.errors import SourceError
from synth.sources.base import ClipRef, FileSource, require_folder
from synth.sources.tables import Columns, read_rows

COLUMNS: Final = ("audiocap_id", "youtube_id", "start_time", "caption")
SPLITS: Final = ("train", "val", "test")
SUFFIXES: Final = (".wav", ".flac", ".ogg", ".mp3", ".m4a", ".opus")


class AudioCaps(FileSource):
    """The caption files of `root`, and a folder of audio.

    Args:
        root: Holds the CSV files.
        audio: Folder of the audio files, below `root` or absolute; sub-folders are searched.
    """

    name: ClassVar[str] = "audiocaps"
    audio: Path = Path("audio")

    def refs(self) -> Iterator[ClipRef]:
        """One clip a (youtube_id, start_time), with all its captions; the split is the file's.

        A clip whose audio is not found keeps the location where it was expected, and is
        quarantined when it is opened.

        Raises:
            SourceError: If there is no caption file or no audio folder.
        """
        mend = "give the folder of AudioCaps' train.csv, val.csv and test.csv"
        require_folder(self.root, "the AudioCaps folder", mend)
        folder = require_folder(
            self.root / self.audio, "the audio folder of AudioCaps", "set audio: FOLDER"
        )
        present = [name for name in SPLITS if (self.root / f"{name}.csv").is_file()]
        if not present:
            raise SourceError(f"{self.root}: no train.csv, val.csv or test.csv", mend=mend)
        files = {
            path.stem: path.relative_to(folder)
            for path in sorted(folder.rglob("*"))
            if path.suffix.lower() in SUFFIXES
        }
        for split in present:
            captions: dict[tuple[str, str], list[str]] = {}
            ids: dict[tuple[str, str], str] = {}
            for row in read_rows(self.root / f"{split}.csv", Columns(COLUMNS, mend)):
                if not row["start_time"].replace(".", "", 1).isdecimal():
                    raise SourceError(
                        f"{self.root / split}.csv: clip {row['audiocap_id']}: "
                        f"start_time is {row['start_time']!r}, expected seconds",
                        mend="mend the row or remove it",
                    )
                key = (row["youtube_id"], row["start_time"])
                captions.setdefault(key, []).append(row["caption"])
                ids.setdefault(key, row["audiocap_id"])
            for (youtube_id, start), texts in captions.items():
                stems = _stems(ids[youtube_id, start], youtube_id, start)
                found = next((files[stem] for stem in stems if stem in files), Path(stems[0]))
                yield ClipRef(
                    id=f"audiocaps/{youtube_id}_{start}",
                    location=str(self.audio / found),
                    labels=(),
                    captions=tuple(texts),
                    recording=f"youtube/{youtube_id}",
                    licence="unknown",
                    attribution=f"AudioCaps; YouTube {youtube_id}",
                    split=split,
                )


def _stems(audiocap_id: str, youtube_id: str, start: str) -> tuple[str, ...]:
    """File names in common use for one clip, without extension."""
    begin = int(float(start))
    return (
        f"{youtube_id}_{start}",
        f"{youtube_id}_{begin}",
        f"Y{youtube_id}_{start}",
        f"{youtube_id}_{begin}_{begin + 10}",
        f"{youtube_id}_{begin * 1000}_{(begin + 10) * 1000}",
        audiocap_id,
        youtube_id,
        f"Y{youtube_id}",
    )
