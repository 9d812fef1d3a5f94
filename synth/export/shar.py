"""Lhotse Shar: per shard a file of cuts, and a tar file of the audio in the same order."""

from __future__ import annotations

import tarfile
from typing import ClassVar

from synth.export.base import ExportFormat, Whole, add_member, json_line
from synth.export.folder import Writer
from synth.export.items import Shard
from synth.export.lhotse import describe_cut, describe_recording, describe_sounds, open_gzip

_HOW = """\
Each split is a folder in lhotse's Shar layout: `cuts.NNNNNN.jsonl.gz` has the cuts of a shard and
`recording.NNNNNN.tar` their audio, as the corpus's shard stores it. Both are read in sequence:

    from lhotse import CutSet
    cuts = CutSet.from_shar(in_dir="FOLDER/train")

A cut is a whole sample. Every sound in it is a supervision with its onset and duration, its label
in `custom["audio_event"]`; the cut's `custom` holds `caption`, `captions` (all true ones),
`negatives` (false ones) and `relation`. Dense captions are supervisions with a `text`, their
resolution (`stretch`, `sound` or `scene`) in `custom["dense"]`.

Keep the length of a cut: in one that is cut again or looped statements of order may be false.
"""


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
        whole.readme(out, _HOW)
