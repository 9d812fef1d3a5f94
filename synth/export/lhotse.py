"""Lhotse manifests: recordings, supervisions and cuts as gzipped JSON lines."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, BinaryIO, ClassVar

from synth.corpus.schema import read_dense
from synth.derived.contrasts import dense_texts
from synth.export.base import ExportFormat, Whole, add_member, json_line
from synth.export.folder import Writer
from synth.export.items import ExportItem, Shard

_MANIFESTS = ("recordings", "supervisions", "cuts")


class Lhotse(ExportFormat):
    """The three manifests of each split, and the stored audio files."""

    name: ClassVar[str] = "lhotse"
    version: ClassVar[int] = 3

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
        for kind in _MANIFESTS:
            whole.join(out, f"{whole.corpus.name}_{kind}_{{split}}.jsonl.gz", kind)
        whole.readme(out, self.name, {"CORPUS": whole.corpus.name})


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
        for number, event in enumerate(item.heard)
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


# NeMo's manifests: a line of JSON a sample, paths relative to the manifest.


class Nemo(ExportFormat):
    """JSON-lines manifests and the stored audio files."""

    name: ClassVar[str] = "nemo"
    version: ClassVar[int] = 3

    def part(self, shard: Shard, out: Writer) -> None:
        """Audio files and this shard's lines of the manifest."""
        with out.piece("manifest") as manifest:
            for item in shard.items():
                path = item.path
                out.write(path, item.audio)
                manifest.write(json_line(_entry(item, path)))

    def finish(self, whole: Whole, out: Writer) -> None:
        """One manifest a split."""
        whole.join(out, "{split}_manifest.jsonl", "manifest")
        whole.readme(out, self.name)


def _entry(item: ExportItem, path: str) -> dict[str, object]:
    return {
        "audio_filepath": path,
        "offset": 0.0,
        "duration": item.duration_s,
        "text": item.texts[0],
        "id": item.id,
        "captions": item.texts,
        "negatives": item.document["negatives"],
        "labels": item.document["tag"],
        "events": [
            {
                "label": event["label"],
                "onset": event["onset_s"],
                "duration": event["duration_s"],
            }
            for event in item.heard
        ],
        "dense": dense_texts(read_dense(item.row), item.row["sample_rate"]),
        "group": item.document["group"],
    }


# Lhotse Shar: per shard a file of cuts, and a tar file of the audio in the same order.


class Shar(ExportFormat):
    """A folder a split; lhotse takes every file in it for data."""

    name: ClassVar[str] = "shar"
    version: ClassVar[int] = 1

    def part(self, shard: Shard, out: Writer) -> None:
        """The cuts and the audio of this shard."""
        number = f"{shard.number:06d}"
        with (
            open_gzip(out.open(f"{shard.split}/cuts.{number}.jsonl.gz")) as cuts,
            out.open(f"{shard.split}/recording.{number}.tar") as file,
            tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar,
        ):
            for item in shard.items():
                recording = describe_recording(item, "shar", "")
                cuts.write(json_line(describe_cut(item, recording, describe_sounds(item))))
                add_member(tar, f"{item.id}{item.suffix}", item.audio)
                add_member(tar, f"{item.id}.json", json_line(recording))

    def finish(self, whole: Whole, out: Writer) -> None:
        """The README, outside the folders that lhotse reads."""
        whole.readme(out, self.name)
