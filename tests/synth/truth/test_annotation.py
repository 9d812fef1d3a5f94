"""Tags as facts on a timeline."""

from __future__ import annotations

import pytest

from synth.labels.lexicon import Tag
from synth.scene.claim import And, Not
from synth.scene.scene import Concat, Event, Excerpt
from synth.scene.timeline import timeline
from synth.truth.change import annotate, tag_claim
from synth.truth.relations import Tolerance
from synth.truth.truth import proves, refutes

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
