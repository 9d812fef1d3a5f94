"""JAMS (Humphrey et al., 2014): one file of annotations a sample."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from types import MappingProxyType
from typing import Any, ClassVar, Final

from synth.export.base import ExportFormat, Whole
from synth.export.folder import Writer
from synth.export.items import ExportItem, Shard

SCHEMA_VERSION: Final = "0.3.4"
_HOW = """\
`jams/SPLIT/ID.jams` annotates `audio/SPLIT/ID`. Events are in namespace `scaper` (label, source
clip, onset, duration), captions in `tag_open` over the whole sample, the main one first. Each
further `tag_open` holds dense captions with their times; its sandbox tells their `resolution`.
Annotations hold what is true; false captions are in the sandbox alone, with everything else that
the corpus says of the sample.

    jam = jams.load("jams/train/ID.jams")
    events = jam.annotations.search(namespace="scaper")[0].to_event_values()
    captions = [each.value for each in jam.annotations.search(namespace="tag_open")[0].data]
"""


class Jams(ExportFormat):
    """A JAMS file and the stored audio file for each sample."""

    name: ClassVar[str] = "jams"
    version: ClassVar[int] = 2

    def part(self, shard: Shard, out: Writer) -> None:
        """Both files of every sample; there is nothing to join."""
        for item in shard.items():
            out.write(item.path, item.audio)
            text = json.dumps(_jam(item, shard), indent=1, ensure_ascii=False, allow_nan=False)
            out.write(f"jams/{item.split}/{item.id}.jams", f"{text}\n".encode())

    def finish(self, whole: Whole, out: Writer) -> None:
        """What is said of the whole."""
        whole.readme(out, _HOW)


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
        {
            "time": event["onset_s"],
            "duration": event["duration_s"],
            "value": {
                "label": event["label"],
                "source_file": event["clip"],
                "event_time": event["onset_s"],
                "event_duration": event["duration_s"],
            },
            "confidence": 1.0,
        }
        for event in item.events
    ]
    captions = [
        {"time": 0.0, "duration": item.duration_s, "value": text, "confidence": 1.0}
        for text in item.texts
    ]
    dense = [
        _annotation("tag_open", list(each), metadata, item, {"resolution": resolution})
        for resolution, each in _group_dense(item)
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


def _group_dense(item: ExportItem) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The dense captions of each resolution as observations."""
    for resolution, each in groupby(item.dense, lambda caption: caption["resolution"]):
        yield (
            resolution,
            [
                {
                    "time": caption["onset_s"],
                    "duration": caption["duration_s"],
                    "value": caption["text"],
                    "confidence": 1.0,
                }
                for caption in each
            ],
        )


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
        "data": sorted(data, key=lambda each: each["time"]),
        "sandbox": dict(sandbox),
    }
