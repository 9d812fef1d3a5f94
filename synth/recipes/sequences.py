"""Sequences of many sounds: parts that are placed and proven by themselves, then joined.

Most overlays of sounds that were drawn at random cannot be proven: one masks the other, or outlasts
it. A scene of twelve sounds would hardly ever be proven as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

import numpy as np

from synth.base.units import Frames
from synth.captions.balance import Member
from synth.recipes.composing import Composer
from synth.scene.activity import measure
from synth.scene.edit import EditKind, EditSelection, Outline, rename_labels
from synth.scene.scene import Concat, Event, Overlay, Scene, labels, operands
from synth.scene.timeline import Timeline, make_sequence, recompose
from synth.truth.relations import MOST_FADED

_TRIES: Final = 8
"""Pairs of sounds that are tried as an overlay; of larger ones, of which fewer hold, fewer."""

CLOSE_PAIRS: Final = frozenset({(0, 1), (2, 3), (0, 2), (1, 3), (4, 5)})
"""Members of a group that are one edit apart: base, exchange, an edit of the base, the same of the
exchange, and so on."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A scene placed in time, what is heard of it, and what is proven."""

    scene: Scene
    heard: Timeline
    member: Member

    @property
    def longest_crossfade(self) -> Frames:
        """Half of what is clear of a sound; none for sounds together, as it could part them."""
        first, *others = self.heard.placements
        return 0 if others else int(MOST_FADED * measure(first.heard.clear))


@dataclass(frozen=True)
class Parts:
    """The parts of the sequences of one group.

    Args:
        composer: Joins them.
        place: Places a part by itself; None where it cannot be proven.
    """

    composer: Composer
    place: Callable[[Scene], Placed | None]
    _placed: dict[Scene, Placed | None] = field(default_factory=dict)

    def join(self, statement: Scene, rng: np.random.Generator) -> Scene | None:
        """The sequence of placed parts; None where one cannot be proven.

        Crossfades are shortened where a sound would mostly lie in one.
        """
        assert isinstance(statement, Concat)
        found = [self._find(part) for part in operands(statement)]
        placed = [part for part in found if part is not None]
        if len(placed) < len(found):
            return None
        limits = [part.longest_crossfade for part in placed]
        return self.composer.join([part.scene for part in placed], rng, limits)

    def arrange(self, statement: Scene, names: dict[str, str], rng: np.random.Generator) -> Scene:
        """A sequence of the same sounds, whose overlays can be proven by themselves.

        Args:
            statement: A sequence. Where none can be proven, an overlay of fewer sounds stands in
                for one, or none.
            names: Labels exchanged for others: the overlays hold with either.
            rng: Draws sounds and their order.
        """
        assert isinstance(statement, Concat)
        left = list(labels(statement))
        parts: list[Scene] = []
        sizes = (len(labels(part)) for part in operands(statement))
        for size in sorted((size for size in sizes if size > 1), reverse=True):
            found = self._draw_overlay(left, size, names, rng)
            if found is not None:
                parts.append(found)
                left = [label for label in left if label not in labels(found)]
        parts += map(Event, left)
        return make_sequence([parts[at] for at in rng.permutation(len(parts))])

    def _draw_overlay(
        self, among: Sequence[str], size: int, names: dict[str, str], rng: np.random.Generator
    ) -> Scene | None:
        for count in range(size, 1, -1):
            for _ in range(_TRIES // (count - 1)):
                chosen = rng.permutation(len(among))[:count]
                sounds: list[Scene] = [Event(among[at]) for at in chosen]
                part = reduce(Overlay, sounds)
                if all(self._find(each) is not None for each in (part, rename_labels(part, names))):
                    return part
        return None

    def _find(self, part: Scene) -> Placed | None:
        if part not in self._placed:
            self._placed[part] = self.place(part)
        return self._placed[part]


def list_variants(
    base: Scene, names: dict[str, str], most: int, rng: np.random.Generator
) -> Iterator[tuple[Scene, Scene]]:
    """Pairs of statements: the base and its exchange, then an edit of the base and the same of it.

    Args:
        base: A sequence.
        names: The label that is exchanged, and for which.
        most: Most sounds of an overlay.
        rng: Shuffles the edits, of one kind after the other.
    """
    assert isinstance(base, Concat)
    yield base, rename_labels(base, names)
    for edited in alternate(base, list(recompose(base, most)), rng):
        yield edited, rename_labels(edited, names)


def alternate(base: Scene, found: Sequence[Scene], rng: np.random.Generator) -> Iterator[Scene]:
    """Recompositions of one kind after the other, shuffled; the rarest kind goes first."""
    by_kind: dict[str, list[Scene]] = {}
    edits = EditSelection(base)
    for i in rng.permutation(len(found)):
        by_kind.setdefault(edits.kind(Outline.of(found[i])), []).append(found[i])
    kinds = [sorted(by_kind)[i] for i in rng.permutation(len(by_kind))]
    kinds.sort(key=lambda kind: kind != EditKind.REBIND)
    while any(by_kind.values()):
        yield from [by_kind[kind].pop() for kind in kinds if by_kind[kind]]
