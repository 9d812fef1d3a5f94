"""Edits of a statement: the same sounds composed otherwise, or one of them exchanged for another.

A statement is a scene over labels, each of which it names once. Compositions are taken for what
they say: `(A + B) + C` equals `A + (B + C)`, and `A * B` equals `B * A`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import chain, combinations
from typing import Final, NamedTuple, TypeAlias, assert_never

from synth.scene.claim import And, Claim, Count, Measured, Not, Only, claim_labels
from synth.scene.scene import Concat, Event, Overlay, Scene, labels, operands


class EditKind(StrEnum):
    """How a false sentence differs from what is heard.

    `reorder`: what follows what is exchanged. `relation`: sounds that follow one another are said
    to be together, or the other way round. `rebind`: a sound is put with another partner.
    `replace`: a sound is named that is not heard. `negate`: a sound is denied that is heard.
    `negate-insert`, `negate-half`, `negate-full`: one tag more is denied, half of them, or all.
    `presence`: one of two sounds is said to be alone, or the other way round. `count`: a sound is
    said to be heard more often, or less often. `background`: the other of two sounds is said to be
    in the background. `measure`: a sound is said to last longer, to come later, to be louder and so
    on (`claim.Quantity`).
    """

    REORDER = "reorder"
    RELATION = "relation"
    REBIND = "rebind"
    REPLACE = "replace"
    NEGATE = "negate"
    NEGATE_INSERT = "negate-insert"
    NEGATE_HALF = "negate-half"
    NEGATE_FULL = "negate-full"
    PRESENCE = "presence"
    COUNT = "count"
    BACKGROUND = "background"
    MEASURE = "measure"


Meaning: TypeAlias = Hashable
"""What a statement says: equal for all statements that say the same."""


def meaning(statement: Scene) -> Meaning:
    """The statement's meaning: operands flattened, those of an overlay in no order."""
    return _form(statement, ordered=True)


def _form(statement: Scene, ordered: bool) -> Meaning:
    if isinstance(statement, Event):
        return statement.label
    parts = [_form(part, ordered) for part in operands(statement)]
    if ordered and isinstance(statement, Concat):
        return Concat, tuple(parts)
    return type(statement), frozenset(parts)


def projection(statement: Scene, kept: Collection[str]) -> Scene | None:
    """What the statement says of some of its labels; None where it names none of them."""
    if isinstance(statement, Event):
        return statement if statement.label in kept else None
    left, right = projection(statement.first, kept), projection(statement.second, kept)
    if left is None or right is None:
        return left if right is None else right
    return type(statement)(left, right)


class Outline(NamedTuple):
    """What of a claim decides which edit leads to it.

    Args:
        named: The labels it mentions, none where it denies: its kind is plain then.
        denies: Whether it says that a sound is not heard.
        tells: The kind of edit where it counts or measures.
        orders: How often it says that sounds follow one another; None where it composes none. A
            statement names each label once, so that this tells how often they are together, too.
        unordered: What it says, but for orders.
    """

    named: frozenset[str]
    denies: bool = False
    tells: EditKind | None = None
    orders: int | None = None
    unordered: Meaning = None

    @classmethod
    def of(cls, claim: Claim) -> Outline:
        """That of a claim."""
        if isinstance(claim, (Event, Concat, Overlay)):
            unordered = _form(claim, ordered=False)
            return cls(frozenset(labels(claim)), orders=_count_orders(claim), unordered=unordered)
        if isinstance(claim, Not | Only) or (
            isinstance(claim, And) and isinstance(claim.second, Not)
        ):
            return cls(frozenset(), denies=True)
        return cls(claim_labels(claim), tells=_TELLS.get(type(claim)))


_TELLS: Final[Mapping[type[Claim], EditKind]] = {
    Count: EditKind.COUNT,
    Measured: EditKind.MEASURE,
}


class EditSelection:
    """Which edits lead from a statement to claims that are false of it."""

    def __init__(self, statement: Scene) -> None:
        self._statement = statement
        self._labels = frozenset(labels(statement))
        self._parts: dict[frozenset[str], Outline] = {}

    def kind(self, claim: Claim) -> EditKind:
        """The edit that leads to a claim."""
        outline = Outline.of(claim)
        if outline.denies:
            return EditKind.NEGATE
        if not outline.named <= self._labels:
            return EditKind.REPLACE
        if outline.tells is not None:
            return outline.tells
        if outline.orders is None:
            return EditKind.RELATION
        part = self._outline(outline.named)
        if part.orders != outline.orders:
            return EditKind.RELATION
        return EditKind.REORDER if part.unordered == outline.unordered else EditKind.REBIND

    def _outline(self, named: frozenset[str]) -> Outline:
        """What the statement says of some of its labels."""
        if named not in self._parts:
            part = projection(self._statement, named)
            assert part is not None
            self._parts[named] = Outline.of(part)
        return self._parts[named]


def edit_kind(claim: Claim, statement: Scene) -> EditKind:
    """Which edit leads from a statement to a claim that is false of it."""
    return EditSelection(statement).kind(claim)


def find_edit(claim: Claim, other: Claim) -> EditKind:
    """Which edit leads from one claim to another that excludes it, and back."""
    first, second = Outline.of(claim), Outline.of(other)
    if first.denies or second.denies:
        return EditKind.NEGATE
    if first.named != second.named:
        return EditKind.REPLACE
    if tells := first.tells or second.tells:
        return tells
    return edit_kind(other, claim) if isinstance(claim, Concat | Overlay) else EditKind.RELATION


def _count_orders(statement: Scene) -> int:
    if isinstance(statement, Event):
        return 0
    inside = _count_orders(statement.first) + _count_orders(statement.second)
    return inside + isinstance(statement, Concat)


def recompositions(statement: Scene) -> Iterator[Scene]:
    """The statements one edit away over the same labels, each meaning once, not its own.

    Operands of a concatenation exchanged, an operator changed, two labels exchanged.
    """
    return list_meanings(statement, _operator_edits(statement))


def list_meanings(statement: Scene, edits: Iterable[Scene]) -> Iterator[Scene]:
    """Edits of a statement, then two of its labels exchanged: each meaning once, not its own."""
    exchanges = (
        rename_labels(statement, {first: second, second: first})
        for first, second in combinations(labels(statement), 2)
    )
    seen = {meaning(statement)}
    for edited in chain(edits, exchanges):
        form = meaning(edited)
        if form not in seen:
            seen.add(form)
            yield edited


def _operator_edits(statement: Scene) -> Iterator[Scene]:
    if isinstance(statement, Event):
        return
    first, second = statement.first, statement.second
    if isinstance(statement, Concat):
        yield Concat(second, first)
        yield Overlay(first, second)
    else:
        yield Concat(first, second)
        yield Concat(second, first)
    for edited in _operator_edits(first):
        yield type(statement)(edited, second)
    for edited in _operator_edits(second):
        yield type(statement)(first, edited)


def rename_labels(statement: Scene, names: dict[str, str]) -> Scene:
    """The statement with some labels exchanged for others."""
    match statement:
        case Event(label):
            return Event(names.get(label, label))
        case Concat(first, second) | Overlay(first, second):
            return type(statement)(rename_labels(first, names), rename_labels(second, names))
        case _:
            assert_never(statement)
