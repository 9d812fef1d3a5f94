"""The text of a model's reply as answers by id."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from synth.base.doors import parse_json
from synth.llm.answer_schema import AnswerError, answers_of

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
    answers: dict[str, dict[str, Any]] = {}
    for entry in answers_of(_read_json(text)):
        name = _id_of(entry)
        if name is None:
            continue
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


def _id_of(entry: Any) -> str | None:
    match entry:
        case {"id": bool()}:
            return None
        case {"id": int(number)}:
            return str(number)
        case {"id": str(name)}:
            return name
    return None


# One thing to ask a language model about.


@dataclass(frozen=True, slots=True)
class PromptItem:
    """One thing to ask about."""

    id: str
    fields: Mapping[str, Any]
