"""Lhotse manifests: recordings, supervisions and cuts as gzipped JSON lines."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, BinaryIO, ClassVar

from synth.export.base import ExportFormat, Whole, json_line
from synth.export.folder import Writer
from synth.export.items import ExportItem, Shard

_MANIFESTS = ("recordings", "supervisions", "cuts")
_HOW = """\
`CORPUS_recordings_SPLIT.jsonl.gz`, `CORPUS_supervisions_SPLIT.jsonl.gz` and
`CORPUS_cuts_SPLIT.jsonl.gz` are lhotse's manifests. A cut is a whole sample. Every sound in it is a
supervision with its onset and duration, its label in `custom["audio_event"]`; the cut's `custom`
holds `caption`, `captions` (all true ones), `negatives` (false ones) and `relation`. Dense captions
are supervisions with a `text`, their resolution (`stretch`, `sound` or `scene`) in
`custom["dense"]`. Paths are relative to this folder:

    cuts = CutSet.from_jsonl_lazy("FOLDER/CORPUS_cuts_train.jsonl.gz")
    cuts = cuts.with_recording_path_prefix("FOLDER")
"""


class Lhotse(ExportFormat):
    """The three manifests of each split, and the stored audio files."""

    name: ClassVar[str] = "lhotse"
    version: ClassVar[int] = 2

    def part(self, shard: Shard, out: Writer) -> None:
        """Audio files and this shard's lines of the manifests."""
        with (
            open_gzip(out.piece("recordings")) as recordings,
            open_gzip(out.piece("supervisions")) as supervisions,
            open_gzip(out.piece("cuts")) as cuts,
        ):
            for item in shard.items():
                path = item.path
                out.write(path, item.audio)
                recording = describe_recording(item, "file", path)
                sounds = describe_sounds(item)
                recordings.write(json_line(recording))
                for sound in sounds:
                    supervisions.write(json_line(sound))
                cuts.write(json_line(describe_cut(item, recording, sounds)))

    def finish(self, whole: Whole, out: Writer) -> None:
        """One manifest of each kind a split: gzip files may follow one another in one."""
        for split in whole.splits:
            for kind in _MANIFESTS:
                name = f"{whole.corpus.name}_{kind}_{split}.jsonl.gz"
                whole.join(out, name, split, kind)
        whole.readme(out, _HOW.replace("CORPUS", whole.corpus.name))


@contextmanager
def open_gzip(file: AbstractContextManager[BinaryIO]) -> Iterator[BinaryIO]:
    """What is written is gzipped into `file`, without time or name in the header."""
    with (
        file as plain,
        gzip.GzipFile(filename="", mode="wb", fileobj=plain, mtime=0) as zipped,
    ):
        yield zipped  # type: ignore[misc]


def describe_recording(item: ExportItem, kind: str, place: str) -> dict[str, Any]:
    """A sample's `Recording`, whose one source has type `kind` and lies at `place`."""
    return {
        "id": item.id,
        "sources": [{"type": kind, "channels": [0], "source": place}],
        "sampling_rate": item.row["sample_rate"],
        "num_samples": item.row["frames"],
        "duration": item.duration_s,
        "channel_ids": [0],
    }


def describe_sounds(item: ExportItem) -> list[dict[str, Any]]:
    """A `SupervisionSegment` of every sound of a sample, then of every dense caption."""
    sounds = [
        {
            "id": f"{item.id}-{number}",
            "recording_id": item.id,
            "start": event["onset_s"],
            "duration": event["duration_s"],
            "channel": 0,
            "custom": {
                "audio_event": event["label"],
                "clip": event["clip"],
                "licence": event["licence"],
                "attribution": event["attribution"],
            },
        }
        for number, event in enumerate(item.events)
    ]
    dense = [
        {
            "id": f"{item.id}-dense-{number}",
            "recording_id": item.id,
            "start": caption["onset_s"],
            "duration": caption["duration_s"],
            "channel": 0,
            "text": caption["text"],
            "custom": {"dense": caption["resolution"]},
        }
        for number, caption in enumerate(item.dense)
    ]
    return sounds + dense


def describe_cut(
    item: ExportItem, recording: dict[str, Any], sounds: list[dict[str, Any]]
) -> dict[str, Any]:
    """The `MonoCut` that is a whole sample."""
    return {
        "id": item.id,
        "start": 0.0,
        "duration": item.duration_s,
        "channel": 0,
        "supervisions": sounds,
        "recording": recording,
        "custom": {
            "caption": item.texts[0],
            "captions": item.texts,
            "negatives": item.document["negatives"],
            "relation": item.document["relation"],
            "group": item.document["group"],
        },
        "type": "MonoCut",
    }
