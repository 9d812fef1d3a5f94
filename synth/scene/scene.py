"""The scene: a value that says which sounds are heard and how they are composed.

`Scene = Event | Concat | Overlay`, frozen and sealed; everything else interprets it. A scene
whose events carry no excerpt is a statement over labels; one whose events do can be rendered.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Final, TypeAlias, assert_never

from synth.base.doors import parse_json
from synth.base.errors import NotationError, SceneError, shorten
from synth.base.own_label import name_of
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
        start: First frame, counted from the clip's active span, at the corpus rate.
        frames: Length at the corpus rate, at least 1.
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
    def played(self) -> Excerpt:
        """The excerpt, which a statement's events lack."""
        if self.excerpt is None:
            raise SceneError(f"event {self.label!r} has no excerpt, so it has no place in time")
        return self.excerpt


@dataclass(frozen=True, slots=True)
class _Composed:
    """Two parts; `depth` counts the compositions within it, `named` are the labels of both."""

    first: Scene
    second: Scene
    depth: int = field(init=False, repr=False, compare=False)
    named: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        depth = 1 + max(self.first.depth, self.second.depth)
        if depth > MAX_DEPTH:
            raise SceneError(f"a scene is at most {MAX_DEPTH} deep", fix="compose fewer parts")
        object.__setattr__(self, "depth", depth)
        object.__setattr__(self, "named", self.first.named + self.second.named)


@dataclass(frozen=True, slots=True)
class Concat(_Composed):
    """`first`, then `second`, overlapping by `crossfade` frames; below 0, after as long a pause."""

    crossfade: Frames = 0


@dataclass(frozen=True, slots=True)
class Overlay(_Composed):
    """`first` and `second` together; `second` starts `offset` frames after `first` (or before)."""

    offset: Frames = 0


Scene: TypeAlias = Event | Concat | Overlay


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


def statement(scene: Scene) -> Scene:
    """The scene over labels alone: no excerpts, crossfades or offsets."""
    if isinstance(scene, Event):
        return Event(scene.label)
    return type(scene)(statement(scene.first), statement(scene.second))


def to_text(scene: Scene) -> str:
    """The scene as JSON with sorted keys and no spaces: equal scenes give equal text."""
    if isinstance(scene, Event):
        label, excerpt = in_quotes(scene.label), scene.excerpt
        if excerpt is None:
            return f'{{"event":{label}}}'
        return (
            f'{{"clip":{in_quotes(excerpt.clip)},"event":{label},"frames":{excerpt.frames},'
            f'"gain_db":{_number(excerpt.gain_db)},"start":{excerpt.start}}}'
        )
    parts = f"[{to_text(scene.first)},{to_text(scene.second)}]"
    if isinstance(scene, Concat):
        return f'{{"crossfade":{scene.crossfade},"sequence":{parts}}}'
    return f'{{"offset":{scene.offset},"overlay":{parts}}}'


in_quotes: Final = json.JSONEncoder(ensure_ascii=False).encode
"""A string as JSON text."""


def _number(value: float) -> str:
    return float.__repr__(value) if isinstance(value, float) else str(value)


@lru_cache(maxsize=256)  # a sample's document, sound and timeline ask for it in turn
def from_text(text: str) -> Scene:
    """The scene that `to_text` wrote."""
    return from_json(read_json_text(text))


def read_json_text(text: str) -> Any:
    """The values of a JSON text that may be anybody's."""
    where, fix = f"scene or claim {shorten(text)}", "expected the JSON that a build wrote"
    return parse_json(text, where, refuse=SceneError, fix=fix)


def from_json(value: Any, depth: int = 0) -> Scene:
    """The scene of the values of such a text; `depth` compositions enclose it."""
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
            parts = from_json(first, depth + 1), from_json(second, depth + 1)
            return Concat(*parts, _integer(crossfade))
        case {"overlay": [first, second], "offset": offset} if len(value) == 2:
            parts = from_json(first, depth + 1), from_json(second, depth + 1)
            return Overlay(*parts, _integer(offset))
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


# The papers' scene notation: `(Tap dance + Applause) * Female speech, woman speaking`.
#
# `+` concatenates, `*` overlays; `*` binds tighter and both are left-associative (CompA, section
# 3.4). A label is written bare, with balanced parentheses where it holds them (`Whimper (dog)`), or
# in double quotes with `\"` and `\\` as escapes where a bare one would be misread.


OPERATORS = "+*"


def parse(text: str) -> Scene:
    """The scene over labels that `text` denotes."""
    parser = _Parser(text)
    scene = parser.concat(depth=0)
    if parser.peek():
        raise parser.error("')' without its '('")
    return scene


def format_scene(scene: Scene) -> str:
    """The canonical notation of a scene's labels, by name, and composition; `parse` reads it."""
    match scene:
        case Event(label):
            name = name_of(label)
            return name if _reads_bare(name) else _quote(name)
        case Concat(first, second):
            right = format_scene(second)
            return f"{format_scene(first)} + {_parenthesise(right, isinstance(second, Concat))}"
        case Overlay(first, second):
            left, right = format_scene(first), format_scene(second)
            left = _parenthesise(left, isinstance(first, Concat))
            return f"{left} * {_parenthesise(right, not isinstance(second, Event))}"
        case _:
            assert_never(scene)


def _parenthesise(text: str, needed: bool) -> str:
    return f"({text})" if needed else text


def _quote(label: str) -> str:
    escaped = label.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _reads_bare(label: str) -> bool:
    if label != label.strip() or label[0] in '("' or any(sign in label for sign in OPERATORS):
        return False
    depth = 0
    for character in label:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return depth == 0


@dataclass(slots=True)
class _Parser:
    text: str
    position: int = 0

    def error(self, reason: str, position: int | None = None) -> NotationError:
        at = self.position if position is None else position
        return NotationError(reason, text=self.text, column=at + 1)

    def peek(self) -> str:
        """The next character that is no space, or '' at the end."""
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1
        return self.text[self.position : self.position + 1]

    def accept(self, sign: str) -> bool:
        if self.peek() != sign:
            return False
        self.position += 1
        return True

    def concat(self, depth: int) -> Scene:
        scene = self.overlay(depth)
        while self.accept("+"):
            scene = self._compose(Concat, scene, self.overlay(depth))
        return scene

    def overlay(self, depth: int) -> Scene:
        scene = self.atom(depth)
        while self.accept("*"):
            scene = self._compose(Overlay, scene, self.atom(depth))
        return scene

    def atom(self, depth: int) -> Scene:
        self._limit(depth)
        match self.peek():
            case "(":
                opened = self.position
                self.position += 1
                scene = self.concat(depth + 1)
                if not self.accept(")"):
                    raise self.error("'(' is never closed", opened)
            case '"':
                scene = Event(self._read_quoted())
            case "" | "+" | "*" | ")":
                raise self.error("expected a label or '('")
            case _:
                return Event(self._read_bare())
        if self.peek() not in ("", ")", *OPERATORS):
            raise self.error("expected '+', '*', ')' or the end")
        return scene

    def _compose(self, relate: type[Concat] | type[Overlay], first: Scene, second: Scene) -> Scene:
        try:
            return relate(first, second)
        except SceneError as error:
            raise self.error(error.message) from error

    def _limit(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise self.error(f"a scene is at most {MAX_DEPTH} deep")

    def _read_quoted(self) -> str:
        opened = self.position
        self.position += 1
        letters: list[str] = []
        while self.position < len(self.text):
            character = self.text[self.position]
            self.position += 1
            if character == '"':
                label = "".join(letters)
                if not label.strip():
                    raise self.error("a label needs a visible letter", opened)
                return label
            if character == "\\":
                character = self.text[self.position : self.position + 1]
                if character not in ('"', "\\"):
                    raise self.error("after '\\' comes '\"' or '\\'")
                self.position += 1
            letters.append(character)
        raise self.error("'\"' is never closed", opened)

    def _read_bare(self) -> str:
        start = self.position
        opened: list[int] = []
        while self.position < len(self.text):
            character = self.text[self.position]
            if character == "(":
                opened.append(self.position)
            elif character == ")":
                if not opened:
                    break
                opened.pop()
            elif character in OPERATORS:
                if opened:
                    reason = "expected '+' or '*' before '('; if it belongs to the label, quote it"
                    raise self.error(reason, opened[0])
                break
            self.position += 1
        if opened:
            raise self.error("'(' is never closed", opened[0])
        return self.text[start : self.position].strip()
