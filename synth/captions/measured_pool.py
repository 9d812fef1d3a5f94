"""What can be measured of the sounds of a minimal-pair group, as claims that tell members apart."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from itertools import permutations

from synth.base.units import Frames
from synth.labels.lexicon import is_countable
from synth.scene.activity import Stretch, hull
from synth.scene.claim import Claim, Count, Measured, Part, Quantity
from synth.scene.scene import Event
from synth.scene.timeline import Placement, Timeline

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

    Args:
        members: What is heard of each.
        told: What may be told.
        named: Labels that captions may name.
        rate: In Hz.
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
