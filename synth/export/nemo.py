"""NeMo's manifests: a line of JSON a sample, paths relative to the manifest."""

from __future__ import annotations

from typing import ClassVar

from synth.export.base import ExportFormat, Whole, json_line
from synth.export.folder import Writer
from synth.export.items import ExportItem, Shard

_HOW = """\
`SPLIT_manifest.jsonl` has a line a sample. `audio_filepath` is relative to the manifest, as NeMo
resolves it; `duration` is in seconds; `text` is the main caption. Beside these: `captions` (all
true ones, the main one first), `negatives` (false ones, never to be learnt as true), `labels`,
`events` with onset and duration in seconds, and `dense`: captions with times, a line for each of
the resolutions `stretch`, `sound` and `scene`.
"""


class Nemo(ExportFormat):
    """JSON-lines manifests and the stored audio files."""

    name: ClassVar[str] = "nemo"
    version: ClassVar[int] = 2

    def part(self, shard: Shard, out: Writer) -> None:
        """Audio files and this shard's lines of the manifest."""
        with out.piece("manifest") as manifest:
            for item in shard.items():
                path = item.path
                out.write(path, item.audio)
                manifest.write(json_line(_entry(item, path)))

    def finish(self, whole: Whole, out: Writer) -> None:
        """One manifest a split."""
        for split in whole.splits:
            whole.join(out, f"{split}_manifest.jsonl", split, "manifest")
        whole.readme(out, _HOW)


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
            for event in item.events
        ],
        "dense": item.dense_texts,
        "group": item.document["group"],
    }
