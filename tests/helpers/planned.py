"""Clips that are planned over without being heard."""

from __future__ import annotations

from typing import Any

import numpy as np

from synth.recipes.base import Clip
from synth.sources.own.folder import VocabularySource
from synth.sources.reading.base import ClipRef
from synth.truth.ear import LevelTable


def clip_of(source: VocabularySource, ref: ClipRef, rate: int) -> Clip:
    """A clip of a vocabulary as a recipe takes it, at `rate` Hz."""
    named = {"id": ref.id, "labels": ref.labels, "recording": ref.recording}
    return clip_of_row(source.row(ref) | named | {"captions": [], "tags": []}, rate)


def clip_of_row(row: dict[str, Any], rate: int) -> Clip:
    """A clip of a row of the catalogue."""
    edges = np.array([0, len(row["levels_db"])])
    levels, weighted = (np.float32(row[name]) for name in ("levels_db", "levels_dba"))
    return Clip.of_row(row, rate, LevelTable(levels, weighted, edges), 0)
