"""Measuring: how often, how long, when, how loud and how otherwise a sound is heard, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Final, Literal, TypeAlias

import numpy as np

from synth.base.errors import SceneError
from synth.base.units import Frames
from synth.captions.caption import NUMBERS, Caption, Provenance, Style, capitalise
from synth.labels.lexicon import Phrase, is_countable
from synth.scene.activity import Stretch, hull
from synth.scene.claim import And, Count, Measured, Part, Quantity
from synth.scene.scene import Event, Overlay
from synth.scene.timeline import Placement, Timeline

Measure: TypeAlias = Count | Measured | And
"""A claim on a measure; an `And` says that a sound is heard in the background of another."""

TIMES: Final = ("once", "twice", "three times", "four times", "five times")
"""The words for 1 to 5."""

_COUNT: Final = "count"
_BACKGROUND: Final = "background"
_VALUES: Final[Mapping[Quantity, Mapping[int, str]]] = {
    Quantity.POSITION: {
        Part.START: "at the start",
        Part.MIDDLE: "in the middle",
        Part.END: "at the end",
    },
    Quantity.TREND: {1: "louder", -1: "quieter"},
    Quantity.LONGER: {1: "longer", -1: "a shorter time"},
    Quantity.LOUDER: {1: "louder", -1: "quieter"},
    Quantity.AGAIN_LOUDER: {1: "louder", -1: "more quietly"},
    Quantity.AGAIN_FARTHER: {1: "farther away", -1: "closer"},
    Quantity.AGAIN_ROOMIER: {1: "in a larger room", -1: "in a smaller room"},
    Quantity.AGAIN_HIGHER: {1: "at a higher pitch", -1: "at a lower pitch"},
    Quantity.AGAIN_FASTER: {1: "faster", -1: "more slowly"},
}

_AGAIN: Final = (
    "{a.plain} again {value}",
    "{a.clause}, then once more, {value}",
    "{a.clause}, then again, this time {value}",
)

_FRAMES: Final[Mapping[str, tuple[str, ...]]] = {
    _COUNT: ("{a.plain} {value}", "{a.clause} {value}", "{a.clause} just {value}"),
    _BACKGROUND: (
        "{a.plain} with quiet {b.plain}",
        "{a.clause} while {b.clause} quietly {value}",
        "{a.clause} as {b.clause} quietly {value}",
    ),
    Quantity.DURATION: (
        "{a.plain} for {value}",
        "{a.clause} for about {value}",
        "for about {value}, {a.clause}",
    ),
    Quantity.ONSET: (
        "{a.plain} at {value}",
        "{a.clause} at about {value}",
        "at about {value}, {a.clause}",
    ),
    Quantity.POSITION: ("{a.plain} {value}", "{a.clause} {value}", "{value}, {a.clause}"),
    Quantity.TREND: (
        "{a.plain} getting {value}",
        "{a.clause}, getting {value}",
        "{a.clause}, {value} and {value}",
    ),
    Quantity.GAP: (
        "{a.plain} and {value} {b.plain}",
        "{a.clause}, then, {value}, {b.clause}",
        "first, {a.clause}, and {value}, {b.clause}",
    ),
    Quantity.LONGER: (
        "{a.plain} {value} than {b.plain}",
        "{a.gerund} lasts {value} than {b.gerund}",
    ),
    Quantity.LOUDER: (
        "{a.plain} {value} than {b.plain}",
        "{a.gerund} is {value} than {b.gerund}",
    ),
    **dict.fromkeys((quantity for quantity in Quantity if quantity.is_again), _AGAIN),
}
"""Sentence frames: that of the papers, then those that people write."""


def claim_background(loud: str, quiet: str) -> And:
    """That a sound is heard quietly in the background of another, by their labels."""
    pair = Event(loud), Event(quiet)
    return And(Overlay(*pair), Measured(Quantity.LOUDER, pair, 1))


def say_measures(
    claims: Sequence[Measure], style: Style, rate: int, rng: np.random.Generator
) -> list[Caption]:
    """The captions that make claims: "A dog barks for about three seconds".

    Args:
        claims: They measure the same, and are told alike; counts are of 1 to 5.
        style: `paper` says the labels; `natural` writes a sentence.
    """
    paper, *natural = _FRAMES[_read(claims[0])[0]]
    frames = [paper] if style is Style.PAPER else natural
    frame = int(rng.integers(len(frames)))
    captions = []
    for claim in claims:
        measure, sounds = _read(claim)
        value = say_value(claim, rate)
        phrases = dict(zip("ab", (Phrase.of_label(event.label) for event in sounds), strict=False))
        text = frames[frame].format(**phrases, value=value)
        sentence = text if style is Style.PAPER else capitalise(text)
        rule = Provenance.of_rule(measure, style.value, frame)
        captions.append(Caption(sentence, claim, value, rule))
    return captions


def _read(claim: Measure) -> tuple[str, tuple[Event, ...]]:
    """What a claim measures, and of which sounds."""
    match claim:
        case Count(event):
            return _COUNT, (event,)
        case Measured(quantity, sounds):
            return quantity.value, sounds
        case And(Overlay(), Measured(Quantity.LOUDER, sounds)):
            return _BACKGROUND, sounds
    raise ValueError(f"no words for the claim {claim}")


def say_value(claim: Measure, rate: int) -> str:
    """The words for a value as captions have them: "twice", "two seconds", "at the end"."""
    match claim:
        case And():
            return "in the background"
        case Count(_, times):
            return TIMES[times - 1]
        case Measured(Quantity.GAP, _, value):
            seconds = say_seconds(value, rate)
            return f"after a pause of about {seconds}" if value else "without a pause"
        case Measured(quantity, _, value) if quantity.is_time:
            return say_seconds(value, rate)
        case Measured(quantity, _, value):
            return _VALUES[quantity][value]


def say_seconds(frames: Frames, rate: int) -> str:
    """A time in words: "one second", "12 seconds", "2.5 seconds".

    Args:
        frames: Whole tenths of a second, to the nearest frame below or above.
    """
    tenths = (20 * frames + rate) // (2 * rate)
    if abs(10 * frames - tenths * rate) >= 10:  # a frame: at 11,025 Hz 0.1 s is no whole frames
        raise SceneError(
            f"{frames} frames at {rate} Hz are no whole tenths of a second",
            fix="say lengths that are",
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
            claim for claim in _list_claims(places, rate) if _read(claim)[0] in measures
        )
    return list(claims)


def _list_claims(places: Sequence[Placement], rate: int) -> Iterator[Measured | Count]:
    labels = dict.fromkeys(place.label for place in places)
    for label in labels:
        if is_countable(label):
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
    for one, other in permutations(labels, 2):
        pair = Event(one), Event(other)
        yield from (Measured(quantity, pair, 1) for quantity in Quantity if quantity.is_comparison)


def _hear(place: Placement) -> Stretch:
    return hull(place.heard.clear) or Stretch(place.onset, place.offset)


def _round(frames: Frames, rate: int) -> Frames:
    """To whole seconds."""
    return (2 * frames + rate) // (2 * rate) * rate
