"""Leakage: which clips of one corpus, or split, are heard in another one, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Final

from synth.base.progress import Observer, Silent, track
from synth.corpus.leakage.shelf import ClipShelf, says_enough, words_of

EXAMPLES: Final = 10
PHASE: Final = "compare"
HEARD: Final = "heard"
"""A value beside a row's columns: whether its audio was read, or its table alone."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A clip of A that is heard in B.

    Args:
        a: Its id in A.
        b: A clip of B that it shares something with.
        by: `recording`, `bytes` or `sound`.
        detail: The same for a reader.
    """

    a: str
    b: str
    by: str
    detail: str


@dataclass(frozen=True, slots=True)
class Leakage:
    """What two sets of clips share; a clip may share in several ways.

    Args:
        clips_a: Clips of A.
        clips_b: Clips of B.
        unheard_a: Clips of A that could not be compared by sound.
        unheard_b: Clips of B that could not be compared by sound.
        unread: Those of both of which no audio was ever read: a listing's.
        shared: Clips of A that share anything with a clip of B.
        by_recording: Clips of A whose recording is in B.
        by_bytes: Clips of A whose file is in B.
        by_sound: Clips of A that sound the same as one of B.
        pairs: For each clip of A and each way, one clip of B.
    """

    clips_a: int
    clips_b: int
    unheard_a: int
    unheard_b: int
    unread: int
    shared: int
    by_recording: int
    by_bytes: int
    by_sound: int
    pairs: tuple[Shared, ...]

    @property
    def disjoint(self) -> bool:
        """Whether nothing is shared."""
        return not self.shared

    def to_json(self) -> dict[str, Any]:
        """As JSON values; `examples` are the first ten of `pairs`."""
        facts = asdict(self)
        del facts["pairs"]
        return facts | {"examples": [asdict(pair) for pair in self.pairs[:EXAMPLES]]}


def leakage(
    rows_a: Sequence[Mapping[str, Any]],
    rows_b: Sequence[Mapping[str, Any]],
    observer: Observer | None = None,
) -> Leakage:
    """Compare two sets of clips by recording, by bytes and by sound.

    Args:
        rows_a: Rows of `schema.CLIPS`, or their columns `shelf.COLUMNS`; `HEARD` where it is known.
        rows_b: The same.
        observer: Told of the progress.
    """
    shelf = ClipShelf.of(rows_b)
    pairs = tuple(
        Shared(row["id"], partner.id, partner.by, partner.detail)
        for row in track(rows_a, observer or Silent(), PHASE, "clips")
        for partner in shelf.partners(row)
    )
    ways = [pair.by for pair in pairs]
    return Leakage(
        clips_a=len(rows_a),
        clips_b=len(rows_b),
        unheard_a=sum(not says_enough(words_of(row)) for row in rows_a),
        unheard_b=shelf.unheard,
        unread=sum(row.get(HEARD) is False for row in (*rows_a, *rows_b)),
        shared=len({pair.a for pair in pairs}),
        by_recording=ways.count("recording"),
        by_bytes=ways.count("bytes"),
        by_sound=ways.count("sound"),
        pairs=pairs,
    )


def measure_between_splits(
    splits: Mapping[str, Sequence[Mapping[str, Any]]], observer: Observer | None = None
) -> dict[tuple[str, str], Leakage]:
    """The leakage between every two splits of a corpus, in their order."""
    return {(a, b): leakage(splits[a], splits[b], observer) for a, b in combinations(splits, 2)}
