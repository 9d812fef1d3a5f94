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

_HOW: Final = """\
`SPLIT/data.jsonl` is audiocraft's manifest: `path`, `duration` (s), `sample_rate`, `amplitude` (the
highest sample), `weight` (null: all alike) and `info_path` (null: nothing is in a zip file). Beside
`audio/SPLIT/ID.flac` lies `ID.json`, which `SoundDataset` and `MusicDataset` read:

- `description`: the main caption; `descriptions`: all true ones; `keywords`: the labels.
- `timed_prompts`: which sound is heard when: `label`, `text` (a clause), `onset_s`, `offset_s`, by
  onset, a line for each stretch; empty for recipes without labels.
- What `MusicDataset` asks for besides is null.

audiocraft opens paths from where it is started. They are relative to this folder, so start it here;
`segue export --absolute`, into a new folder, writes paths that hold anywhere.

A caption is true of the whole sample. Set `dataset.segment_duration` to the length of the longest
sample and `dataset.min_segment_ratio` to 1, so that none is cut, and `dataset.train.aug_p` to 0:
AudioGen's own settings mix samples, and append one caption to the other.
"""


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
        whole.readme(out, _HOW)


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
    return {
        "name": item.id,
        "description": item.texts[0],
        "descriptions": item.texts,
        "keywords": item.document["tag"],
        "timed_prompts": time_prompts(item),
        **dict.fromkeys(_OF_MUSIC),
    }


def time_prompts(item: ExportItem) -> list[dict[str, Any]]:
    """The stretches in which each sound is heard, by onset, with a clause that says so."""
    clauses = {sound["label"]: sound["text"] for sound in item.document["heard_40ms"]}
    return [
        {"label": label, "text": clauses[label], "onset_s": onset, "offset_s": offset}
        for onset, offset, label in strong_labels(item.heard)
        if label in clauses
    ]
