"""The strict subset of JSON schema, and what breaks it."""

from __future__ import annotations

from typing import Any

import pytest

from synth.llm.answer_schema import find_violations, make_strict, reply_schema
from tests.kit.cases import cases

TEXT = {"type": "string"}


def answer(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_reply_schema_is_strict_all_through() -> None:
    pair = {"type": "array", "items": answer(a=TEXT)}
    made = reply_schema(answer(pairs=pair))
    assert made == {
        "type": "object",
        "properties": {
            "answers": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": TEXT,
                        "pairs": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {"a": TEXT},
                                "required": ["a"],
                                "additionalProperties": False,
                            },
                        },
                    },
                    "required": ["id", "pairs"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["answers"],
        "additionalProperties": False,
    }


@cases(
    ("schema", "reason"),
    [
        (TEXT, "answer.type"),
        ({}, "answer.type"),
        ({"type": ["string", "null"]}, "answer.type"),
        ({"type": "object"}, "answer.properties"),
        ({"type": "object", "properties": {1: TEXT}}, "answer.properties"),
        (answer(id=TEXT), "answer.id"),
        (answer(a={"type": "text"}), "answer.a.type"),
        (answer(a={"type": "string", "pattern": "x"}), "answer.a.pattern"),
        (answer(a={"type": "array"}), "answer.a.items: expected a JSON schema"),
        (answer(a={"type": "string", "enum": []}), "answer.a.enum"),
        (answer(a={"type": "string", "enum": [1]}), "answer.a.enum"),
        (answer(a={"type": "integer", "minimum": "0"}), "answer.a.minimum"),
        (answer(a={"type": "array", "items": TEXT, "minItems": 1.5}), "answer.a.minItems"),
        (answer(a=TEXT) | {"required": []}, "answer.required"),
        (answer(a=TEXT) | {"additionalProperties": True}, "answer.additionalProperties"),
    ],
)
def test_what_is_not_strict_is_refused_by_place(schema: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        reply_schema(schema)


@cases(
    ("schema", "value", "fault"),
    [
        (TEXT, "naïve — 音", ""),
        (TEXT, 3, "must be of type string, not integer"),
        (TEXT, None, "not null"),
        (TEXT, "\ud800", "no text"),
        (TEXT, "a\0b", "no text"),
        ({"type": "string", "enum": ["a", "b"]}, "c", "one of a, b"),
        ({"type": "integer"}, 3, ""),
        ({"type": "integer"}, True, "not boolean"),
        ({"type": "integer"}, 3.5, "not number"),
        ({"type": "number"}, 3, ""),
        ({"type": "number", "minimum": 0}, -1, "at least 0"),
        ({"type": "number", "maximum": 1}, 1.5, "at most 1"),
        ({"type": "boolean"}, False, ""),
        ({"type": "boolean"}, 0, "not integer"),
        ({"type": "array", "items": TEXT}, [], ""),
        ({"type": "array", "items": TEXT}, ("a",), "not tuple"),
        ({"type": "array", "items": TEXT, "minItems": 1}, [], "at least 1"),
        ({"type": "array", "items": TEXT, "maxItems": 1}, ["a", "b"], "at most 1"),
        ({"type": "array", "items": TEXT}, ["a", 1], "entry 2 of the answer"),
        (answer(a=TEXT), {}, "lacks 'a'"),
        (answer(a=TEXT), {"a": "x", "b": "y"}, "has 'b'"),
        (answer(a=TEXT), {"a": []}, "'a' must be of type string"),
    ],
)
def test_violations(schema: dict[str, Any], value: Any, fault: str) -> None:
    found = find_violations(value, make_strict(schema))
    assert len(found) == bool(fault)
    assert all(fault in each for each in found)
