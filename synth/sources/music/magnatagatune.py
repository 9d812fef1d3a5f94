"""MagnaTagATune: 25,863 clips of 29 s from Magnatune's tracks, with 188 tags (Law et al., 2009).

From mirg.city.ac.uk, all fields separated by tabs and quoted, in spite of the names:

- `annotations_final.csv`: clip_id, a column of 0 and 1 for each tag, mp3_path;
- `clip_info_final.csv`: clip_id, track_number, title, artist, album, url, segmentStart, segmentEnd,
  original_url, mp3_path. It only tells whom to credit; clips without it are named by their path;
- `mp3.zip.001` to `.003`, joined and unpacked as folders `0` to `f`, here or in `mp3/`.

The path of a clip ends in its stretch of the track, `f/ARTIST-ALBUM-NN-TITLE-30-59.mp3`: the rest
of its name is the recording, which the clips of a track share. All of an album lie in one folder;
the split is the one in common use: folders 0 to b train, c validation, d to f test. Three files
have no bytes and end in the quarantine (35644, 55753 and 57881).

The tags come from a game and say the same in many spellings. Spellings of one word or of one voice
are read as one tag; those that say there is no voice as "instrumental". Other denials ("no piano",
"not rock") say what is not heard, and are no tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar, Final

from synth.base.errors import SourceError
from synth.base.shipped import shipped_table
from synth.labels.lexicon import Tag
from synth.sources.reading.base import ClipRef
from synth.sources.reading.collected import Collected
from synth.sources.reading.files import FIX_FILE, optional_file, require_folder
from synth.sources.reading.tables import Columns, TableRow, drop_duplicates, read_rows
from synth.sources.reading.tag_files import parse_tag

TAGS: Final = "annotations_final.csv"
CREDITS: Final = "clip_info_final.csv"
LICENCE: Final = "CC-BY-NC-SA-1.0"
CLIP_S: Final = 29.0
_MEND: Final = "give the folder of MagnaTagATune's annotations_final.csv"
_FOLDERS: Final = "0123456789abcdef"
_PATH: Final = re.compile(r"(?P<folder>[0-9a-f])/(?P<track>.+?)(?:-\d+-\d+)?\.mp3")


class MagnaTagATune(Collected):
    """The tables of `root`, and the unpacked clips.

    Args:
        root: Holds `annotations_final.csv`.
        audio: Holds the folders `0` to `f`; by default `mp3`, or `root` where it has them.
    """

    name: ClassVar[str] = "magnatagatune"

    def list_usual(self) -> tuple[str, ...]:
        """The folder `mp3`, or the root where it has any of the clips' folders."""
        here = (".",) if any((self.root / folder).is_dir() for folder in _FOLDERS) else ()
        return "mp3", *here

    def refs(self) -> Iterator[ClipRef]:
        """One clip a row of the tags' table."""
        require_folder(self.root, "the folder of MagnaTagATune", _MEND)
        path = self.root / TAGS
        credits = self._credits()
        files = self.files()
        for row in drop_duplicates(_rows(path, "clip_id", "mp3_path"), "clip_id"):
            clip, place = row["clip_id"], row["mp3_path"]
            where = f"{row.where}: clip {clip}"
            marks = {tag: row[tag] for tag in row if tag not in ("clip_id", "mp3_path")}
            for tag, value in marks.items():
                if value not in {"0", "1"}:
                    raise SourceError(
                        f"{where}: {tag!r} is {value!r}, expected 0 or 1", fix=FIX_FILE
                    )
            yield ClipRef(
                id=f"magnatagatune/{clip}",
                location=files.find_path(place) if files else place,
                recording=recording_of(place, where),
                licence=LICENCE,
                attribution=credits.get(clip, f"Magnatune, {Path(place).stem}"),
                split=split_of(place, where),
                tags=heard_tags(tag for tag, value in marks.items() if value == "1"),
                duration_s=CLIP_S,
            )

    def _credits(self) -> dict[str, str]:
        path = optional_file(self.root / CREDITS, "the table of credits")
        if path is None:
            return {}
        return {
            row["clip_id"]: f"{row['title']} by {row['artist']} ({row['album']}), Magnatune"
            for row in _rows(path, "clip_id", "title", "artist", "album")
        }


def recording_of(path: str, where: str) -> str:
    """The track from which the clip of this path was cut."""
    return f"magnatagatune/{_match(path, where)['track']}"


def split_of(path: str, where: str) -> str:
    """The part of the split in common use."""
    folder = _match(path, where)["folder"]
    return "train" if folder < "c" else "validation" if folder == "c" else "test"


def heard_tags(names: Iterable[str]) -> tuple[Tag, ...]:
    """What is heard of MagnaTagATune's tags, each once, in the shipped list's categories."""
    spellings = shipped_table("magnatagatune_spellings")
    spelt = (spellings.get(name, name) for name in names if name.strip())
    present = dict.fromkeys(name for name in spelt if not name.startswith(("no ", "not ")))
    return tuple(dict.fromkeys(parse_tag(name) for name in present))


def _match(path: str, where: str) -> re.Match[str]:
    name_parts = _PATH.fullmatch(path)
    if name_parts is None:
        raise SourceError(
            f"{where}: {path!r} is not a clip path, expected 0/NAME-30-59.mp3",
            fix=FIX_FILE,
        )
    return name_parts


def _rows(path: Path, *columns: str) -> Iterator[TableRow]:
    return read_rows(path, Columns(columns, _MEND), delimiter="\t")
