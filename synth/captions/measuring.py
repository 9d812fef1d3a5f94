"""Measuring: how often, how long, when, how loud and how otherwise a sound is heard, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Final, Literal, TypeAlias

import numpy as np

from synth.base.errors import SceneError
from synth.base.rng import pick
from synth.base.shipped import read_shipped_rows
from synth.base.units import Frames
from synth.captions.caption import NUMBERS, Caption, Provenance, Style, capitalise
from synth.labels.lexicon import SEPARATOR, wordings
from synth.scene.activity import Stretch, hull
from synth.scene.claim import And, Count, Measured, Part, Quantity
from synth.scene.scene import Event, Overlay
from synth.scene.timeline import Placement, Timeline

Measure: TypeAlias = Count | Measured | And
"""A claim on a measure; an `And` says that a sound is heard in the background of another."""

TIMES: Final = ("once", "twice", "three times", "four times", "five times")
"""The words for 1 to 5."""

MEASURES: Final = "lexicons/measures.csv"


@dataclass(frozen=True, slots=True)
class MeasureFrame:
    """A sentence that tells a measure.

    Args:
        text: With slots for its sounds, `a` and `b`, and for the value.
        values: The words for its values; more comes before less. None for numbers.
        said: What must be sayable of the sounds: see `lexicon.wordings`.
    """

    text: str
    values: tuple[str, ...]
    said: tuple[str, ...]

    def fits(self, labels: Iterable[str]) -> bool:
        """Whether it can be said of sounds."""
        return all(wordings(label, self.said) for label in labels)


@cache
def _frames() -> Mapping[tuple[str, Style], tuple[MeasureFrame, ...]]:
    """The sentence frames of each measure and style."""
    frames: dict[tuple[str, Style], tuple[MeasureFrame, ...]] = {}
    for row in read_shipped_rows(MEASURES):
        key = row["measure"], Style(row["style"])
        values = tuple(filter(None, row["values"].split(SEPARATOR)))
        frame = MeasureFrame(row["frame"], values, tuple(row["said"].split()))
        frames[key] = (*frames.get(key, ()), frame)
    return frames


def claim_background(loud: str, quiet: str) -> And:
    """That a sound is heard quietly in the background of another, by their labels."""
    pair = Event(loud), Event(quiet)
    return And(Overlay(*pair), Measured(Quantity.LOUDER, pair, 1))


def can_say(claim: Measure) -> bool:
    """Whether a claim makes sense of its sounds: nothing is heard "faster" that has no rhythm."""
    measure, sounds = _read(claim)
    labels = [event.label for event in sounds]
    return any(frame.fits(labels) for frame in _frames()[measure, Style.NATURAL])


def say_measures(
    claims: Sequence[Measure], style: Style, rate: int, rng: np.random.Generator
) -> list[Caption]:
    """The captions that make claims: "A dog barks for about three seconds".

    Args:
        claims: They measure the same, and are told alike, in the same words for a label; counts are
            of 1 to 5. They can be said.
        style: `paper` says the labels; `natural` writes a sentence.
    """
    measure, _ = _read(claims[0])
    labels = dict.fromkeys(event.label for claim in claims for event in _read(claim)[1])
    every = enumerate(_frames()[measure, style])
    number, frame = pick([(at, frame) for at, frame in every if frame.fits(labels)], rng)
    phrases = {label: pick(wordings(label, frame.said), rng) for label in labels}
    rule = Provenance.of_rule(measure, style.value, number)
    captions = []
    for claim in claims:
        named = dict(zip("ab", (phrases[event.label] for event in _read(claim)[1]), strict=False))
        value = _say_value(claim, rate, frame)
        text = frame.text.format(**named, value=value)
        sentence = text if style is Style.PAPER else capitalise(text)
        captions.append(Caption(sentence, claim, value, rule))
    return captions


def _read(claim: Measure) -> tuple[str, tuple[Event, ...]]:
    """What a claim measures, and of which sounds."""
    match claim:
        case Count(event):
            return "count", (event,)
        case Measured(quantity, sounds):
            return quantity.value, sounds
        case And(Overlay(), Measured(Quantity.LOUDER, sounds)):
            return "background", sounds
    raise ValueError(f"no words for the claim {claim}")


def say_value(claim: Measure, rate: int) -> str:
    """The words for a value: "twice", "two seconds", "at the end"."""
    return _say_value(claim, rate, _frames()[_read(claim)[0], Style.PAPER][0])


def _say_value(claim: Measure, rate: int, frame: MeasureFrame) -> str:
    match claim:
        case And():
            return frame.values[0]
        case Count(_, times):
            return TIMES[times - 1]
        case Measured(Quantity.GAP, _, value):
            seconds = say_seconds(value, rate)
            return f"after a pause of about {seconds}" if value else "without a pause"
        case Measured(quantity, _, value) if quantity.is_time:
            return say_seconds(value, rate)
        case Measured(quantity, _, value):
            return frame.values[value if quantity is Quantity.POSITION else value < 0]


def say_seconds(frames: Frames, rate: int) -> str:
    """A time in words: "one second", "12 seconds", "2.5 seconds".

    Args:
        frames: Whole tenths of a second, to the nearest frame below or above.
    """
    tenths = (20 * frames + rate) // (2 * rate)
    if abs(10 * frames - tenths * rate) >= 10:  # a frame: at 11,025 Hz 0.1 s is no whole frames
        raise SceneError(
            f"{frames} frames at {rate} Hz are not whole tenths of a second",
            fix="use lengths in whole tenths of a second",
        )
    if tenths % 10:
        return f"{tenths / 10:.1f} seconds"
    whole = tenths // 10
    number = NUMBERS[whole - 1] if 1 <= whole <= len(NUMBERS) else str(whole)
    return f"{number} second" if whole == 1 else f"{number} seconds"


# What can be measured of the sounds of a minimal-pair group, as claims that tell members apart.


_TENTHS: Frames = 10


SceneMeasure: TypeAlias = Literal[
    "count", "duration", "onset", "position", "gap", "longer", "louder"
]
"""What captions of scenes may tell besides order, company and presence: a count or a `Quantity`."""


def measured_pool(
    members: Sequence[Timeline],
    measures: Collection[SceneMeasure],
    named: Collection[str],
    rate: int,
) -> list[Count | Measured]:
    """Claims on measures, with the values that members have, each once.

    Truth sorts them: a value that is nearly right is neither proven nor refuted.
    """
    claims: dict[Count | Measured, None] = {}
    for member in members:
        places = sorted(
            (place for place in member.placements if place.label in named and place.heard.clear),
            key=lambda place: place.onset,
        )
        claims |= dict.fromkeys(
            claim
            for claim in _list_claims(places, rate)
            if _read(claim)[0] in measures and can_say(claim)
        )
    return list(claims)


def _list_claims(places: Sequence[Placement], rate: int) -> Iterator[Measured | Count]:
    labels = dict.fromkeys(place.label for place in places)
    for label in labels:
        yield Count(Event(label), sum(place.label == label for place in places))
        yield from (Measured(Quantity.POSITION, (Event(label),), part) for part in Part)
    for place in places:
        onset, offset = _hear(place)
        values = {
            Quantity.DURATION: _round(offset - onset, rate),
            Quantity.ONSET: _round(_TENTHS * onset, rate) // _TENTHS,
        }
        for quantity, value in values.items():
            if value > 0:
                yield Measured(quantity, (Event(place.label),), value)
    for first, second in permutations(places, 2):
        gap = _hear(second).onset - _hear(first).offset
        if first.label != second.label and gap >= 0:
            pair = Event(first.label), Event(second.label)
            yield Measured(Quantity.GAP, pair, _round(gap, rate))
    for more, less in permutations(labels, 2):
        pair = Event(more), Event(less)
        yield from (Measured(quantity, pair, 1) for quantity in Quantity if quantity.is_comparison)


def _hear(place: Placement) -> Stretch:
    return hull(place.heard.clear) or Stretch(place.onset, place.offset)


def _round(frames: Frames, rate: int) -> Frames:
    """To whole seconds."""
    return (2 * frames + rate) // (2 * rate) * rate
