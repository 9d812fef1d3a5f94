"""MusicCaps: 5,521 ten-second clips of AudioSet with captions by musicians (Agostinelli, 2023).

`musiccaps-public.csv` (Kaggle, or google/MusicCaps on Hugging Face) holds ytid, start_s, end_s,
audioset_positive_labels (AudioSet's comma-separated class ids), aspect_list (a list as Python
writes it, in single quotes or in double ones around an apostrophe, which is parsed and never
evaluated), caption, author_id, is_balanced_subset and is_audioset_eval. The last gives the split:
"eval" of AudioSet (2,858 clips) or "train" (2,663). Names may begin with a dash.

Audio has to be collected from YouTube by whoever may do so; the names in common use are found,
`[YTID]-[START-END]` among them. Class ids become labels where AudioSet's `class_labels_indices.csv`
(index, mid, display_name) lies beside the table; without it clips have no labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final

from synth.base.errors import SourceError
from synth.labels.lexicon import Tag
from synth.sources.reading.base import ClipRef
from synth.sources.reading.collected import Collected, YouTubeClip
from synth.sources.reading.files import optional_file, require_folder
from synth.sources.reading.tables import Columns, read_list, read_rows
from synth.sources.reading.tag_files import parse_tag

TABLE: Final = "musiccaps-public.csv"
CLASSES: Final = "class_labels_indices.csv"
_MEND: Final = "give the folder of MusicCaps' musiccaps-public.csv"
_COLUMNS: Final = Columns(
    (
        *("ytid", "start_s", "end_s", "audioset_positive_labels"),
        *("aspect_list", "caption", "is_audioset_eval"),
    ),
    _MEND,
)


class MusicCaps(Collected):
    """The table of `root`, and a folder of audio."""

    name: ClassVar[str] = "musiccaps"

    def refs(self) -> Iterator[ClipRef]:
        """One clip a stretch; its aspects are tags, of a category where the shipped list has them.

        A stretch in several rows has the captions and tags of all.
        """
        require_folder(self.root, "the folder of MusicCaps", _MEND)
        files = self.files()
        classes = audioset_names(self.root)
        clips: dict[str, ClipRef] = {}
        for row in read_rows(self.root / TABLE, _COLUMNS):
            where = f"{row.where}: clip {row['ytid']}"
            clip = YouTubeClip.of(row["ytid"], row["start_s"], row["end_s"], where)
            is_eval = row.truth("is_audioset_eval")
            if is_eval is None:
                row.refuse("is_audioset_eval is '', expected True or False")
            before = clips.get(clip.name)
            tags = aspects_of(row["aspect_list"], where)
            captions = (row["caption"].strip(),) if row["caption"].strip() else ()
            if before is not None:
                captions = tuple(dict.fromkeys((*before.captions, *captions)))
                tags = tuple(dict.fromkeys((*before.tags, *tags)))
            clips[clip.name] = ClipRef(
                id=f"musiccaps/{clip.name}",
                location=files.find_stem(*clip.stems) if files else clip.name,
                labels=labels_of(row["audioset_positive_labels"], classes, where),
                captions=captions,
                recording=clip.recording,
                attribution=f"MusicCaps; YouTube {clip.youtube_id}",
                split="eval" if is_eval else "train",
                tags=tags,
                duration_s=clip.seconds,
            )
        yield from clips.values()


def audioset_names(root: Path) -> Mapping[str, str]:
    """AudioSet's class names by id, from `class_labels_indices.csv`; none where it is not there."""
    path = optional_file(root / CLASSES, "the names of the classes")
    if path is None:
        return {}
    columns = Columns(("mid", "display_name"), "give AudioSet's own class_labels_indices.csv")
    return {row["mid"]: row["display_name"] for row in read_rows(path, columns)}


def labels_of(ids: str, classes: Mapping[str, str], where: str) -> tuple[str, ...]:
    """Names of the classes in a list of ids, or in a text parted by commas.

    Args:
        ids: "/m/04rlf,/m/0342h".
        classes: Names by id; where there are none, no clip has labels.
    """
    if not classes:
        return ()
    parts = read_list(ids, where) if ids.lstrip().startswith("[") else ids.split(",")
    names = [part.strip() for part in parts if part.strip()]
    for name in names:
        if name not in classes:
            raise SourceError(
                f"{where}: {name} is not a class of {CLASSES}",
                fix="give AudioSet's own class_labels_indices.csv, or leave it out",
            )
    return tuple(dict.fromkeys(classes[name] for name in names))


def aspects_of(text: str, where: str) -> tuple[Tag, ...]:
    """The tags of a list as Python or JSON writes it; empty ones left out."""
    names = (name for name in read_list(text, where) if name.strip())
    return tuple(dict.fromkeys(parse_tag(name) for name in names))
