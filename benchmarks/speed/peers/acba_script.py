"""What the ACBA paper's authors do for a pair, written anew: load, crossfade, write a FLAC file.

librosa loads both clips at the rate that is asked for, a linear ramp of 1 s joins them, soundfile
writes the sum. Captions are one string joined by a word, in a list.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import librosa
import numpy as np
import soundfile

from benchmarks.speed.measure import Job, Work
from benchmarks.speed.peers.items import making


def prepare(job: Job) -> Work:
    """Ready to make the items."""
    return making(job, make)


def make(item: dict[str, Any], folder: Path) -> Path:
    """One pair."""
    rate = item["rate"]
    first, second = (
        librosa.load(
            event["file"], sr=rate, mono=True, offset=event["start_s"], duration=event["seconds"]
        )[0]
        * 10 ** (event["gain_db"] / 20)
        for event in item["events"]
    )
    fade = round(item["crossfade_s"] * rate)
    ramp = np.linspace(0.0, 1.0, fade, dtype=np.float32)
    seam = first[-fade:] * (1 - ramp) + second[:fade] * ramp
    joined = np.concatenate([first[:-fade], seam, second[fade:]])
    loudest = float(np.max(np.abs(joined)))
    path = folder / f"{item['id']}.flac"
    soundfile.write(path, joined / max(1.0, loudest), rate, subtype="PCM_16")
    return path
