"""The splits of a new spec: the library's own, as far as they are there, or shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final

from pipelines.spec.new.library import LibraryFacts
from pipelines.spec.spec import SPLITS

_SHARES: Final = {"train": 0.7, "val": 0.15, "test": 0.15}
_FIVE_FOLDS: Final = {"train": [1, 2, 3], "val": [4], "test": [5]}
_OWN_SPLITS: Final[Mapping[str, Mapping[str, Sequence[str | int]]]] = {
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


@dataclass(frozen=True, slots=True)
class ChosenSplits:
    """What a new spec has as `splits`.

    Args:
        splits: Folds or splits of the library, or shares.
        note: What the library lacks, and what that means; "" where it is whole.
    """

    splits: Mapping[str, Any]
    note: str = ""


def choose_splits(source: str, library: LibraryFacts | None = None) -> ChosenSplits:
    """The splits of a new spec over a source.

    Args:
        library: What there is of it; None takes it for whole.
    """
    own = _OWN_SPLITS.get(source)
    if own is None:
        return _choose_of_unknown(library.splits if library else frozenset())
    published = [name for names in own.values() for name in names]
    here = [each for each in published if library is None or str(each) in library.splits]
    if len(here) == len(published):
        return ChosenSplits(own)
    absent = ", ".join(str(each) for each in published if each not in here)
    if not here:
        return ChosenSplits(_SHARES, f"no clip is in split {absent}, so the splits are shares")
    if all(isinstance(each, int) for each in published):
        return _deal_folds(here, absent)
    # Never shares: an evaluation set that stands alone is no training data.
    kept = {split: [name for name in names if name in here] for split, names in own.items()}
    lost = [split for split, names in kept.items() if not names]
    told = f"no clip is in the library's split {absent}"
    if lost:
        told += f", so there is no {' and no '.join(lost)}; add its clips and name it here"
    return ChosenSplits({split: names for split, names in kept.items() if names}, told)


def _choose_of_unknown(own: Set[str]) -> ChosenSplits:
    """Splits over a library that may have any of its own, such as a folder with an index."""
    if own and own <= set(SPLITS):
        return ChosenSplits({name: [name] for name in SPLITS if name in own})
    named = ", ".join(sorted(own))
    told = f"to use the library's own splits, name them here: {named}" if own else ""
    return ChosenSplits(_SHARES, told)


def _deal_folds(here: Sequence[str | int], absent: str) -> ChosenSplits:
    """The folds that are there as training, validation and test, in the order of their worth."""
    told = f"no clips of {'fold' if absent.isdigit() else 'folds'} {absent}"
    match here:
        case [only]:
            # Shares of so few clips would leave splits without a clip of many labels.
            return ChosenSplits(
                {"train": [only]},
                f"{told}, so all of fold {only} is for training; to test, add another fold, "
                "or write shares, such as {train: 0.8, test: 0.2}",
            )
        case [first, last]:
            return ChosenSplits(
                {"train": [first], "test": [last]}, f"{told}, so there is no split val"
            )
        case [*most, val, test]:
            return ChosenSplits(
                {"train": most, "val": [val], "test": [test]},
                f"{told}, so the splits use the others",
            )
    raise AssertionError(here)
