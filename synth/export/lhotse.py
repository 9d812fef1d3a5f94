"""Lhotse manifests: recordings, supervisions and cuts as gzipped JSON lines."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
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
            _open_gzip(out, "recordings") as recordings,
            _open_gzip(out, "supervisions") as supervisions,
            _open_gzip(out, "cuts") as cuts,
        ):
            for item in shard.items():
                path = item.path
                out.write(path, item.audio)
                recording = _recording(item, path)
                sounds = _supervisions(item)
                recordings.write(json_line(recording))
                for sound in sounds:
                    supervisions.write(json_line(sound))
                cuts.write(json_line(_cut(item, recording, sounds)))

    def finish(self, whole: Whole, out: Writer) -> None:
        """One manifest of each kind a split: gzip files may follow one another in one."""
        for split in whole.splits:
            for kind in _MANIFESTS:
                name = f"{whole.corpus.name}_{kind}_{split}.jsonl.gz"
                whole.join(out, name, split, kind)
        whole.readme(out, _HOW.replace("CORPUS", whole.corpus.name))


@contextmanager
def _open_gzip(out: Writer, piece: str) -> Iterator[BinaryIO]:
    """A gzipped piece, without time or name in its header."""
    with (
        out.piece(piece) as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as zipped,
    ):
        yield zipped  # type: ignore[misc]


def _recording(item: ExportItem, path: str) -> dict[str, Any]:
    return {
        "id": item.id,
        "sources": [{"type": "file", "channels": [0], "source": path}],
        "sampling_rate": item.row["sample_rate"],
        "num_samples": item.row["frames"],
        "duration": item.duration_s,
        "channel_ids": [0],
    }


def _supervisions(item: ExportItem) -> list[dict[str, Any]]:
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


def _cut(
    item: ExportItem, recording: dict[str, Any], sounds: list[dict[str, Any]]
) -> dict[str, Any]:
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
