"""Edits: what a statement says does not hang on how it is written, and an edit says otherwise."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from synth.scene.claim import And, Claim, Not, Only, claim_labels
from synth.scene.edit import (
    EditKind,
    EditSelection,
    edit_kind,
    meaning,
    projection,
    recompositions,
    rename_labels,
)
from synth.scene.scene import Concat, Event, Overlay, Scene, events, labels, operands, parse
from tests.kit.cases import cases
from tests.kit.tables import read_data
from tests.synth.truth.cases import read_claim

A, B = Event("A"), Event("B")
NAMES = "ABCDE"


@st.composite
def statements(draw: st.DrawFn, least: int = 1, most: int = 5) -> Scene:
    """A composition of different labels."""
    names = draw(st.permutations(NAMES))[: draw(st.integers(least, most))]

    def compose(part: list[str]) -> Scene:
        if len(part) == 1:
            return Event(part[0])
        cut = draw(st.integers(1, len(part) - 1))
        kind = draw(st.sampled_from([Concat, Overlay]))
        return kind(compose(part[:cut]), compose(part[cut:]))

    return compose(names)


def relations(scene: Scene) -> frozenset[tuple[str, str, str]]:
    """What a statement says of each two of its labels: an independent form of its meaning.

    Two compositions that agree on every pair say the same: a series-parallel order is made of its
    pairs.
    """
    found: set[tuple[str, str, str]] = set()

    def walk(part: Scene) -> None:
        if isinstance(part, Event):
            return
        for one in labels(part.first):
            for other in labels(part.second):
                if isinstance(part, Concat):
                    found.add(("then", one, other))
                else:
                    found.add(("with", *sorted((one, other))))
        walk(part.first)
        walk(part.second)

    walk(scene)
    return frozenset(found)


def rotated(scene: Scene) -> list[Scene]:
    """The same statement with one composition associated the other way, or an overlay turned."""
    if isinstance(scene, Event):
        return []
    kind, first, second = type(scene), scene.first, scene.second
    found: list[Scene] = [kind(other, second) for other in rotated(first)]
    found += [kind(first, other) for other in rotated(second)]
    if isinstance(first, kind):
        found.append(kind(first.first, kind(first.second, second)))
    if isinstance(second, kind):
        found.append(kind(kind(first, second.first), second.second))
    if kind is Overlay:
        found.append(Overlay(second, first))
    return found


@given(statements())
def test_association_and_the_order_of_an_overlay_say_nothing(scene: Scene) -> None:
    for other in rotated(scene):
        assert meaning(other) == meaning(scene)


@given(statements(), statements())
def test_two_statements_mean_the_same_if_they_relate_all_pairs_alike(
    one: Scene, other: Scene
) -> None:
    alike = (set(labels(one)), relations(one)) == (set(labels(other)), relations(other))
    assert (meaning(one) == meaning(other)) == alike


def test_labels_cannot_forge_a_composition() -> None:
    assert meaning(Event("A' + 'B")) != meaning(Concat(A, B))
    assert meaning(Event("('A' + 'B')")) != meaning(Concat(A, B))
    assert meaning(Overlay(Event("a'"), Event('b"'))) != meaning(Event("a' * b"))


@given(statements())
def test_recompositions_say_something_else_of_the_same_sounds(scene: Scene) -> None:
    found = list(recompositions(scene))
    assert len({meaning(other) for other in found}) == len(found)
    for other in found:
        assert meaning(other) != meaning(scene)
        assert relations(other) != relations(scene)
        assert Counter(labels(other)) == Counter(labels(scene))


@given(statements(), st.sets(st.sampled_from(NAMES + "X")), st.sets(st.sampled_from(NAMES)))
def test_a_projection_keeps_what_is_said_of_the_kept(
    scene: Scene, kept: set[str], others: set[str]
) -> None:
    assert projection(scene, labels(scene)) == scene
    part = projection(scene, kept)
    named = kept & set(labels(scene))
    if part is None:
        assert not named
        return
    assert set(labels(part)) == named
    assert [label for label in labels(scene) if label in kept] == list(labels(part))
    assert relations(part) == {
        each for each in relations(scene) if each[1] in named and each[2] in named
    }
    assert projection(part, others) == projection(scene, kept & others)
    # It does not hang on how a statement is written.
    for other in rotated(scene):
        turned = projection(other, kept)
        assert turned is not None
        assert meaning(turned) == meaning(part)


@given(statements(most=4))
def test_renaming_two_labels_twice_is_nothing(scene: Scene) -> None:
    named = labels(scene)
    for one, other in combinations(named, 2):
        swap = {one: other, other: one}
        assert rename_labels(rename_labels(scene, swap), swap) == scene
        assert len(list(events(rename_labels(scene, swap)))) == len(named)
    assert rename_labels(scene, {}) == scene
    assert labels(rename_labels(scene, {label: label.lower() for label in named})) == tuple(
        label.lower() for label in named
    )


CLAIMS: st.SearchStrategy[Claim] = st.one_of(
    statements(),
    statements(most=1).map(Not),
    statements().map(Only),
    st.builds(And, statements(most=1), statements(most=1)),
    st.builds(And, statements(most=2), statements(most=1).map(Not)),
)


def kind_by_pairs(claim: Claim, heard: Scene) -> EditKind:
    """The kind, naively: from what is said of each two sounds."""
    denies = isinstance(claim, And) and isinstance(claim.second, Not)
    if denies or isinstance(claim, Not | Only):
        return EditKind.NEGATE
    named = claim_labels(claim)
    if not named <= set(labels(heard)):
        return EditKind.REPLACE
    if isinstance(claim, And):
        return EditKind.RELATION
    part = projection(heard, named)
    assert part is not None
    if Counter(map(type, nodes(part))) != Counter(map(type, nodes(claim))):
        return EditKind.RELATION
    return EditKind.REORDER if bracketed(part) == bracketed(claim) else EditKind.REBIND


def nodes(scene: Scene) -> list[Scene]:
    return (
        [scene] if isinstance(scene, Event) else [scene, *nodes(scene.first), *nodes(scene.second)]
    )


def bracketed(scene: Scene) -> object:
    """What is put with what, with no order among operands."""
    if isinstance(scene, Event):
        return scene.label
    return type(scene), frozenset(map(bracketed, operands(scene)))


@given(st.lists(CLAIMS, min_size=1, max_size=6), statements())
def test_kinds_of_several_claims_are_those_of_each(claims: list[Claim], heard: Scene) -> None:
    edits = EditSelection(heard)
    for claim in claims:
        kind = edits.kind(claim)
        assert kind is edit_kind(claim, heard)
        assert kind is kind_by_pairs(claim, heard)


@given(statements(least=2))
def test_a_kind_does_not_hang_on_how_a_claim_is_written(heard: Scene) -> None:
    for claim in recompositions(heard):
        kind = edit_kind(claim, heard)
        for other in rotated(claim):
            assert edit_kind(other, heard) is kind
        for other in rotated(heard):
            assert edit_kind(claim, other) is kind


@cases(("claim", "heard", "kind"), read_data("texts/claims.yaml")["edits"])
def test_kinds_of_edits(claim: str, heard: str, kind: str) -> None:
    assert edit_kind(read_claim(claim), parse(heard)) == kind
