"""The scene: a value that says which sounds are heard and how they are composed.

`Scene = Event | Concat | Overlay`, frozen and sealed; everything else interprets it. A scene
whose events carry no excerpt is a statement over labels; one whose events do can be rendered.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Final, TypeAlias, assert_never

from synth.base.doors import parse_json
from synth.base.errors import SceneError, shorten
from synth.base.units import Decibels, Frames

MAX_DEPTH: Final = 100
"""Compositions within compositions; deeper scenes are refused when they are made."""

_MOST_FRAMES: Final = 1 << 53
"""Of what is read: up to here every reader of JSON has whole numbers exactly."""

_MOST_DB: Final = 1000


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The stretch of a clip that an event plays.

    Args:
        clip: Clip id in the catalogue.
        start: First frame, counted from the clip's active span, at the corpus rate.
        frames: Length at the corpus rate, at least 1.
        gain_db: Gain applied to the clip as catalogued.
    """

    clip: str
    start: Frames
    frames: Frames
    gain_db: Decibels = 0.0

    def __post_init__(self) -> None:
        if self.start < 0 or self.frames < 1:
            raise SceneError(f"excerpt of {self.clip!r}: start {self.start}, frames {self.frames}")


@dataclass(frozen=True, slots=True)
class Event:
    """One sound, by its label."""

    label: str
    excerpt: Excerpt | None = None
    depth: ClassVar[int] = 0

    def __post_init__(self) -> None:
        if not self.label.strip():
            raise SceneError("an event needs a label", fix="give it at least one visible letter")

    @property
    def named(self) -> tuple[str, ...]:
        """Its label."""
        return (self.label,)

    @property
    def heard(self) -> Excerpt:
        """The excerpt."""
        if self.excerpt is None:
            raise SceneError(f"event {self.label!r} has no excerpt, so it has no place in time")
        return self.excerpt


@dataclass(frozen=True, slots=True)
class Concat:
    """`first`, then `second`, overlapping by `crossfade` frames; below 0, after as long a pause."""

    first: Scene
    second: Scene
    crossfade: Frames = 0
    depth: int = field(init=False, repr=False, compare=False)
    named: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", _depth(self.first, self.second))
        object.__setattr__(self, "named", self.first.named + self.second.named)


@dataclass(frozen=True, slots=True)
class Overlay:
    """`first` and `second` together; `second` starts `offset` frames after `first` (or before)."""

    first: Scene
    second: Scene
    offset: Frames = 0
    depth: int = field(init=False, repr=False, compare=False)
    named: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", _depth(self.first, self.second))
        object.__setattr__(self, "named", self.first.named + self.second.named)


Scene: TypeAlias = Event | Concat | Overlay


def _depth(first: Scene, second: Scene) -> int:
    depth = 1 + max(first.depth, second.depth)
    if depth > MAX_DEPTH:
        raise SceneError(f"a scene is at most {MAX_DEPTH} deep", fix="compose fewer parts")
    return depth


def events(scene: Scene) -> tuple[Event, ...]:
    """The events of a scene, left to right."""
    if isinstance(scene, Event):
        return (scene,)
    return events(scene.first) + events(scene.second)


def labels(scene: Scene) -> tuple[str, ...]:
    """The events' labels, left to right, repeats kept."""
    return scene.named


def operands(scene: Concat | Overlay) -> tuple[Scene, ...]:
    """What follows one another in a concatenation, or sounds together in an overlay, two or more.

    Both compositions are associative in what they say: `(A + B) + C` and `A + (B + C)` have the
    operands A, B and C.
    """
    kind, first, second = type(scene), scene.first, scene.second
    left = operands(first) if isinstance(first, kind) else (first,)
    right = operands(second) if isinstance(second, kind) else (second,)
    return left + right


def longest_crossfade(scene: Scene) -> Frames:
    """The longest crossfade of its concatenations, 0 where it has none."""
    match scene:
        case Event():
            return 0
        case Concat(first, second, crossfade):
            return max(crossfade, longest_crossfade(first), longest_crossfade(second))
        case Overlay(first, second):
            return max(longest_crossfade(first), longest_crossfade(second))
        case _:
            assert_never(scene)


def statement(scene: Scene) -> Scene:
    """The scene over labels alone: no excerpts, crossfades or offsets."""
    match scene:
        case Event(label):
            return Event(label)
        case Concat(first, second):
            return Concat(statement(first), statement(second))
        case Overlay(first, second):
            return Overlay(statement(first), statement(second))
        case _:
            assert_never(scene)


def to_json(scene: Scene) -> dict[str, Any]:
    """The scene as JSON values; `from_json` is its inverse."""
    match scene:
        case Event(label, excerpt):
            return {"event": label} | (asdict(excerpt) if excerpt else {})
        case Concat(first, second, crossfade):
            return {"sequence": [to_json(first), to_json(second)], "crossfade": crossfade}
        case Overlay(first, second, offset):
            return {"overlay": [to_json(first), to_json(second)], "offset": offset}
        case _:
            assert_never(scene)


def to_text(scene: Scene) -> str:
    """`to_json` as text with sorted keys and no spaces: equal scenes give equal text."""
    if isinstance(scene, Event):
        label, heard = in_quotes(scene.label), scene.excerpt
        if heard is None:
            return f'{{"event":{label}}}'
        return (
            f'{{"clip":{in_quotes(heard.clip)},"event":{label},"frames":{heard.frames},'
            f'"gain_db":{_number(heard.gain_db)},"start":{heard.start}}}'
        )
    parts = f"[{to_text(scene.first)},{to_text(scene.second)}]"
    if isinstance(scene, Concat):
        return f'{{"crossfade":{scene.crossfade},"sequence":{parts}}}'
    return f'{{"offset":{scene.offset},"overlay":{parts}}}'


in_quotes: Final = json.JSONEncoder(ensure_ascii=False).encode
"""A string as JSON text."""


def _number(value: float) -> str:
    return float.__repr__(value) if isinstance(value, float) else str(value)


def from_json(value: Any) -> Scene:
    """The scene that `to_json` wrote."""
    return _read(value, 0)


def from_text(text: str) -> Scene:
    """The scene that `to_text` wrote."""
    return from_json(read_json_text(text))


def read_json_text(text: str) -> Any:
    """The values of a JSON text that may be anybody's."""
    where, fix = f"scene or claim {shorten(text)}", "expected the JSON that a build wrote"
    return parse_json(text, where, refuse=SceneError, fix=fix)


def _read(value: Any, depth: int) -> Scene:
    if depth > MAX_DEPTH:
        raise SceneError(f"a scene is at most {MAX_DEPTH} deep", fix="compose fewer parts")
    match value:
        case {"event": str(label), "clip": str(clip)}:
            excerpt = Excerpt(
                clip,
                _integer(value.get("start")),
                _integer(value.get("frames")),
                _level(value.get("gain_db")),
            )
            return Event(label, excerpt)
        case {"event": str(label)} if len(value) == 1:
            return Event(label)
        case {"sequence": [first, second], "crossfade": crossfade}:
            return Concat(_read(first, depth + 1), _read(second, depth + 1), _integer(crossfade))
        case {"overlay": [first, second], "offset": offset} if len(value) == 2:
            return Overlay(_read(first, depth + 1), _read(second, depth + 1), _integer(offset))
    raise SceneError(
        "not a scene: " + f"{value!r}"[:200],
        fix='expected an object with "event", "sequence" and "crossfade", '
        'or "overlay" and "offset"',
    )


def _integer(value: Any) -> int:
    if type(value) is not int or not -_MOST_FRAMES <= value <= _MOST_FRAMES:
        raise SceneError(f"expected a whole number of frames, got {shorten(value)}")
    return value


def _level(value: Any) -> float:
    # Neither infinity nor what is not a number lies between two numbers.
    if type(value) not in (int, float) or not -_MOST_DB <= value <= _MOST_DB:
        raise SceneError(f"expected a level in dB, got {shorten(value)}")
    return float(value)
