"""Measuring: how long, when, how loud and how otherwise a sound is heard, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import permutations
from typing import Final

from synth.base.errors import SceneError
from synth.base.units import Frames
from synth.captions.caption import Caption, Phrases, Style, capitalise
from synth.labels.lexicon import is_countable
from synth.scene.activity import Stretch, hull
from synth.scene.claim import And, Claim, Count, Measured, Part, Quantity
from synth.scene.scene import Event, Overlay
from synth.scene.timeline import Placement, Timeline

_FRAME: Final = 10
"""In tenths of a frame: at 11,025 Hz a tenth of a second is no whole frames."""

_NUMBERS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

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

_AGAIN: Final = ("{a.clause}, then once more, {value}", "{a.clause}, then again, this time {value}")

_NATURAL: Final = {
    Quantity.DURATION: ("{a.clause} for about {value}", "for about {value}, {a.clause}"),
    Quantity.ONSET: ("{a.clause} at about {value}", "at about {value}, {a.clause}"),
    Quantity.POSITION: ("{a.clause} {value}", "{value}, {a.clause}"),
    Quantity.TREND: ("{a.clause}, getting {value}", "{a.clause}, {value} and {value}"),
    Quantity.GAP: (
        "{a.clause}, then, {value}, {b.clause}",
        "first, {a.clause}, and {value}, {b.clause}",
    ),
    Quantity.LONGER: ("{a.gerund} lasts {value} than {b.gerund}",),
    Quantity.LOUDER: ("{a.gerund} is {value} than {b.gerund}",),
}

_PAPER: Final = {
    Quantity.DURATION: "{a.plain} for {value}",
    Quantity.ONSET: "{a.plain} at {value}",
    Quantity.POSITION: "{a.plain} {value}",
    Quantity.TREND: "{a.plain} getting {value}",
    Quantity.GAP: "{a.plain} and {value} {b.plain}",
    Quantity.LONGER: "{a.plain} {value} than {b.plain}",
    Quantity.LOUDER: "{a.plain} {value} than {b.plain}",
}

_BACKGROUND: Final = {
    Style.NATURAL: (
        "{a.clause} while {b.clause} quietly in the background",
        "{a.clause} as {b.clause} quietly in the background",
    ),
    Style.PAPER: ("{a.plain} with quiet {b.plain}",),
}


def measuring_frames(quantity: Quantity, style: Style) -> int:
    """How many sentence frames a style has for a quantity."""
    return len(_find_frames(quantity, style))


def say_measure(
    claim: Measured, phrases: Phrases, style: Style, rate: int, frame: int = 0
) -> Caption:
    """The caption that tells a quantity: "A dog barks for about three seconds".

    Args:
        style: `paper` says the labels; `natural` writes a sentence.
        frame: Which sentence frame to use, from 0 to `measuring_frames - 1`.
    """
    value = say_value(claim, rate)
    said = dict(zip("ab", (phrases(event.label) for event in claim.of), strict=False))
    text = _find_frames(claim.quantity, style)[frame].format(**said, value=value)
    generator = f"rule:{claim.quantity.value}/{style.value}/{frame}"
    return Caption(_finish(text, style), claim, "caption", value, generator)


def say_background(
    loud: str, quiet: str, phrases: Phrases, style: Style, frame: int = 0
) -> Caption:
    """The caption that a sound is heard quietly in the background of another.

    Args:
        loud: Label of the one in front.
        quiet: Label of the one in the background.
        frame: Which sentence frame to use, from 0 to `background_frames - 1`.
    """
    one, other = Event(loud), Event(quiet)
    claim = And(Overlay(one, other), Measured(Quantity.LOUDER, (one, other), 1))
    text = _BACKGROUND[style][frame].format(a=phrases(loud), b=phrases(quiet))
    generator = f"rule:background/{style.value}/{frame}"
    return Caption(_finish(text, style), claim, "caption", "in the background", generator)


def background_frames(style: Style) -> int:
    """How many sentence frames a style has for sounds in the background."""
    return len(_BACKGROUND[style])


def _find_frames(quantity: Quantity, style: Style) -> tuple[str, ...]:
    if style is Style.PAPER:
        return ("{a.plain} again {value}" if quantity.is_again else _PAPER[quantity],)
    return _AGAIN if quantity.is_again else _NATURAL[quantity]


def _finish(text: str, style: Style) -> str:
    return text if style is Style.PAPER else capitalise(text)


def say_value(claim: Measured, rate: int) -> str:
    """The words for a value as captions have them: "two seconds", "at the end", "louder"."""
    if not claim.quantity.is_time:
        return _VALUES[claim.quantity][claim.value]
    seconds = say_seconds(claim.value, rate)
    if claim.quantity is not Quantity.GAP:
        return seconds
    return f"after a pause of about {seconds}" if claim.value else "without a pause"


def say_seconds(frames: Frames, rate: int) -> str:
    """A time in words: "one second", "12 seconds", "2.5 seconds".

    Args:
        frames: Whole tenths of a second, to the nearest frame below or above.
    """
    tenths = (20 * frames + rate) // (2 * rate)
    if abs(10 * frames - tenths * rate) >= _FRAME:
        raise SceneError(
            f"{frames} frames at {rate} Hz are no whole tenths of a second",
            fix="say lengths that are",
        )
    if tenths % 10:
        return f"{tenths / 10:.1f} seconds"
    whole = tenths // 10
    number = _NUMBERS[whole - 1] if 1 <= whole <= len(_NUMBERS) else str(whole)
    return f"{number} second" if whole == 1 else f"{number} seconds"


# What can be measured of the sounds of a minimal-pair group, as claims that tell members apart.


_TENTHS: Frames = 10


class ToldQuantity(StrEnum):
    """What captions of scenes may tell besides order, company and presence."""

    COUNT = "count"
    DURATION = "duration"
    ONSET = "onset"
    POSITION = "position"
    GAP = "gap"
    LONGER = "longer"
    LOUDER = "louder"


def measured_pool(
    members: Sequence[Timeline], told: Collection[ToldQuantity], named: Collection[str], rate: int
) -> list[Claim]:
    """Claims on measures, with the values that members have, each once.

    Truth sorts them: a value that is nearly right is neither proven nor refuted.
    """
    found: dict[Claim, None] = {}
    for member in members:
        places = sorted(
            (place for place in member.placements if place.label in named and place.heard.clear),
            key=lambda place: place.onset,
        )
        for claim in _list_claims(places, rate):
            if _kind(claim) in told:
                found.setdefault(claim)
    return list(found)


def _kind(claim: Measured | Count) -> ToldQuantity:
    return ToldQuantity.COUNT if isinstance(claim, Count) else ToldQuantity(claim.quantity.value)


def _list_claims(places: Sequence[Placement], rate: int) -> Iterator[Measured | Count]:
    labels = dict.fromkeys(place.label for place in places)
    for label in labels:
        if is_countable(label):
            yield Count(Event(label), sum(place.label == label for place in places))
        yield from (Measured(Quantity.POSITION, (Event(label),), part) for part in Part)
    for place in places:
        onset, offset = _hear(place)
        told = {
            Quantity.DURATION: _round(offset - onset, rate),
            Quantity.ONSET: _round(_TENTHS * onset, rate) // _TENTHS,
        }
        for quantity, value in told.items():
            if value > 0:
                yield Measured(quantity, (Event(place.label),), value)
    for first, second in permutations(places, 2):
        gap = _hear(second).onset - _hear(first).offset
        if first.label != second.label and gap >= 0:
            pair = Event(first.label), Event(second.label)
            yield Measured(Quantity.GAP, pair, _round(gap, rate))
    for one, other in permutations(labels, 2):
        pair = Event(one), Event(other)
        yield Measured(Quantity.LONGER, pair, 1)
        yield Measured(Quantity.LOUDER, pair, 1)


def _hear(place: Placement) -> Stretch:
    return hull(place.heard.clear) or Stretch(place.onset, place.offset)


def _round(frames: Frames, rate: int) -> Frames:
    """To whole seconds."""
    return (2 * frames + rate) // (2 * rate) * rate


# Counting: how often a sound is heard, in words.


TIMES: Final = ("once", "twice", "three times", "four times", "five times")
"""The words for 1 to 5."""

_FRAMES: Final = {
    Style.PAPER: ("{sound.plain} {times}",),
    Style.NATURAL: ("{sound.clause} {times}", "{sound.clause} just {times}"),
}


def counting_frames(style: Style) -> int:
    """How many sentence frames a style has."""
    return len(_FRAMES[style])


def say_count(label: str, times: int, phrases: Phrases, style: Style, frame: int = 0) -> Caption:
    """The caption that says how often a sound is heard: "A dog barks three times".

    Args:
        times: 1 to 5.
        style: `paper` says the label; `natural` writes a sentence.
        frame: Which sentence frame to use, from 0 to `counting_frames(style) - 1`.
    """
    words = TIMES[times - 1]
    text = _FRAMES[style][frame].format(sound=phrases(label), times=words)
    said = text if style is Style.PAPER else capitalise(text)
    claim = Count(Event(label), times)
    return Caption(said, claim, "caption", words, f"rule:count/{style.value}/{frame}")
