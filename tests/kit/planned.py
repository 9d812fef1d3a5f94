"""Clips that are planned over without being heard, and what is planned over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from synth.base.rng import Randomness
from synth.labels.lexicon import Treatment, treated_id
from synth.recipes.base import Clip, Draft, Levels, Recipe, Setting
from synth.sources.own.folder import VocabularySource
from synth.sources.reading.base import ClipRef
from synth.truth.ear import Envelope, LevelTable
from tests.kit.envelopes import envelope

RATE = 16_000
AUDIBLE = 1_600
BLOCK = 800
"""Frames of a block of levels."""


def clip_of(source: VocabularySource, ref: ClipRef, rate: int) -> Clip:
    """A clip of a vocabulary as a recipe takes it, at `rate` Hz."""
    named = {"id": ref.id, "labels": ref.labels, "recording": ref.recording}
    return clip_of_row(source.row(ref) | named | {"captions": [], "tags": []}, rate)


def clip_of_row(row: dict[str, Any], rate: int) -> Clip:
    """A clip of a row of the catalogue."""
    edges = np.array([0, len(row["levels_db"])])
    levels, weighted = (np.float32(row[name]) for name in ("levels_db", "levels_dba"))
    return Clip.of_row(row, rate, LevelTable(levels, weighted, edges), 0)


def make_clip(name: str, *labels: str, frames: int = 4 * RATE, **facts: Any) -> Clip:
    """A steady sound of -30 LUFS and a recording of its own, but for the facts that are given."""
    usual = {
        "captions": (),
        "recording": name,
        "loudness_lufs": -30.0,
        "envelope": envelope(frames),
    }
    return Clip(id=name, labels=labels, frames=frames, **(usual | facts))


def level_clip(
    label: str,
    levels: Sequence[float],
    treatment: str = "",
    attacks: tuple[int, ...] | None = (),
    number: int = 0,
) -> Clip:
    """A clip of a label with these levels, in dB a block."""
    name = recording = f"lib/{label}-{number}"
    if treatment:
        name = treated_id(name, Treatment(treatment))
    frames = BLOCK * len(levels)
    return make_clip(
        name,
        label,
        frames=frames,
        recording=recording,
        loudness_lufs=-23.0,
        envelope=Envelope(levels, levels, BLOCK, frames, attacks),
        treatment=treatment,
    )


def spread_clips(names: Sequence[str], each: int = 3) -> list[Clip]:
    """A few clips a label, from 0.5 s to about 8 s."""
    return [
        make_clip(f"lib/{label}-{take}", label, frames=8_000 + 7_000 * ((i * 5 + take * 3) % 17))
        for i, label in enumerate(names)
        for take in range(each)
    ]


def make_setting(max_frames: int | None = None, seed: int = 7, **facts: Any) -> Setting:
    """What a recipe is given, but for the facts that are given."""
    usual = {"audible": AUDIBLE, "levels": Levels(-23.0, 20.0, 15.0)}
    return Setting(RATE, max_frames, randomness=Randomness(seed), **(usual | facts))


def plan(
    recipe: Recipe, clips: Sequence[Clip], setting: Setting | None = None, split: str = "train"
) -> list[list[Draft]]:
    """All groups of a split."""
    groups = recipe.groups({split: clips}, setting or make_setting())[split]
    return [list(groups.group(index)) for index in range(len(groups))]


def flatten(groups: Sequence[Sequence[Draft]]) -> list[Draft]:
    """The samples of all groups."""
    return [draft for group in groups for draft in group]
