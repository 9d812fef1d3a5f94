"""The clips that all contenders read: real ones, or made on the spot; one folder a label."""

from __future__ import annotations

import csv
import os
import shutil
from pathlib import Path
from typing import Final

import soundfile

from synth.base.rng import Randomness
from synth.sources.procedural.foley import CLASSES, RATE, synthesize

TAKES: Final = 8
SEED: Final = 1


def lay_out(folder: Path, esc50: Path) -> str:
    """Fill `folder` with one folder of WAV files a label.

    Args:
        folder: New.
        esc50: A folder in ESC-50's own layout; where it is not there, sounds are made.

    Returns:
        What they are, for the table.
    """
    table = esc50 / "meta" / "esc50.csv"
    if not table.is_file():
        return _make(folder)
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        _take(esc50 / "audio" / row["filename"], folder / row["category"] / row["filename"])
    return f"{len(rows)} clips of ESC-50"


def few_labels(clips: Path, folder: Path, labels: int) -> None:
    """Another folder with the first so many labels."""
    for label in sorted(clips.iterdir())[:labels]:
        for file in sorted(label.iterdir()):
            _take(file, folder / label.name / file.name)


def _take(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _make(folder: Path) -> str:
    for label in CLASSES:
        (folder / label).mkdir(parents=True)
        for take in range(TAKES):
            audio = synthesize(label, Randomness(SEED).at(label, take))
            soundfile.write(folder / label / f"{take}.wav", audio, RATE, subtype="PCM_16")
    return f"{len(CLASSES) * TAKES} MADE sounds: ESC-50 was not at hand"
