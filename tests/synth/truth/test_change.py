"""Changes: which single edit leads from one scene to another."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.labels.lexicon import Tag
from synth.scene.activity import Stretch
from synth.scene.claim import And, Not
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene
from synth.scene.timeline import PlacedEvent, arrange, places, timeline
from synth.truth.change import Change, ChangeKind, annotate, find_change, list_claims, tag_claim
from synth.truth.relations import Tolerance
from synth.truth.truth import proves, refutes
from tests.kit.cases import cases

DOG, RAIN, CAT = (
    Event(label, Excerpt(f"lib/{label}", 0, frames, -3.0))
    for label, frames in (("dog", 100), ("rain", 300), ("cat", 50))
)
BASE = [PlacedEvent(0, RAIN), PlacedEvent(400, DOG), PlacedEvent(550, CAT)]


def louder(event: Event, gain_db: float) -> Event:
    heard = event.played
    return Event(event.label, replace(heard, gain_db=heard.gain_db + gain_db))


CHANGES = [
    (BASE[:2], Change(ChangeKind.REMOVE, ("cat",), Stretch(550, 600))),
    (
        [*BASE[:2], PlacedEvent(550, Event("owl", Excerpt("lib/owl", 0, 40)))],
        Change(ChangeKind.REPLACE, ("cat", "owl"), Stretch(550, 600)),
    ),
    (
        [BASE[0], PlacedEvent(400, louder(DOG, 7.0)), BASE[2]],
        Change(ChangeKind.LOUDER, ("dog",), Stretch(400, 500), 7.0),
    ),
    (
        [BASE[0], PlacedEvent(400, CAT), PlacedEvent(500, DOG)],
        Change(ChangeKind.SWAP, ("dog", "cat"), Stretch(400, 600)),
    ),
]


@cases(("edited", "change"), CHANGES)
def test_a_single_edit_is_found_and_so_is_its_reverse(
    edited: list[PlacedEvent], change: Change
) -> None:
    before, after = arrange(BASE), arrange(edited)
    assert find_change(before, after) == change
    undone = replace(
        change, kind=change.kind.reverse, sounds=change.sounds[::-1], gain_db=-change.gain_db
    )
    assert find_change(after, before) == undone


@cases(
    "after",
    [
        arrange(BASE),
        arrange([BASE[0]]),
        arrange([BASE[0], PlacedEvent(401, DOG), BASE[2]]),
        arrange([BASE[0], PlacedEvent(400, Event("wolf", DOG.played)), PlacedEvent(560, CAT)]),
        Concat(Concat(RAIN, DOG, -100), CAT, 10),
    ],
)
def test_anything_else_is_no_edit(after: Scene) -> None:
    assert find_change(arrange(BASE), after) is None


@given(data=st.data())
def test_nothing_differs_outside_of_the_stretch(data: st.DataObject) -> None:
    """Against a naive look at every frame: which sounds play there, and which of their frames."""
    edited = data.draw(st.sampled_from([edited for edited, _ in CHANGES]))
    before, after = arrange(BASE), arrange(edited)
    change = find_change(before, after)
    assert change is not None
    differing = [frame for frame in range(620) if playing(before, frame) != playing(after, frame)]
    assert change.stretch == Stretch(differing[0], differing[-1] + 1)


def playing(scene: Scene, frame: int) -> set[tuple[str, int, float]]:
    return {
        (place.event.label, frame - place.onset, place.event.played.gain_db)
        for place in places(scene)
        if place.onset <= frame < place.offset
    }


def test_what_is_claimed_of_a_sound_that_goes_tells_where_it_was() -> None:
    change = Change(ChangeKind.REMOVE, ("dog",), Stretch(0, 1))
    dog, rain = Event("dog"), Event("rain")
    assert list(list_claims(change, ("rain",))) == [
        (told, Not(dog)) for told in (dog, Concat(rain, dog), Concat(dog, rain), Overlay(dog, rain))
    ]


# Tags as facts on a timeline


A, B = (Event(name, Excerpt(f"lib/{name}", 0, 1000)) for name in ("dog", "cat"))
ROCK, GUITAR, PIANO = Tag("genre", "rock"), Tag("instrument", "guitar"), Tag("instrument", "piano")


def test_a_tag_holds_of_the_whole_of_its_clip() -> None:
    tags = {"lib/dog": ["rock", "rock", "dog"], "lib/other": ["pop"]}
    heard = annotate(timeline(Concat(A, B)), tags)
    assert [(place.label, place.onset, place.offset) for place in heard.placements] == [
        ("dog", 0, 1000),
        ("cat", 1000, 2000),
        ("rock", 0, 1000),
    ]
    assert heard.frames == 2000


def test_presence_is_proven_and_absence_by_the_closed_world() -> None:
    heard = annotate(timeline(A), {"lib/dog": ["rock", "guitar"]})
    tolerance = Tolerance()
    assert proves(heard, tag_claim([ROCK, GUITAR]), tolerance)
    assert proves(heard, tag_claim([ROCK], [PIANO]), tolerance)
    assert refutes(heard, tag_claim([], [ROCK, GUITAR]), tolerance)
    assert refutes(heard, tag_claim([ROCK], [GUITAR]), tolerance)
    assert refutes(heard, tag_claim([PIANO]), tolerance)


def test_a_claim_is_built_of_and_and_not() -> None:
    assert tag_claim([ROCK], [PIANO]) == And(Event("rock"), Not(Event("piano")))
    assert tag_claim([ROCK]) == Event("rock")
    with pytest.raises(ValueError, match="needs a tag"):
        tag_claim([])
