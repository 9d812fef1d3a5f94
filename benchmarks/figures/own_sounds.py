"""Writes the folder of docs/own-sounds.md: procedural sounds under the names of other things."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Final

import soundfile

from synth.sources.procedural.sources import Foley

NAMES: Final = MappingProxyType(
    {
        "crickets": "budgie",
        "clock_alarm": "doorbell",
        "door_wood_knock": "front_door",
        "water_drops": "tap",
        "wind": "kettle",
        "engine": "scooter",
    }
)
TAKES: Final = 10
FREE: Final = 8
"""Takes of each under CC0; the others may not be used commercially."""


def write(root: Path) -> None:
    """Ten WAV files of each of six things, and an index with a licence for each file."""
    rows = []
    foley = Foley(classes=tuple(NAMES), takes=TAKES)
    for ref in foley.refs():
        label, take = ref.location.split("/")
        name = NAMES[label]
        path = Path(name) / f"{name}-{int(take):02d}.wav"
        (root / name).mkdir(parents=True, exist_ok=True)
        sound = foley.load(ref)
        soundfile.write(root / path, sound.audio, sound.rate, subtype="PCM_16")
        licence = "CC0-1.0" if int(take) < FREE else "CC-BY-NC-4.0"
        rows.append((path.as_posix(), f"a {name.replace('_', ' ')}", licence, "me"))
    with (root / "index.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("path", "label", "licence", "attribution"), *rows])


if __name__ == "__main__":
    write(Path(sys.argv[1]))
