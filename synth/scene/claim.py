"""What a caption claims: a scene over labels, or a statement built from such scenes.

Of a label that is heard twice, only `Count` and the `again_` quantities are ever proven.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from itertools import product
from typing import Any, Final, NamedTuple, TypeAlias, assert_never

from synth.base.errors import SceneError
from synth.scene.scene import (
    MAX_DEPTH,
    Concat,
    Event,
    Overlay,
    Scene,
    from_json,
    read_json_text,
    to_text,
)

MAX_TIMES: Final = 100
"""How often a claim may say that a sound is heard."""


@dataclass(frozen=True, slots=True)
class And:
    """Both claims are true, with no word on how they relate in time."""

    first: Claim
    second: Claim


@dataclass(frozen=True, slots=True)
class Not:
    """The claim is false."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Only:
    """The claim is true and no other label is heard."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Count:
    """A sound is heard so many times, at least once, no more and no fewer."""

    event: Event
    times: int

    def __post_init__(self) -> None:
        if not 1 <= self.times <= MAX_TIMES:
            raise SceneError(
                f"a sound cannot be counted {self.times} times", fix=f"1 to {MAX_TIMES}"
            )


class Quantity(StrEnum):
    """What is measured of a sound, of two sounds, or of one that is heard twice.

    Of one sound: `duration` and `onset` in frames; `position`, the part of the whole in which it
    lies (`Part`); `trend`, 1 if it gets louder and -1 if it gets quieter.
    Of two: `gap`, frames from the end of the first to the begin of the second; `longer` and
    `louder`, 1 if the first is so, -1 if the second is.
    Of one that is heard twice: `again_louder`, `again_farther`, `again_roomier`, `again_higher` and
    `again_faster`, 1 if the second time is so, -1 if the first is.
    """

    DURATION = "duration"
    ONSET = "onset"
    POSITION = "position"
    TREND = "trend"
    GAP = "gap"
    LONGER = "longer"
    LOUDER = "louder"
    AGAIN_LOUDER = "again_louder"
    AGAIN_FARTHER = "again_farther"
    AGAIN_ROOMIER = "again_roomier"
    AGAIN_HIGHER = "again_higher"
    AGAIN_FASTER = "again_faster"

    @property
    def is_time(self) -> bool:
        """Whether it is in frames."""
        return self in (Quantity.DURATION, Quantity.ONSET, Quantity.GAP)

    @property
    def is_again(self) -> bool:
        """Whether it is of a sound that is heard twice."""
        return self.value.startswith("again_")

    @property
    def is_comparison(self) -> bool:
        """Whether one of two sounds has more of it."""
        return self in (Quantity.LONGER, Quantity.LOUDER)

    @property
    def arity(self) -> int:
        """How many labels it is told of."""
        return 2 if self is Quantity.GAP or self.is_comparison else 1


class Part(IntEnum):
    """A part of the whole."""

    START = 0
    MIDDLE = 1
    END = 2


@dataclass(frozen=True, slots=True)
class Measured:
    """A quantity of sounds has a value (`Quantity`), as nearly as people say such things."""

    quantity: Quantity
    of: tuple[Event, ...]
    value: int

    def __post_init__(self) -> None:
        if len(self.of) != self.quantity.arity or len({event.label for event in self.of}) < len(
            self.of
        ):
            raise SceneError(
                f"{self.quantity.value} of {', '.join(event.label for event in self.of)}",
                fix=f"tell it of {self.quantity.arity} different sounds",
            )
        if self.value not in self._values():
            raise SceneError(
                f"{self.quantity.value} cannot be {self.value}",
                fix="see the values of synth.scene.claim.Quantity",
            )

    def _values(self) -> Container[int]:
        if self.quantity.is_time:
            return range(1 << 53)
        return (*Part,) if self.quantity is Quantity.POSITION else (-1, 1)


Claim: TypeAlias = Scene | And | Not | Only | Count | Measured


def claim_to_text(claim: Claim) -> str:
    """The claim as JSON with sorted keys and no spaces: equal claims give equal text."""
    if isinstance(claim, Event | Concat | Overlay):
        return to_text(claim)
    match claim:
        case And(first, second):
            return f'{{"and":[{claim_to_text(first)},{claim_to_text(second)}]}}'
        case Not(inner):
            return f'{{"not":{claim_to_text(inner)}}}'
        case Only(inner):
            return f'{{"only":{claim_to_text(inner)}}}'
        case Count(event, times):
            return f'{{"count":{to_text(event)},"times":{times}}}'
        case Measured(quantity, of, value):
            events = ",".join(map(to_text, of))
            return f'{{"measure":"{quantity.value}","of":[{events}],"value":{value}}}'
        case _:
            assert_never(claim)


def claim_from_json(value: Any, depth: int = 0) -> Claim:
    """The claim of the values of a text that `claim_to_text` wrote; `depth` claims enclose it."""
    if depth > MAX_DEPTH:
        raise SceneError(f"a claim is at most {MAX_DEPTH} deep", fix="claim fewer things at once")
    match value:
        case {"and": [first, second]}:
            return And(claim_from_json(first, depth + 1), claim_from_json(second, depth + 1))
        case {"not": inner}:
            return Not(claim_from_json(inner, depth + 1))
        case {"only": inner}:
            return Only(claim_from_json(inner, depth + 1))
        case {"count": event, "times": int(times)} if type(times) is int:
            scene = from_json(event)
            if isinstance(scene, Event):
                return Count(scene, times)
        case {"measure": str(name), "of": [*of], "value": int(measure)} if type(
            measure
        ) is int and name in tuple(Quantity):
            events = tuple(scene for scene in map(from_json, of) if isinstance(scene, Event))
            if len(events) == len(of):
                return Measured(Quantity(name), events, measure)
        case {"event": _} | {"sequence": _} | {"overlay": _}:
            return from_json(value)
    raise SceneError(
        "not a claim: " + f"{value!r}"[:200],
        fix='expected a scene, or an object with "and", "not", "only", "count" or "measure"',
    )


def claim_from_text(text: str) -> Claim:
    """The claim that `claim_to_text` wrote."""
    return claim_from_json(read_json_text(text))


def claim_labels(claim: Claim) -> frozenset[str]:
    """Every label that the claim mentions."""
    # Asked of every claim of a plan: patterns with classes take twice as long.
    if isinstance(claim, Not | Only):
        return claim_labels(claim.claim)
    if isinstance(claim, And):
        return claim_labels(claim.first) | claim_labels(claim.second)
    if isinstance(claim, Count):
        return frozenset(claim.event.named)
    if isinstance(claim, Measured):
        return frozenset(event.label for event in claim.of)
    return frozenset(claim.named)


def parts_of(claim: Claim) -> tuple[Claim, ...]:
    """The claims that `And` joins, however it is nested."""
    if isinstance(claim, And):
        return *parts_of(claim.first), *parts_of(claim.second)
    return (claim,)


# What a claim states, taken apart into single facts: equal for all ways to put the same.
#
# A composition of sounds is stated pair by pair. A scene that names each label once is a
# series-parallel order, which its pairs determine, so nothing is lost and brackets are not needed.
# One that names a label twice is stated as a whole, too, which no reader does: it equals none.


class Statement(NamedTuple):
    """A fact about one or two sounds: a key of `SOUNDS`, and how often or how many seconds."""

    says: str
    sounds: tuple[str, ...]
    value: float = 0.0

    def __str__(self) -> str:
        value = f" {self.value:g}" if self.says in VALUED else ""
        return f"{self.says}{value} {', '.join(self.sounds)}"


_TIMED: Final = {Quantity.DURATION: "lasts", Quantity.ONSET: "begins", Quantity.GAP: "pause"}
_PARTS: Final = {Part.START: "at_start", Part.MIDDLE: "in_middle", Part.END: "at_end"}
_SIGNED: Final = {
    Quantity.TREND: ("gets_louder", "gets_quieter"),
    Quantity.AGAIN_LOUDER: ("again_louder", "again_quieter"),
    Quantity.AGAIN_FARTHER: ("again_farther", "again_closer"),
    Quantity.AGAIN_ROOMIER: ("again_larger_room", "again_smaller_room"),
    Quantity.AGAIN_HIGHER: ("again_higher", "again_lower"),
    Quantity.AGAIN_FASTER: ("again_faster", "again_slower"),
}
_COMPARED: Final = tuple(quantity.value for quantity in Quantity if quantity.is_comparison)
_PAIRED: Final = ("before", "together", "pause", *_COMPARED)
VALUED: Final = frozenset({"times", *_TIMED.values()})
"""What comes with a value."""

SOUNDS: Final = dict.fromkeys(_PAIRED, 2) | dict.fromkeys(
    (
        *("heard", "absent", "only", "times", "lasts", "begins", *_PARTS.values()),
        *(name for names in _SIGNED.values() for name in names),
    ),
    1,
)
"""Of how many sounds each thing is said."""


def state(claim: Claim, rate: int | None = None) -> frozenset[Statement]:
    """All that a claim states, with what follows from it.

    Args:
        rate: In Hz; needed where the claim tells a time.
    """
    return complete(_state(claim, rate))


def complete(statements: Iterable[Statement]) -> frozenset[Statement]:
    """Statements with what follows from them, in one order of the sounds and rounded.

    What is told of a sound says that it is heard. A pause after a sound says that it is before the
    other. What is compared with itself is heard twice. What is before another is before all that
    the other is before.
    """
    stated = set(map(_arrange, statements))
    present = {sound for says, sounds, _ in stated if says != "absent" for sound in sounds}
    stated |= {Statement("heard", (sound,)) for sound in present}
    stated |= {Statement("before", sounds) for says, sounds, _ in stated if says == "pause"}
    again = {sounds for says, sounds, _ in stated if says.startswith("again_")}
    stated |= {Statement("times", sounds, 2.0) for sounds in again}
    return frozenset(stated.union(_chain(sounds for says, sounds, _ in stated if says == "before")))


def classify(claim: Claim) -> str:
    """The kind of a claim, for counting.

    Returns:
        `negation`, `count`, `measured`, `order`, `together`, `order and together` or `presence`,
        the first that fits.
    """
    facts = {statement.says for statement in _state(claim, 1)}
    if facts & {"absent", "only", "denied"}:
        return "negation"
    if "times" in facts:
        return "count"
    if facts - {"heard", "before", "together", "repeated"}:
        return "measured"
    relations = {"before": "order", "together": "together"}
    return " and ".join(relations[fact] for fact in relations if fact in facts) or "presence"


def _state(claim: Claim, rate: int | None) -> Iterator[Statement]:
    match claim:
        case Event() | Concat() | Overlay():
            yield from _state_scene(claim)
        case And(first, second):
            yield from _state(first, rate)
            yield from _state(second, rate)
        case Not(Event(label)):
            yield Statement("absent", (label,))
        case Not():
            yield Statement("denied", (claim_to_text(claim.claim),))
        case Only(inner):
            yield from _state(inner, rate)
            yield from (Statement("only", (label,)) for label in claim_labels(inner))
        case Count(event, times):
            yield Statement("times", (event.label,), times)
        case Measured():
            yield _state_measure(claim, rate)
        case _:
            assert_never(claim)


def _state_scene(scene: Scene) -> Iterator[Statement]:
    if isinstance(scene, Event):
        yield Statement("heard", (scene.label,))
        return
    if len(set(scene.named)) < len(scene.named):  # Its pairs do not determine it.
        yield Statement("repeated", (claim_to_text(scene),))
    relation = "before" if isinstance(scene, Concat) else "together"
    for pair in product(scene.first.named, scene.second.named):
        yield Statement(relation, pair)
    yield from _state_scene(scene.first)
    yield from _state_scene(scene.second)


def _state_measure(claim: Measured, rate: int | None) -> Statement:
    of = tuple(event.label for event in claim.of)
    if claim.quantity.is_time:
        if rate is None:
            raise SceneError(
                f"the {claim.quantity.value} of {of[0]!r} is in frames of an unknown rate",
                fix="give the row a `sample_rate`",
            )
        return Statement(_TIMED[claim.quantity], of, claim.value / rate)
    if claim.quantity is Quantity.POSITION:
        return Statement(_PARTS[Part(claim.value)], of)
    if claim.quantity.arity == 2:
        return Statement(claim.quantity.value, of if claim.value > 0 else of[::-1])
    return Statement(_SIGNED[claim.quantity][claim.value < 0], of)


def _arrange(statement: Statement) -> Statement:
    says, sounds, value = statement
    ordered = tuple(sorted(sounds)) if says == "together" else sounds
    return Statement(says, ordered, round(value, 1) if says in VALUED else 0.0)


def _chain(pairs: Iterable[tuple[str, ...]]) -> Iterator[Statement]:
    """What is before what, by way of others."""
    after: dict[str, set[str]] = {}
    for first, second in pairs:
        after.setdefault(first, set()).add(second)
    for first in after:
        reached, waiting = set(), list(after[first])
        while waiting:
            sound = waiting.pop()
            if sound not in reached:
                reached.add(sound)
                waiting += after.get(sound, ())
        yield from (Statement("before", (first, sound)) for sound in reached)
