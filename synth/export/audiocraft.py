"""audiocraft: a manifest of audio files, and beside each file the JSON that says what is heard."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, ClassVar, Final

import numpy as np

from synth.audio.dsp import PCM_SCALE
from synth.corpus.shards import decode_audio
from synth.export.base import ExportFormat, Whole, json_line
from synth.export.folder import Writer
from synth.export.items import ExportItem, Shard
from synth.export.strong_labels import strong_labels

_OF_MUSIC: Final = ("title", "artist", "key", "bpm", "genre", "moods", "instrument")
"""What `MusicDataset` asks for besides; unknown here."""


@dataclass(frozen=True, slots=True)
class Audiocraft(ExportFormat):
    """A manifest a split, the stored audio files, and a sidecar of each.

    Args:
        root: Folder with which paths in the manifest begin.
    """

    name: ClassVar[str] = "audiocraft"
    version: ClassVar[int] = 1
    root: str = ""

    def part(self, shard: Shard, out: Writer) -> None:
        """Audio files, sidecars and this shard's lines of the manifest."""
        with out.piece("data") as lines:
            for item in shard.items():
                out.write(item.path, item.audio)
                out.write(item.path.removesuffix(item.suffix) + ".json", json_line(_describe(item)))
                lines.write(json_line(_list_file(item, self.root)))

    def finish(self, whole: Whole, out: Writer) -> None:
        """One manifest a split, in a folder of its own."""
        whole.join(out, "{split}/data.jsonl", "data")
        whole.readme(out, self.name)


def _list_file(item: ExportItem, root: str) -> dict[str, Any]:
    """The fields of audiocraft's `AudioMeta`."""
    loudest = np.abs(decode_audio(item.audio).astype(np.int32)).max(initial=0)
    return {
        "path": str(PurePath(root, item.path)),
        "duration": item.duration_s,
        "sample_rate": item.row["sample_rate"],
        "amplitude": float(loudest / PCM_SCALE),
        "weight": None,
        "info_path": None,
    }


def _describe(item: ExportItem) -> dict[str, Any]:
    clauses = {sound["label"]: sound["text"] for sound in item.document["heard_40ms"]}
    return {
        "name": item.id,
        "description": item.texts[0],
        "descriptions": item.texts,
        "keywords": item.document["tag"],
        "timed_prompts": [
            {"label": label, "text": clauses[label], "onset_s": onset, "offset_s": offset}
            for onset, offset, label in strong_labels(item.heard)
            if label in clauses
        ],
        **dict.fromkeys(_OF_MUSIC),
    }
