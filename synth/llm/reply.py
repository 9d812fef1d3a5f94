"""Replies of a model: the JSON schema they must have, and their text as answers by id.

A prompt describes one answer; the schema of a whole reply is made of it, in the strict subset that
structured outputs take. In it every object lists all its properties as required and admits no other
(OpenAI, Structured Outputs, "Supported schemas"). What a prompt's file leaves out of these two is
filled in.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from synth.base.doors import parse_json
from synth.base.errors import SegueError

# What can be wrong with a reply.


class AnswerError(SegueError):
    """A reply of which nothing can be used: no JSON, cut short, or ids that clash."""


_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "string": frozenset({"enum"}),
    "integer": frozenset({"minimum", "maximum"}),
    "number": frozenset({"minimum", "maximum"}),
    "boolean": frozenset(),
}
_PYTHON: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_BROKEN: Final = frozenset({"Cc", "Cs", "Co", "Cn"})
_TURNING: Final = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))
"""Letters that change the direction in which others are shown."""


def make_strict(schema: Any, where: str = "answer") -> dict[str, Any]:
    """A schema of the subset, with what strictness asks for filled in."""
    if not isinstance(schema, Mapping):
        raise ValueError(f"{where}: expected a JSON schema, got {schema!r}")
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in _KEYS:
        raise ValueError(f"{where}.type: expected one of {', '.join(_KEYS)}, got {kind!r}")
    for key in schema:
        if key not in _KEYS[kind] | {"type", "description"}:
            raise ValueError(f"{where}.{key}: strict schemas of type {kind} have no such key")
    made = dict(schema)
    if kind == "object":
        made |= _strict_object(schema, where)
    elif kind == "array":
        made["items"] = make_strict(schema.get("items"), f"{where}.items")
    _check_bounds(schema, where)
    return made


def _strict_object(schema: Mapping[str, Any], where: str) -> dict[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        raise ValueError(f"{where}.properties: an object needs at least one")
    if not all(isinstance(name, str) for name in properties):
        raise ValueError(f"{where}.properties: names must be text")
    required = schema.get("required", list(properties))
    if not isinstance(required, list) or sorted(map(str, required)) != sorted(properties):
        raise ValueError(f"{where}.required: strict schemas require every property")
    if schema.get("additionalProperties", False) is not False:
        raise ValueError(f"{where}.additionalProperties: must be false")
    return {
        "properties": {
            name: make_strict(inner, f"{where}.{name}") for name, inner in properties.items()
        },
        "required": list(properties),
        "additionalProperties": False,
    }


def _check_bounds(schema: Mapping[str, Any], where: str) -> None:
    for key in ("minItems", "maxItems", "minimum", "maximum"):
        value = schema.get(key, 0)
        whole = key.endswith("Items")
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
            raise ValueError(f"{where}.{key}: expected a number, got {value!r}")
    choices = schema.get("enum", [""])
    is_list = isinstance(choices, list) and bool(choices)
    if not is_list or not all(isinstance(choice, str) for choice in choices):
        raise ValueError(f"{where}.enum: expected a list of strings")


def reply_schema(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a whole reply: `{"answers": [{"id": ..., and what an answer holds}]}`.

    Raises:
        ValueError: If the answer is not an object of the strict subset, or names its own `id`.
    """
    checked = make_strict(answer)
    if checked["type"] != "object":
        raise ValueError(f"answer.type: an answer is an object, not of type {checked['type']}")
    if "id" in checked["properties"]:
        raise ValueError("answer.id: the id is added automatically; leave it out")
    properties = {"id": {"type": "string"}} | checked["properties"]
    answers = {"type": "array", "items": {"type": "object", "properties": properties}}
    return make_strict({"type": "object", "properties": {"answers": answers}}, "reply")


def find_violations(value: Any, schema: Mapping[str, Any], where: str = "the answer") -> list[str]:
    """What in a value breaks a strict schema, in plain words; an empty list for nothing."""
    kind = str(schema["type"])
    is_of = isinstance(value, _PYTHON[kind]) and (kind == "boolean") == isinstance(value, bool)
    if not is_of:
        return [f"{where} must be of type {kind}, not {_kind_of(value)}"]
    faults: list[str] = []
    if kind == "object":
        asked = schema["properties"]
        faults += [f"{where} lacks {name!r}" for name in asked if name not in value]
        faults += [f"{where} has {name!r}, which is not asked for" for name in value.keys() - asked]
        for name, inner in asked.items():
            if name in value:
                faults += find_violations(value[name], inner, repr(name))
    elif kind == "array":
        if len(value) < schema.get("minItems", 0):
            faults.append(f"{where} needs at least {schema['minItems']} entries")
        if len(value) > schema.get("maxItems", len(value)):
            faults.append(f"{where} may have at most {schema['maxItems']} entries")
        for place, entry in enumerate(value, start=1):
            faults += find_violations(entry, schema["items"], f"entry {place} of {where}")
    elif kind == "string":
        broken = (letter for letter in value if unicodedata.category(letter) in _BROKEN)
        strange = sorted(({*broken} | _TURNING.intersection(value)) - {"\n"})
        if strange:
            faults.append(f"{where} holds U+{ord(strange[0]):04X}, which is no text")
        elif value not in schema.get("enum", [value]):
            faults.append(f"{where} must be one of {', '.join(schema['enum'])}")
    elif value < schema.get("minimum", value):
        faults.append(f"{where} must be at least {schema['minimum']}")
    elif value > schema.get("maximum", value):
        faults.append(f"{where} must be at most {schema['maximum']}")
    return faults


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    known = (kind for kind, types in _PYTHON.items() if isinstance(value, types))
    return next(known, type(value).__name__)


# The text of a reply as answers by id.


_FENCE: Final = re.compile(r"^```\w*", re.MULTILINE)
_FENCE_END: Final = re.compile(r"^[ \t]*```", re.MULTILINE)
_THOUGHT: Final = re.compile(
    r"[<\[◁](?P<end>/)?(?:seed:)?"
    r"(?:think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad)"
    r"(?:\s[^<>\[\]]{0,200}?)?(?P<empty>/)?[>\]▷]"
    r"|<\|(?:begin|(?P<over>end))_of_thought\|>"
    r"|<\|channel\|>(?:analysis|(?P<final>final))<\|message\|>",
    re.IGNORECASE,
)
"""A mark where a model's thoughts begin or end."""
_MOST_MARKS: Final = 100
_SHOWN: Final = 60


def read_reply(text: str) -> dict[str, dict[str, Any]]:
    """The answers of a reply by the ids they bear, without these.

    An entry that is no object, or has no readable id, is left out: its item is one without answer.
    A whole number as an id stands for its digits.

    Args:
        text: What the model wrote: JSON, perhaps after its thoughts, or in a code fence with words
            around that.
    """
    reply = _read_json(text)
    if not isinstance(reply, dict):
        raise AnswerError(f"the reply is of type {_kind_of(reply)}, not an object")
    if reply.keys() != {"answers"} or not isinstance(reply["answers"], list):
        raise AnswerError(
            f"the reply has the keys {', '.join(map(repr, reply)) or 'none'}",
            fix='expected "answers", a list, and nothing else',
        )
    answers: dict[str, dict[str, Any]] = {}
    for entry in reply["answers"]:
        given = entry.get("id") if isinstance(entry, dict) else None
        if isinstance(given, bool) or not isinstance(given, int | str):
            continue
        name = str(given)
        if name in answers:
            raise AnswerError(f"the id {name!r} is answered twice", fix="answer every item once")
        answers[name] = {key: value for key, value in entry.items() if key != "id"}
    return answers


def _read_json(text: str) -> Any:
    """The JSON behind the thoughts: no mark of any follows it, but those in its own strings."""
    plain = text.strip().removeprefix("\ufeff").strip()
    marks = list(_THOUGHT.finditer(plain))
    if len(marks) > _MOST_MARKS:
        raise AnswerError(f"the reply has {len(marks)} marks of thoughts")
    failures: list[AnswerError] = []
    for start in (0, *(mark.end() for mark in marks if mark.lastgroup)):
        begin, inside = _unfence(plain, start)
        end = begin + len(inside) if inside.startswith("{") else begin
        if all(begin <= mark.start() < end for mark in marks if mark.start() >= start):
            try:
                return _parse(inside)
            except AnswerError as error:
                failures.append(error)
    raise failures[0] if failures else AnswerError("the reply ends within its thoughts")


def _unfence(text: str, start: int) -> tuple[int, str]:
    """What the first code fence holds, or everything if there is none; and where that begins."""
    rest = text[start:].lstrip()
    start = len(text) - len(rest)
    fence = None if rest.startswith("{") else _FENCE.search(rest)
    if fence is None:
        return start, rest
    end = _FENCE_END.search(rest, fence.end())
    inside = rest[fence.end() : end.start() if end else None].rstrip()
    inside = inside if end else inside.removesuffix("```").rstrip()
    return start + fence.end() + len(inside) - len(inside.lstrip()), inside.lstrip()


def _parse(plain: str) -> Any:
    if not plain:
        raise AnswerError("the reply is empty")
    hooks = {"object_pairs_hook": _object, "parse_constant": _no_number}
    try:
        return parse_json(plain, "the reply", refuse=AnswerError, fix="", **hooks)
    except AnswerError as error:
        if isinstance(error.__cause__, json.JSONDecodeError):
            raise AnswerError(_explain(plain, error.__cause__)) from error
        raise


def _explain(plain: str, error: json.JSONDecodeError) -> str:
    if plain[0] == "{" and not plain.endswith("}"):
        return f"the reply is cut short after {plain[-_SHOWN:]!r}"
    return f"the reply is not JSON: {error.msg} at {plain[error.pos :][:_SHOWN]!r}"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise AnswerError("an object of the reply has a key twice", fix="give every key once")
    return fields


def _no_number(name: str) -> NoReturn:
    raise AnswerError(f"the reply is not JSON: {name} is no JSON number")


# One thing to ask a language model about.


@dataclass(frozen=True, slots=True)
class PromptItem:
    """One thing to ask about."""

    id: str
    fields: Mapping[str, Any]
