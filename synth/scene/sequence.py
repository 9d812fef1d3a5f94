"""Sequences: statements of many sounds, one after the other, with small overlays among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations, pairwise

from synth.scene.edit import meaning, rename_labels
from synth.scene.scene import Concat, Event, Overlay, Scene, labels, operands


def is_sequence(statement: Scene, most: int) -> bool:
    """Whether single sounds and overlays of up to `most` single sounds follow one another."""
    return isinstance(statement, Concat) and all(
        isinstance(part, Event)
        or (
            isinstance(part, Overlay)
            and len(labels(part)) <= most
            and all(isinstance(each, Event) for each in operands(part))
        )
        for part in operands(statement)
    )


def make_sequence(parts: Sequence[Scene]) -> Scene:
    """The parts, one after the other."""
    return reduce(Concat, parts)


def recompose(statement: Concat, most: int) -> Iterator[Scene]:
    """The sequences one edit away over the same labels, each meaning once, not its own.

    Neighbours exchanged or put together, overlays taken apart, two labels exchanged.

    Args:
        statement: A sequence.
        most: Most sounds of an overlay.
    """
    seen = {meaning(statement)}
    for edited in _edits(statement, most):
        form = meaning(edited)
        if form not in seen:
            seen.add(form)
            yield edited


def _edits(statement: Concat, most: int) -> Iterator[Scene]:
    parts = operands(statement)
    for at, (one, other) in enumerate(pairwise(parts)):
        edited: list[tuple[Scene, ...]] = [(other, one)]
        if len(labels(one)) + len(labels(other)) <= most:
            edited.append((Overlay(one, other),))
        for each in edited:
            yield make_sequence((*parts[:at], *each, *parts[at + 2 :]))
    for at, part in enumerate(parts):
        if isinstance(part, Overlay):
            steps = operands(part)
            for each in (steps, steps[::-1]):
                yield make_sequence((*parts[:at], *each, *parts[at + 1 :]))
    for first, second in combinations(labels(statement), 2):
        yield rename_labels(statement, {first: second, second: first})
