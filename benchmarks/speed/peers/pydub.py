"""pydub: slices of files, joined by a crossfade or laid over silence; WAV out, no manifest.

FLAC would start an ffmpeg process for every file; WAV is what pydub does best.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydub import AudioSegment

from benchmarks.speed.measure import Job, Work
from benchmarks.speed.peers.items import making


def prepare(job: Job) -> Work:
    """Ready to make the items."""
    return making(job, make)


def make(item: dict[str, Any], folder: Path) -> Path:
    """One item."""
    parts = [_part(event) for event in item["events"]]
    if item["joined"]:
        mixed = parts[0].append(parts[1], crossfade=round(item["crossfade_s"] * 1000))
    else:
        length = round(item["frames"] / item["rate"] * 1000)
        mixed = AudioSegment.silent(length, frame_rate=item["rate"])
        for event, part in zip(item["events"], parts, strict=True):
            mixed = mixed.overlay(part, position=round(event["onset_s"] * 1000))
    path = folder / f"{item['id']}.wav"
    mixed.export(path, format="wav").close()
    return path


def _part(event: dict[str, Any]) -> Any:
    start = round(event["start_s"] * 1000)
    whole = AudioSegment.from_wav(event["file"])
    return whole[start : start + round(event["seconds"] * 1000)].apply_gain(event["gain_db"])
