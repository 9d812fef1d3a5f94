"""Song Describer: 1,106 captions of 706 tracks of MTG-Jamendo, two minutes of each (2023).

From zenodo.org/records/10072001:

- `song_describer.csv`: caption_id, track_id, caption, is_valid_subset (True, False, or empty where
  nobody has looked), familiarity, artist_id, album_id, path, duration. A row a caption, up to five
  a track; `duration` is the whole track's, `path` the whole track's too ("04/1004.mp3");
- `audio.zip`: the first two minutes, `04/1004.2min.mp3`, unpacked into `audio/` or, as the
  repository's README has it, into `audio/audio/`;
- `audio_licenses.txt` and `song_describer.mtg-jamendo.tsv`, in MTG-Jamendo's forms.

The dataset is meant for evaluation, and its tracks are of MTG-Jamendo's test split 0: the split is
"test".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final, Literal

from synth.sources.music.mtg_jamendo import TrackRights, read_rights, track_number
from synth.sources.reading.base import ClipRef
from synth.sources.reading.collected import Collected
from synth.sources.reading.files import optional_file, require_folder
from synth.sources.reading.tables import Columns, TableRow, read_rows
from synth.sources.reading.tag_files import read_jamendo

TABLE: Final = "song_describer.csv"
RIGHTS: Final = "audio_licenses.txt"
TAGS: Final = "song_describer.mtg-jamendo.tsv"
CUT_S: Final = 120.0
_MEND: Final = "give the folder of Song Describer's song_describer.csv"
_COLUMNS: Final = Columns(
    ("caption_id", "track_id", "caption", "is_valid_subset", "path", "duration"), _MEND
)


class SongDescriber(Collected):
    """The caption table of `root`, and a folder of audio.

    Args:
        root: Holds `song_describer.csv`.
        audio: Folder of the unpacked `audio.zip`.
        subset: `valid` for the captions only that its makers have validated (746).
    """

    name: ClassVar[str] = "song_describer"
    subset: Literal["full", "valid"] = "full"

    def refs(self) -> Iterator[ClipRef]:
        """One clip a track, with its captions in the table's order."""
        require_folder(self.root, "the folder of Song Describer", _MEND)
        rows: dict[str, list[TableRow]] = {}
        for row in read_rows(self.root / TABLE, _COLUMNS):
            is_valid = row.truth("is_valid_subset")
            if self.subset == "full" or is_valid:
                rows.setdefault(track_number(row["track_id"], row.where), []).append(row)
        rights = read_rights(optional_file(self.root / RIGHTS, "the licences"))
        path = optional_file(self.root / TAGS, "the table of tags")
        tags = {
            track_number(track.id, f"{path}: line {track.line}"): track.tags
            for track in (read_jamendo(path) if path else ())
        }
        files = self.files()
        for number, captions in rows.items():
            first = captions[0]
            cut = f"{first['path'].removesuffix('.mp3')}.2min.mp3"
            right = rights.get(number, TrackRights(f"Jamendo track {number}", "unknown"))
            yield ClipRef(
                id=f"song_describer/{number}",
                location=files.find_path(cut, f"audio/{cut}", first["path"]) if files else cut,
                captions=tuple(text for row in captions if (text := row["caption"].strip())),
                recording=f"jamendo/{number}",
                licence=right.licence,
                attribution=f"{right.credit}; Song Describer",
                split="test",
                tags=tags.get(number, ()),
                duration_s=min(first.seconds("duration", is_length=True), CUT_S),
            )
