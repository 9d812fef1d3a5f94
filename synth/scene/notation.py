r"""The papers' scene notation: `(Tap dance + Applause) * Female speech, woman speaking`.

`+` concatenates, `*` overlays; `*` binds tighter and both are left-associative (CompA, section
3.4). A label is written bare, with balanced parentheses where it holds them (`Whimper (dog)`), or
in double quotes with `\"` and `\\` as escapes where a bare one would be misread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from synth.base.errors import NotationError, SceneError
from synth.scene.scene import MAX_DEPTH, Concat, Event, Overlay, Scene

OPERATORS = "+*"


def parse(text: str) -> Scene:
    """The scene over labels that `text` denotes."""
    parser = _Parser(text)
    scene = parser.concat(depth=0)
    if parser.peek():
        raise parser.error("')' without its '('")
    return scene


def format_scene(scene: Scene) -> str:
    """The canonical notation of a scene's labels and composition; `parse` is its inverse."""
    match scene:
        case Event(label):
            return label if _reads_bare(label) else _quote(label)
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
