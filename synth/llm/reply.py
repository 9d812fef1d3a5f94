"""The text of a model's reply as answers by id."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

from synth.llm.answer_schema import answers_of
from synth.llm.errors import AnswerError

_FENCED: Final = re.compile(
    r"^```\w*\s*(?P<inside>.*?)(?:^\s*```|\s*```\Z|\Z)", re.DOTALL | re.MULTILINE
)
_SHOWN: Final = 60


def read_reply(text: str) -> dict[str, dict[str, Any]]:
    """The answers of a reply by the ids they bear, without these.

    An entry that is no object, or has no readable id, is left out: its item is one without answer.
    A whole number as an id stands for its digits.

    Args:
        text: What the model wrote: JSON, perhaps in a code fence and with words around that.

    Raises:
        AnswerError: If it is not JSON of the form `{"answers": [...]}`, or an id comes twice.
    """
    found: dict[str, dict[str, Any]] = {}
    for entry in answers_of(_read_json(text)):
        name = _id_of(entry)
        if name is None:
            continue
        if name in found:
            raise AnswerError(f"the id {name!r} is answered twice", fix="answer each item once")
        found[name] = {key: value for key, value in entry.items() if key != "id"}
    return found


def _read_json(text: str) -> Any:
    plain = text.strip().removeprefix("\ufeff").strip()
    fenced = None if plain.startswith("{") else _FENCED.search(plain)
    plain = fenced["inside"].strip() if fenced else plain
    if not plain:
        raise AnswerError("the reply is empty")
    try:
        return json.loads(plain, object_pairs_hook=_object, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise AnswerError(_explain(plain, error)) from error
    except RecursionError as error:
        raise AnswerError("the reply is nested too deep to be read") from error
    except ValueError as error:
        raise AnswerError(f"the reply is not JSON: {error}") from error


def _explain(plain: str, error: json.JSONDecodeError) -> str:
    if plain[0] == "{" and not plain.endswith("}"):
        return f"the reply is cut short after {plain[-_SHOWN:]!r}"
    return f"the reply is not JSON: {error.msg} at {plain[error.pos :][:_SHOWN]!r}"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise AnswerError("an object of the reply has a key twice", fix="give each key once")
    return found


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
