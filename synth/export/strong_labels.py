"""Strong labels of samples: as JAMS, and as DCASE's tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, ClassVar, Final

from synth.base.units import Seconds
from synth.export.base import ExportFormat, Whole, json_line, seconds_text, table_line
from synth.export.folder import Writer
from synth.export.items import ExportItem, Shard

# JAMS (Humphrey et al., 2014): one file of annotations a sample.


SCHEMA_VERSION: Final = "0.3.4"


class Jams(ExportFormat):
    """A JAMS file and the stored audio file for each sample."""

    name: ClassVar[str] = "jams"
    version: ClassVar[int] = 3

    def part(self, shard: Shard, out: Writer) -> None:
        """Both files of every sample; there is nothing to join."""
        for item in shard.items():
            out.write(item.path, item.audio)
            text = json.dumps(_jam(item, shard), indent=1, ensure_ascii=False, allow_nan=False)
            out.write(f"jams/{item.split}/{item.id}.jams", f"{text}\n".encode())

    def finish(self, whole: Whole, out: Writer) -> None:
        """What is said of the whole."""
        whole.readme(out, self.name)


def _jam(item: ExportItem, shard: Shard) -> dict[str, Any]:
    corpus = shard.corpus
    metadata = {
        "corpus": corpus.name,
        "version": corpus.version,
        "curator": {"name": "", "email": ""},
        "annotator": {},
        "annotation_tools": "Segue",
        "annotation_rules": "",
        "validation": "",
        "data_source": "program",
    }
    events = [
        _observe(
            event["onset_s"],
            event["duration_s"],
            {
                "label": event["label"],
                "source_file": event["clip"],
                "event_time": event["onset_s"],
                "event_duration": event["duration_s"],
            },
        )
        for event in item.heard
    ]
    captions = [_observe(0.0, item.duration_s, text) for text in item.texts]
    dense = [
        _annotation(
            "tag_open",
            [
                _observe(observation["onset_s"], observation["duration_s"], observation["text"])
                for observation in group
            ],
            metadata,
            item,
            {"resolution": resolution},
        )
        for resolution, group in groupby(item.dense, lambda caption: caption["resolution"])
    ]
    return {
        "file_metadata": {
            "title": item.id,
            "artist": "",
            "release": "",
            "duration": item.duration_s,
            "identifiers": {"segue": item.id},
            "jams_version": SCHEMA_VERSION,
        },
        "annotations": [
            _annotation("scaper", events, metadata, item),
            _annotation("tag_open", captions, metadata, item),
            *dense,
        ],
        "sandbox": {"segue": item.document},
    }


def _observe(time: Seconds, duration: Seconds, value: Any) -> dict[str, Any]:
    return {"time": time, "duration": duration, "value": value, "confidence": 1.0}


def _annotation(
    namespace: str,
    data: list[dict[str, Any]],
    metadata: dict[str, Any],
    item: ExportItem,
    sandbox: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    return {
        "namespace": namespace,
        "annotation_metadata": metadata,
        "time": 0.0,
        "duration": item.duration_s,
        "data": sorted(data, key=lambda observation: observation["time"]),
        "sandbox": dict(sandbox),
    }


# DCASE: strong labels as TSV (as DESED has them), and captions as CSV (as Clotho has them).


_TAB = "\t"
_EVENT = ("filename", "onset", "offset", "event_label")


class Dcase(ExportFormat):
    """Strong labels, durations, captions, and the stored audio files."""

    name: ClassVar[str] = "dcase"
    version: ClassVar[int] = 3

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
                for onset, offset, label in strong_labels(item.heard):
                    times = (seconds_text(onset), seconds_text(offset))
                    strong.write(table_line((name, *times, label), _TAB))
                    events.write(table_line((name, *times, label)))
                durations.write(table_line((name, seconds_text(item.duration_s)), _TAB))
                captions.write(json_line([name, *item.texts]))

    def finish(self, whole: Whole, out: Writer) -> None:
        """The tables of each split."""
        whole.join(out, "metadata/{split}.tsv", "strong", table_line(_EVENT, _TAB))
        whole.join(out, "metadata/{split}_events.csv", "events", table_line(_EVENT))
        head = table_line(("filename", "duration"), _TAB)
        whole.join(out, "metadata/{split}_durations.tsv", "durations", head)
        for split in whole.splits:
            most = max(len(row) for row in whole.values(split, "captions")) - 1
            with out.open(f"metadata/{split}_captions.csv") as file:
                names = (f"caption_{number}" for number in range(1, most + 1))
                file.write(table_line(("file_name", *names)))
                for row in whole.values(split, "captions"):
                    file.write(table_line((*row, *[""] * (most + 1 - len(row)))))
        whole.readme(out, self.name)


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
