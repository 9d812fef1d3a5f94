"""The levels of a catalogue's clips, read where they lie."""

from __future__ import annotations

import pyarrow as pa

from synth.truth.envelope import LevelTable


def read_levels(clips: pa.RecordBatch) -> LevelTable:
    """Views of the levels of clips.

    Args:
        clips: With the columns `levels_db`, `levels_dba` and `attacks` of `schema.CLIPS`.
    """
    names = ("levels_db", "levels_dba", "attacks")
    levels, weighted, attacks = (clips.column(name) for name in names)
    return LevelTable(
        levels.values.to_numpy(),
        weighted.values.to_numpy(),
        levels.offsets.to_numpy(),
        attacks.values.to_numpy(),
    )
