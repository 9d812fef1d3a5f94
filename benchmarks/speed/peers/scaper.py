"""scaper: a foreground event for every sound, at its time, with its JAMS annotation; WAV out.

It has no crossfade; its fade-ins and fade-outs of the crossfade's length are the nearest. Levels
are given relative to a background that is not there, as scaper wants them.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Final

import scaper  # type: ignore[import-not-found]

from benchmarks.speed.measure import Job, Work
from benchmarks.speed.peers.items import making

REFERENCE_DB: Final = -30
SHORTEST_S: Final = 0.01


def prepare(job: Job) -> Work:
    """Ready to make the items."""
    warnings.filterwarnings("ignore")
    return making(job, make)


def make(item: dict[str, Any], folder: Path) -> Path:
    """One item."""
    file = Path(item["events"][0]["file"])
    seconds = item["frames"] / item["rate"]
    composer = scaper.Scaper(seconds, str(file.parents[1]), str(file.parents[1]), random_state=0)
    composer.sr = item["rate"]
    composer.ref_db = REFERENCE_DB
    composer.fade_in_len = composer.fade_out_len = item["crossfade_s"] or SHORTEST_S
    for event in item["events"]:
        composer.add_event(
            label=("const", event["label"]),
            source_file=("const", event["file"]),
            source_time=("const", event["start_s"]),
            event_time=("const", event["onset_s"]),
            event_duration=("const", event["seconds"]),
            snr=("const", 10.0),
            pitch_shift=None,
            time_stretch=None,
        )
    path = folder / f"{item['id']}.wav"
    composer.generate(str(path), str(path.with_suffix(".jams")), allow_repeated_source=True)
    return path
