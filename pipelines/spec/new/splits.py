"""The splits of a new spec: the library's own where it has some, so that a test can follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

SHARES: Final = {"train": 0.7, "val": 0.15, "test": 0.15}
_FIVE_FOLDS: Final = {"train": [1, 2, 3], "val": [4], "test": [5]}
_OWN: Final[Mapping[str, Mapping[str, Sequence[str | int]]]] = {
    "audiocaps": {"train": ["train"], "val": ["val"], "test": ["test"]},
    "audioset_strong": {"train": ["train"], "test": ["eval"]},
    "clotho": {"train": ["development"], "val": ["validation"], "test": ["evaluation"]},
    "esc10": _FIVE_FOLDS,
    "esc50": _FIVE_FOLDS,
    "fma": {"train": ["training"], "val": ["validation"], "test": ["test"]},
    "foley": _FIVE_FOLDS,
    "fsd50k": {"train": ["train"], "val": ["val"], "test": ["eval"]},
    "jam": _FIVE_FOLDS,
    "musiccaps": {"train": ["train"], "test": ["eval"]},
    "urbansound8k": {"train": [*range(1, 9)], "val": [9], "test": [10]},
}


def choose_splits(source: str) -> dict[str, Any]:
    """What a new spec over a source has as `splits`: folds or splits of its own, or shares."""
    return dict(_OWN.get(source, SHARES))
