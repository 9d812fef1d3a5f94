"""A corpus that is not where it is said to be: what to give in its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from synth.base.names import list_known, nearest

MANIFESTS: Final = "data_manifests"
SHOWN: Final = 10
"""Corpora that are named."""
_MARKS: Final = ("corpus.json", "plan.parquet")


def suggest_corpus(path: Path, fix: str) -> str:
    """The fix for a folder that holds no corpus: the nearest name, or the corpora that are near.

    Args:
        path: That was given.
        fix: What to say where there is no corpus near it.
    """
    for folder in (path / MANIFESTS, path, path.parent, Path(MANIFESTS)):
        if names := sorted(_list_corpora(folder)):
            near = nearest(path.name, names)
            if near is not None:
                return f"did you mean {folder / near}?"
            return list_known([str(folder / name) for name in names[:SHOWN]])
    return fix


def _list_corpora(folder: Path) -> Iterator[str]:
    for each in folder.glob("*/"):
        if any(next(each.glob(f"*/{mark}"), None) for mark in _MARKS):
            yield each.name
