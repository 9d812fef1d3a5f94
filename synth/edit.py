"""Edits of a statement: the same sounds composed otherwise, or one of them exchanged for another.

A statement is a scene over labels, each of which it names once. Compositions are taken for what
they say: `(A + B) + C` equals `A + (B + C)`, and `A * B` equals `B * A`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import StrEnum
from typing import TypeAlias, assert_never

from synth.claim import And, Claim, Not, Only, claim_labels
from synth.scene import Event, Overlay, Scene, Sequence, labels, operands


class Edit(StrEnum):
    """How a false sentence differs from what is heard.

    `reorder`: what follows what is exchanged. `relation`: sounds that follow one another are said
    to be together, or the other way round. `rebind`: a sound is put with another partner.
    `replace`: a sound is named that is not heard. `negate`: a sound is denied that is heard.
    """

    REORDER = "reorder"
    RELATION = "relation"
    REBIND = "rebind"
    REPLACE = "replace"
    NEGATE = "negate"


Meaning: TypeAlias = str
"""A statement in a form that is equal for all statements that say the same."""


def meaning(statement: Scene) -> Meaning:
    """The statement's meaning: operands flattened, those of an overlay sorted."""
    return _form(statement, ordered=True)


def _form(statement: Scene, ordered: bool) -> str:
    match statement:
        case Event(label):
            return repr(label)
        case Sequence():
            parts = [_form(part, ordered) for part in operands(statement)]
            return f"({' + '.join(parts if ordered else sorted(parts))})"
        case Overlay():
            parts = [_form(part, ordered) for part in operands(statement)]
            return f"({' * '.join(sorted(parts))})"
        case _:
            assert_never(statement)


def projection(statement: Scene, kept: Collection[str]) -> Scene | None:
    """What the statement says of some of its labels; None where it names none of them."""
    match statement:
        case Event(label):
            return statement if label in kept else None
        case Sequence(first, second) | Overlay(first, second):
            left, right = projection(first, kept), projection(second, kept)
            if left is None or right is None:
                return left if right is None else right
            return type(statement)(left, right)
        case _:
            assert_never(statement)


def edit_kind(claim: Claim, heard: Scene) -> Edit:
    """Which edit leads from the statement `heard` to a claim that is false of it."""
    if isinstance(claim, Not | Only) or (isinstance(claim, And) and isinstance(claim.second, Not)):
        return Edit.NEGATE
    named = claim_labels(claim)
    if not named <= set(labels(heard)):
        return Edit.REPLACE
    if isinstance(claim, And):
        return Edit.RELATION
    part = projection(heard, named)
    if part is None or _operators(part) != _operators(claim):
        return Edit.RELATION
    if _form(part, ordered=False) == _form(claim, ordered=False):
        return Edit.REORDER
    return Edit.REBIND


def _operators(statement: Scene) -> tuple[int, int]:
    """How often the statement says that sounds follow one another, and that they are together."""
    match statement:
        case Event():
            return (0, 0)
        case Sequence(first, second) | Overlay(first, second):
            (left_order, left_company), (right_order, right_company) = (
                _operators(first),
                _operators(second),
            )
            order = isinstance(statement, Sequence)
            return (
                left_order + right_order + order,
                left_company + right_company + (not order),
            )
        case _:
            assert_never(statement)


def recompositions(statement: Scene) -> Iterator[Scene]:
    """The statements one edit away over the same labels, each meaning once, not its own.

    Operands of a sequence exchanged, an operator changed, two labels exchanged.
    """
    seen = {meaning(statement)}
    for edited in _edits(statement):
        form = meaning(edited)
        if form not in seen:
            seen.add(form)
            yield edited


def _edits(statement: Scene) -> Iterator[Scene]:
    yield from _operator_edits(statement)
    named = labels(statement)
    for i, first in enumerate(named):
        for second in named[i + 1 :]:
            yield renamed(statement, {first: second, second: first})


def _operator_edits(statement: Scene) -> Iterator[Scene]:
    if isinstance(statement, Event):
        return
    first, second = statement.first, statement.second
    if isinstance(statement, Sequence):
        yield Sequence(second, first)
        yield Overlay(first, second)
    else:
        yield Sequence(first, second)
        yield Sequence(second, first)
    for edited in _operator_edits(first):
        yield type(statement)(edited, second)
    for edited in _operator_edits(second):
        yield type(statement)(first, edited)


def renamed(statement: Scene, names: dict[str, str]) -> Scene:
    """The statement with some labels exchanged for others."""
    match statement:
        case Event(label):
            return Event(names.get(label, label))
        case Sequence(first, second) | Overlay(first, second):
            return type(statement)(renamed(first, names), renamed(second, names))
        case _:
            assert_never(statement)
