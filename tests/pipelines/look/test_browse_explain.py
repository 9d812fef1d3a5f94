"""Why a sentence is false, and how a scene is drawn."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.look.browse.drawing import draw
from pipelines.look.browse.explain import Explainer
from synth.scene.claim import And, Claim, Count, Not, Only
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, parse
from synth.scene.timeline import timeline
from synth.truth.relations import Tolerance

RATE = 100


def sound(label: str, seconds: float) -> Event:
    return Event(label, Excerpt(f"lib/{label}", 0, round(seconds * RATE)))


DOG_THEN_RAIN: Scene = Concat(sound("dog", 2), sound("rain", 3), crossfade=50)
WITH_SIREN: Scene = Concat(DOG_THEN_RAIN, sound("siren", 1))


def why(scene: Scene, claim: Claim) -> str | None:
    tolerance = Tolerance(audible=20)
    return Explainer(timeline(scene), tolerance, RATE).explain(claim)


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        (parse("cat"), "“cat” is not heard; heard: dog, rain"),
        (
            parse("rain + dog"),
            "“rain” does not start first, nor does “dog” go on alone: rain 1.50 to 4.50 s; "
            "dog 0.00 to 2.00 s",
        ),
        (
            parse("dog * rain"),
            "“dog” and “rain” are never heard together: dog 0.00 to 2.00 s; rain 1.50 to 4.50 s; "
            "the 0.50 s they share are a transition",
        ),
        (parse("dog + cat"), "“cat” is not heard; heard: dog, rain"),
        (Not(parse("dog")), "it denies “dog”, which is heard: dog 0.00 to 2.00 s"),
        (
            Not(parse("dog + rain")),
            "it denies “dog + rain”, which is so: dog 0.00 to 2.00 s, rain 1.50 to 4.50 s",
        ),
        (Only(parse("dog")), "rain can be heard, too"),
        (And(parse("dog"), Not(parse("rain"))), "it denies “rain”, which is heard: rain 1.50 to"),
        (And(parse("cat"), parse("dog")), "“cat” is not heard"),
    ],
    ids=str,
)
def test_the_part_that_fails_is_told(claim: Claim, reason: str) -> None:
    assert (why(DOG_THEN_RAIN, claim) or "").startswith(reason)


def test_of_several_sounds_the_pair_that_fails_is_told() -> None:
    told = why(WITH_SIREN, parse("dog + siren + rain"))
    assert told == (
        "“siren” does not start first, nor does “rain” go on alone: siren 4.50 to 5.50 s; "
        "rain 1.50 to 4.50 s"
    )
    nested = why(WITH_SIREN, parse("dog + (rain * siren)"))
    assert nested is not None
    assert nested.startswith("“rain” and “siren” are never heard together")


@pytest.mark.parametrize("times", [1, 3])
def test_a_wrong_count_is_told_with_what_is_heard(times: int) -> None:
    twice = timeline(Concat(sound("dog", 1), sound("dog", 1), crossfade=-RATE))
    heard = replace(
        twice,
        placements=tuple(
            place._replace(activity=replace(place.heard, onsets=1)) for place in twice.placements
        ),
    )
    told = Explainer(heard, Tolerance(audible=20), RATE)
    times_heard = "dog 0.00 to 1.00 s, dog 2.00 to 3.00 s"
    assert told.explain(Count(Event("dog"), times)) == f"it counts {times} of “dog”: {times_heard}"
    assert told.explain(Count(Event("dog"), 2)) is None


def test_what_the_timeline_leaves_open_or_proves_has_no_reason() -> None:
    assert why(DOG_THEN_RAIN, parse("dog + rain")) is None
    long_overlap = Overlay(sound("dog", 2), sound("rain", 3), offset=150)
    assert why(long_overlap, parse("dog + rain")) is None


def test_bars_and_crossfades_lie_where_the_timeline_has_them() -> None:
    drawing = draw(DOG_THEN_RAIN, 5 * RATE, RATE)
    assert [(bar.label, bar.left, bar.width) for bar in drawing.bars] == [
        ("dog", 0.0, 40.0),
        ("rain", 30.0, 60.0),
    ]
    (fade,) = drawing.crossfades
    assert (fade.start_s, fade.end_s, fade.left, fade.width) == (1.5, 2.0, 30.0, 10.0)
    assert (drawing.seconds, drawing.ticks[-1].place) == (5.0, 100.0)
    assert drawing.summary == (
        "Timeline of 5.00 seconds: dog from 0.00 to 2.00, rain from 1.50 to 4.50"
    )


def test_crossfades_are_drawn_where_they_are_and_labels_in_their_colours() -> None:
    inner = Overlay(sound("wind", 1), DOG_THEN_RAIN, offset=-100)
    scene = Concat(sound("siren", 1), inner, crossfade=25)
    drawn = [(fade.start_s, fade.end_s) for fade in draw(scene, 10 * RATE, RATE).crossfades]
    assert drawn == [(0.75, 1.0), (2.25, 2.75)]
    first = draw(DOG_THEN_RAIN, 5 * RATE, RATE)
    other = Concat(sound("rain", 1), sound("cat", 1))
    second = draw(other, 2 * RATE, RATE, first.colours)
    assert second.colours["rain"] == first.colours["rain"]
    assert second.colours["cat"] not in first.colours.values()
