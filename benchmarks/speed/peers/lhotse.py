"""lhotse: cuts mixed at their offsets, saved as FLAC; it has no crossfade.

Recordings are described once, as in a lhotse manifest, before the clock starts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lhotse import Recording  # type: ignore[import-untyped]

from benchmarks.speed.measure import Job, Work
from benchmarks.speed.peers.items import making


def prepare(job: Job) -> Work:
    """Describe the recordings."""
    items = json.loads(Path(job["items"]).read_text(encoding="utf-8"))
    files = {event["file"] for item in items for event in item["events"]}
    cuts = {file: Recording.from_file(file).to_cut() for file in sorted(files)}

    def make(item: dict[str, Any], folder: Path) -> Path:
        mixed = None
        for event in sorted(item["events"], key=lambda event: event["onset_s"]):
            cut = cuts[event["file"]].truncate(offset=event["start_s"], duration=event["seconds"])
            cut = cut.perturb_volume(10 ** (event["gain_db"] / 20))
            mixed = cut if mixed is None else mixed.mix(cut, offset_other_by=event["onset_s"])
        path = folder / f"{item['id']}.flac"
        assert mixed is not None
        mixed.save_audio(path)
        return path

    return making(job, make)
