"""What a claim states, taken apart into single facts: equal for all ways to put the same.

A composition of sounds is stated pair by pair. A scene that names each label once is a
series-parallel order, which its pairs determine, so nothing is lost and brackets are not needed.
One that names a label twice is stated as a whole, too, which no reader does: it equals no reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final, NamedTuple, assert_never

from synth.base.errors import SceneError
from synth.scene.claim import (
    And,
    Claim,
    Count,
    Measured,
    Not,
    Only,
    Part,
    Quantity,
    claim_labels,
    claim_to_text,
)
from synth.scene.scene import Concat, Event, Overlay, Scene


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
