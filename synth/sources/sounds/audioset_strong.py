"""AudioSet's temporally strong labels: events with onset and offset (Hershey et al., 2021).

As published: `audioset_train_strong.tsv` and `audioset_eval_strong.tsv` (segment_id,
start_time_seconds, end_time_seconds, label) and `mid_to_display_name.tsv` (label and its name, no
header); tabs, nothing quoted. A segment_id is a YouTube id, which may begin with dashes and hold
underscores, `_`, and where its 10 s begin in milliseconds. Times count from there. The label is a
Freebase id such as /m/09x0r. The audio has to be collected from YouTube by whoever may do so: files
of those 10 s, by any of the names in common use.

Each event is a clip: its stretch of the file. Where another label sounds too, the stretch is no
recording of one event: it carries both labels, its own first, and is refused unless you keep it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from sys import intern
from typing import ClassVar, Final, Literal, NamedTuple

from synth.base.errors import SourceError
from synth.base.units import Seconds
from synth.sources.reading.base import ClipRef
from synth.sources.reading.collected import AudioFiles, Collected, find_tables, stems
from synth.sources.reading.files import FIX_FILE, require_file, stretch
from synth.sources.reading.tables import FIX_ROW, Columns, read_cells, read_rows

SPLITS: Final = ("train", "eval")
COLUMNS: Final = ("segment_id", "start_time_seconds", "end_time_seconds", "label")
NAMES: Final = "mid_to_display_name.tsv"
CLIP_S: Final[Seconds] = 10.0
_MEND: Final = f"give the folder of audioset_train_strong.tsv, audioset_eval_strong.tsv and {NAMES}"
_SEGMENT: Final = re.compile(r"(?P<video>.+)_(?P<begin_ms>\d+)")


class _Event(NamedTuple):
    begin: Seconds
    end: Seconds
    mid: str


class AudioSetStrong(Collected):
    """The label files of `root`, and a folder of audio.

    Args:
        root: Holds the three TSV files.
        audio: Folder of the audio files.
        overlaps: Events during which another label sounds: `refuse` puts them into the quarantine
            table, `keep` takes them, with the labels of all that sounds during them.
    """

    name: ClassVar[str] = "audioset_strong"
    overlaps: Literal["refuse", "keep"] = "refuse"

    def refs(self) -> Iterator[ClipRef]:
        """One clip an event, those of a file in a row; the split is train or eval.

        An event that a table lists twice comes once.
        """
        name, expected = "audioset_SPLIT_strong.tsv", "audioset_train_strong.tsv"
        tables = find_tables(self.root, SPLITS, name, expected, _MEND)
        names = _names(self.root / NAMES)
        files = self.files()
        for split, table in tables.items():
            for segment, events in _segments(table, names).items():
                yield from self._segment(segment, events, names, split, files)

    def _segment(
        self,
        segment: str,
        events: Sequence[_Event],
        names: dict[str, str],
        split: str,
        files: AudioFiles | None,
    ) -> Iterator[ClipRef]:
        video, begin_ms = segment.rsplit("_", 1)
        location = segment
        if files:
            start = f"{int(begin_ms) / 1000:.3f}"
            location = files.find_stem(segment, f"Y{segment}", *stems(video, start, CLIP_S))
        for event in events:
            others = [
                other
                for other in events  # touching ends do not overlap
                if other.mid != event.mid and other.begin < event.end and event.begin < other.end
            ]
            labels = dict.fromkeys(names[other.mid] for other in (event, *others))
            code = event.mid.strip("/").replace("/", "-")
            span = f"{round(event.begin * 1000)}_{round(event.end * 1000)}"
            yield ClipRef(
                id=f"audioset_strong/{segment}_{span}_{code}",
                location=stretch(location, event.begin, event.end),
                labels=tuple(labels),
                recording=f"youtube/{video}",
                attribution=f"AudioSet; YouTube {video}",
                split=split,
                duration_s=max(0.0, event.end - event.begin),
                refusal=self._refusal(event, others, names),
            )

    def _refusal(self, event: _Event, others: Sequence[_Event], names: dict[str, str]) -> str:
        if event.end <= event.begin:
            return f"ends at {event.end:.3f} s, not after its beginning at {event.begin:.3f} s"
        if not others or self.overlaps == "keep":
            return ""
        first, *more = others
        rest = f" and {len(more)} more" if more else ""
        return (
            f"is not alone: {names[first.mid]!r} sounds from {first.begin:.3f} s "
            f"to {first.end:.3f} s{rest}"
        )


def _segments(path: Path, names: dict[str, str]) -> dict[str, list[_Event]]:
    """The events of each file, in the table's order of first mention, without repetitions."""
    segments: dict[str, dict[_Event, None]] = {}
    for row in read_rows(path, Columns(COLUMNS, _MEND), delimiter="\t", quoted=False):
        segment, mid = row["segment_id"], row["label"]
        if not _SEGMENT.fullmatch(segment):
            row.refuse(f"segment_id is {segment!r}, expected YOUTUBEID_MILLISECONDS")
        if mid not in names:
            row.refuse(f"label {mid!r} is not in {NAMES}", f"use {NAMES} as published")
        begin, end = row.seconds("start_time_seconds"), row.seconds("end_time_seconds")
        segments.setdefault(segment, {})[_Event(begin, end, intern(mid))] = None
    return {segment: list(events) for segment, events in segments.items()}


def _names(path: Path) -> dict[str, str]:
    """Display names by Freebase id."""
    require_file(path, "the names of the labels", _MEND)
    names: dict[str, str] = {}
    for line, row in read_cells(path, FIX_FILE, delimiter="\t", quoted=False):
        if len(row) != 2 or not all(field.strip() for field in row):
            raise SourceError(
                f"{path}: line {line}: expected a label, a tab and its name", fix=FIX_ROW
            )
        mid, name = row
        if names.setdefault(mid, name.strip()) != name.strip():
            raise SourceError(f"{path}: line {line}: {mid} has two names", fix="keep one of them")
    return names
