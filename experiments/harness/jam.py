"""The embedded music as an experiment hears it, where no other library is given."""

from __future__ import annotations

from typing import Final

from experiments.harness.library import SoundLibrary

SPLITS: Final = {"train": ["1", "2", "3"], "val": ["4"], "test": ["5"]}


def make_jam(tracks: int) -> SoundLibrary:
    """So many tracks; they need not be composed to know their folds."""
    return SoundLibrary("jam", {"tracks": tracks}, SPLITS)
