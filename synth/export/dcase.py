"""DCASE: strong labels as TSV (as DESED has them), and captions as CSV (as Clotho has them)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from synth.base.units import Seconds
from synth.export.base import ExportFormat, Whole, json_line
from synth.export.folder import Writer
from synth.export.items import Shard
from synth.export.tables import seconds_text, table_line

_TAB = "\t"
_EVENT = ("filename", "onset", "offset", "event_label")
_HOW = """\
| file | columns |
|---|---|
| `audio/SPLIT/` | the audio files |
| `metadata/SPLIT.tsv` | `filename onset offset event_label`, times in seconds |
| `metadata/SPLIT_events.csv` | the same for sed_eval, which goes by the ending `.csv` |
| `metadata/SPLIT_durations.tsv` | `filename duration`, as psds_eval wants it |
| `metadata/SPLIT_captions.csv` | `file_name,caption_1,caption_2,...`, true captions only |

Events of one label that overlap in one file are one event, from the first onset to the last offset:
sed_eval and psds_eval take them so. A file with fewer captions than another has empty fields at the
end of its row.

    strong = pandas.read_csv("metadata/train.tsv", sep="\\t")
    events = sed_eval.io.load_event_list("metadata/train_events.csv")
"""


class Dcase(ExportFormat):
    """Strong labels, durations, captions, and the stored audio files."""

    name: ClassVar[str] = "dcase"
    version: ClassVar[int] = 2

    def part(self, shard: Shard, out: Writer) -> None:
        """Audio files and this shard's lines of the tables."""
        with (
            out.piece("strong") as strong,
            out.piece("events") as events,
            out.piece("durations") as durations,
            out.piece("captions") as captions,
        ):
            for item in shard.items():
                name = f"{item.id}{item.suffix}"
                out.write(f"audio/{item.split}/{name}", item.audio)
                for onset, offset, label in strong_labels(item.events):
                    times = (seconds_text(onset), seconds_text(offset))
                    strong.write(table_line((name, *times, label), _TAB))
                    events.write(table_line((name, *times, label)))
                durations.write(table_line((name, seconds_text(item.duration_s)), _TAB))
                captions.write(json_line([name, *item.texts]))

    def finish(self, whole: Whole, out: Writer) -> None:
        """The tables of each split."""
        for split in whole.splits:
            whole.join(out, f"metadata/{split}.tsv", split, "strong", table_line(_EVENT, _TAB))
            whole.join(out, f"metadata/{split}_events.csv", split, "events", table_line(_EVENT))
            head = table_line(("filename", "duration"), _TAB)
            whole.join(out, f"metadata/{split}_durations.tsv", split, "durations", head)
            most = max(len(row) for row in _captions(whole, split)) - 1
            with out.open(f"metadata/{split}_captions.csv") as file:
                names = (f"caption_{number}" for number in range(1, most + 1))
                file.write(table_line(("file_name", *names)))
                for row in _captions(whole, split):
                    file.write(table_line((*row, *[""] * (most + 1 - len(row)))))
        whole.readme(out, _HOW)


def _captions(whole: Whole, split: str) -> Iterator[list[str]]:
    return whole.values(split, "captions")


def strong_labels(events: Sequence[dict[str, Any]]) -> list[tuple[Seconds, Seconds, str]]:
    """Onset, offset and label of each event, by onset; overlapping ones of a label as one."""
    merged: list[tuple[Seconds, Seconds, str]] = []
    for label in dict.fromkeys(event["label"] for event in events):
        spans = sorted((e["onset_s"], e["offset_s"]) for e in events if e["label"] == label)
        onset, offset = spans[0]
        for start, end in spans[1:]:
            if start < offset:
                offset = max(offset, end)
            else:
                merged.append((onset, offset, label))
                onset, offset = start, end
        merged.append((onset, offset, label))
    return sorted(merged)
