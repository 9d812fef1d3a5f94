"""Recordings sorted by eye: what Segue takes for one sound is one."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from synth.audio.dsp import active_span, attacks, block_frames, levels
from synth.base.rng import Randomness
from synth.labels.lexicon import is_countable
from synth.recipes.base import Clip, Levels, Setting
from synth.recipes.counts import Counts, find_units
from synth.sources.catalogue import Acceptance
from synth.sources.sounds.esc50 import Esc10, Esc50
from synth.truth.ear import Envelope

SHEETS = Path(__file__).resolve().parents[2] / "data" / "counts"
RATE = 44_100
PRECISION = 0.98


def read_sheet(name: str) -> list[dict[str, str]]:
    text = (SHEETS / name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


@cache
def measure(library: Esc10 | Esc50) -> dict[str, tuple[float, Clip]]:
    """What is on the sheets, by file name: where the sound begins in s, and the sound."""
    names = {row["filename"] for name in ("clips.csv", "stretches.csv") for row in read_sheet(name)}
    found = {}
    for ref in library.refs():
        if Path(ref.location).name in names:
            recording = library.load(ref)
            assert recording.rate == RATE
            span = active_span(recording.audio, RATE, Acceptance().active_range_db)
            assert span is not None
            audio = recording.audio[span.onset : span.offset]
            heard = np.round(levels(audio, RATE), 1).tolist()  # as the catalogue has them
            block = block_frames(RATE)
            envelope = Envelope(heard, heard, block, len(audio), attacks(audio, RATE))
            clip = Clip(ref.id, ref.labels, (), ref.recording, len(audio), -23.0, envelope)
            found[Path(ref.location).name] = span.onset / RATE, clip
    return found


def count_attacks(clip: Clip) -> int | None:
    return clip.read_envelope().count_attacks(0, clip.frames)


def test_the_sheets_are_whole() -> None:
    clips, stretches = read_sheet("clips.csv"), read_sheet("stretches.csv")
    assert len({row["filename"] for row in clips}) == len(clips) == 200
    assert {row["verdict"] for row in (*clips, *stretches)} == {"one", "several", "unclear"}


def test_a_clip_of_one_attack_is_one_sound(shared_data: Callable[[str], Path]) -> None:
    found = measure(Esc50(root=shared_data("ESC-50")))
    verdicts = Counter(
        row["verdict"]
        for row in read_sheet("clips.csv")
        if count_attacks(found[row["filename"]][1]) == 1
    )
    assert verdicts["one"] >= 5
    assert verdicts["one"] >= PRECISION * verdicts.total()


@pytest.mark.parametrize(("library", "least"), [("esc50", 38), ("esc10", 80)])
def test_a_part_that_is_counted_is_one_sound(
    library: str, least: int, shared_data: Callable[[str], Path]
) -> None:
    source = {"esc50": Esc50, "esc10": Esc10}[library]
    found = measure(source(root=shared_data("ESC-50" if library == "esc50" else "ESC-10")))
    setting = Setting(RATE, None, Levels(-23.0, 20.0, 15.0), RATE // 10, Randomness(0))
    sorted_by_eye = defaultdict(list)
    for row in read_sheet("stretches.csv"):
        if row["library"] == library and is_countable(row["label"]):
            sorted_by_eye[row["filename"]].append(row)
    verdicts = Counter[str]()
    for name, stretches in sorted_by_eye.items():
        begin_s, clip = found[name]
        known = {
            (round(float(row["begin_s"]), 2), round(float(row["end_s"]), 2)): row["verdict"]
            for row in stretches
        }
        for unit in find_units(clip, Counts().longest(setting), setting):
            ends = (unit.start, unit.start + unit.frames)
            span = tuple(round(begin_s + end / RATE, 2) for end in ends)
            assert span in known, f"{name}: sort {span[0]} to {span[1]} s by eye, too"
            verdicts[known[span]] += 1
    assert verdicts.total() >= least
    assert verdicts["one"] >= PRECISION * verdicts.total()
