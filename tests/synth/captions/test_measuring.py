"""Measures in words: every sentence is of the table, and fits what it is said of."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from synth.base.shipped import read_shipped_rows
from synth.captions.caption import Style
from synth.captions.measuring import (
    MEASURES,
    Measure,
    can_say,
    claim_background,
    say_measures,
    say_value,
)
from synth.labels.lexicon import shipped_phrases, wordings
from synth.scene.claim import Count, Measured, Part, Quantity
from synth.scene.scene import Event
from tests.kit.cases import cases

RATE = 16_000
DOG, RAIN = Event("dog"), Event("rain")


def tell(quantity: Quantity, value: int, *sounds: Event) -> Measured:
    """A claim on one or two sounds."""
    return Measured(quantity, sounds[: quantity.arity], value)


def draw(*claims: Measure, most: int = 500) -> Iterator[list[str]]:
    """What is said of claims, again and again."""
    rng = np.random.default_rng(0)
    for _ in range(most):
        yield [caption.text for caption in say_measures(claims, Style.NATURAL, RATE, rng)]


def test_every_measure_has_frames_that_name_its_sounds_and_its_values() -> None:
    rows = read_shipped_rows(MEASURES)
    for measure in ("count", "background", *Quantity):
        own = [row for row in rows if row["measure"] == measure]
        quantity = Quantity(measure) if measure in tuple(Quantity) else None
        sounds = "ab" if measure == "background" or (quantity and quantity.arity == 2) else "a"
        is_number = quantity is None or quantity.is_time
        values = 1 if measure == "background" else 3 if measure == "position" else 2
        assert [row["style"] for row in own[:5]] == ["paper", *["natural"] * 4]
        for row in own:
            slots = re.findall(r"{(\w+)", row["frame"])
            assert {*slots} == {*sounds, "value"} or row == own[0]
            said = row["values"].split(" | ") if row["values"] else []
            assert len(said) == (0 if is_number and measure != "background" else values)


@cases(
    ("claim", "sentence"),
    [
        (Count(DOG, 2), "A dog lets out a bark twice"),
        (Count(DOG, 1), "You can hear a dog barking once"),
        (tell(Quantity.DURATION, 2 * RATE, RAIN), "Rain falls for about two seconds"),
        (tell(Quantity.ONSET, 2 * RATE, DOG), "About two seconds in, a dog barks"),
        (tell(Quantity.POSITION, Part.MIDDLE, DOG), "In the middle of the recording, a dog woofs"),
        (tell(Quantity.TREND, -1, RAIN), "The volume falls as rain comes down"),
        (tell(Quantity.GAP, 0, DOG, RAIN), "A dog barks, followed without a pause by rain falling"),
        (tell(Quantity.LONGER, -1, DOG, RAIN), "A dog barks for less time than rain falls"),
        (tell(Quantity.LOUDER, 1, DOG, RAIN), "A dog barking is louder than raindrops falling"),
        (tell(Quantity.AGAIN_ROOMIER, 1, DOG), "A dog barks, then again, this time with more echo"),
        (tell(Quantity.AGAIN_FASTER, -1, DOG), "A dog woofs, then once more, more slowly"),
        (claim_background("dog", "rain"), "A dog barks, and in the background rain patters down"),
    ],
)
def test_sentences_that_people_write(claim: Measure, sentence: str) -> None:
    assert [sentence] in draw(claim, most=20_000)


def test_claims_of_a_group_are_told_alike() -> None:
    told = list(draw(*(tell(Quantity.TREND, value, RAIN) for value in (1, -1))))
    assert len({more for more, _ in told}) > 20
    for more, less in told:
        changed = more.replace("louder", "quieter").replace("volume rises", "volume falls")
        assert changed == less


@cases(
    ("claim", "is_fit"),
    [
        (Count(DOG, 2), True),
        (Count(RAIN, 2), False),
        (tell(Quantity.AGAIN_FASTER, 1, DOG), True),
        (tell(Quantity.AGAIN_FASTER, 1, RAIN), False),
        (tell(Quantity.AGAIN_HIGHER, 1, RAIN), False),
        (tell(Quantity.AGAIN_HIGHER, 1, Event("helicopter")), True),
        (tell(Quantity.AGAIN_LOUDER, 1, Event("can_opening")), False),
        (tell(Quantity.LONGER, 1, DOG, Event("glass_breaking")), False),
        (tell(Quantity.TREND, 1, Event("theremin")), True),
        (tell(Quantity.AGAIN_FASTER, 1, Event("theremin")), False),
    ],
)
def test_what_makes_sense_of_a_sound(claim: Measure, is_fit: bool) -> None:
    assert can_say(claim) is is_fit


def test_no_bark_is_let_out_for_three_seconds() -> None:
    texts = draw(tell(Quantity.DURATION, 3 * RATE, DOG))
    assert not any("lets out" in text or "giving" in text for (text,) in texts)


def test_every_label_can_be_placed_and_valued() -> None:
    for label in shipped_phrases():
        claim = tell(Quantity.POSITION, Part.END, Event(label))
        (caption,) = say_measures([claim], Style.PAPER, RATE, np.random.default_rng(0))
        assert caption.text == f"{wordings(label)[0].plain} at the end"
        assert caption.connective == say_value(claim, RATE) == "at the end"
