"""Replies: JSON out of what a model writes, answers by id."""

from __future__ import annotations

import json
from typing import Any

import pytest

from synth.llm.reply import AnswerError, find_violations, make_strict, read_reply, reply_schema
from tests.kit.cases import cases
from tests.kit.tables import read_data

CASES = read_data("texts/llm_replies.yaml")

GOOD = '{"answers": [{"id": "b", "x": 1}, {"id": "ä", "x": "€ \\u00fc"}]}'
READ = {"b": {"x": 1}, "ä": {"x": "€ ü"}}
DRAFT = '{"answers": [{"id": "b", "x": 0}]}'
FENCED = f"```json\n{DRAFT}\n```\n"
TOLD = "say <think>, </think> or [THINK]"


@cases("text", CASES["whole"])
def test_reads_json_within_fences_and_spaces(text: str) -> None:
    assert read_reply(text) == READ


@cases("thoughts", CASES["thoughts"])
def test_thoughts_are_dropped_and_what_only_looks_like_them_is_kept(thoughts: str) -> None:
    told = json.dumps({"answers": [{"id": "a", "x": TOLD}]})
    assert read_reply(thoughts + GOOD) == READ
    assert read_reply(f"{thoughts}Here you are:\n```json\n{GOOD}\n```") == READ
    for text in (thoughts + told, f"{thoughts}```\n{told}\n```", told, f"```{told}```"):
        assert read_reply(text) == {"a": {"x": TOLD}}


@cases(
    ("text", "reason"),
    [
        ("", "empty"),
        ("```json\n```", "empty"),
        (GOOD[:-20], "cut short"),
        (f"```json\n{GOOD[:-20]}", "cut short"),
        ("I cannot do that.", "not JSON"),
        (f"<think>{DRAFT}", "within its thoughts"),
        (f"[THINK]\n{FENCED}", "within its thoughts"),
        (f"<think>{FENCED}</think>", "empty"),
        (f"<think>{FENCED}</think> I cannot do that.", "not JSON"),
        ("<think>" * 9999, "marks of thoughts"),
        ("```" + " " * 99_999 + "x", "not JSON"),
        ('{"answers": [{"id": "a", "x": "\\ud800"}]}', "surrogate"),
        (f"{GOOD} {GOOD}", "not JSON"),
        ('{"answers": [{"id": "a", "x": NaN}]}', "NaN"),
        ('{"answers": [{"id": "a", "x": ' + "9" * 5000 + "}]}", "not JSON"),
        ("[" * 100_000, "deeper than"),
        ('{"answers": [{"id": "a", "id": "b"}]}', "key twice"),
        ('{"answers": [{"id": "a"}, {"id": "a"}]}', "answered twice"),
        ('{"answers": [{"id": "7"}, {"id": 7}]}', "answered twice"),
        ('[{"id": "a"}]', "not an object"),
        ("null", "not an object"),
        ('{"answers": {"a": {}}}', "keys"),
        ('{"answers": [], "note": "done"}', "note"),
        ("{}", "none"),
    ],
)
def test_refuses_what_cannot_be_used(text: str, reason: str) -> None:
    with pytest.raises(AnswerError, match=reason):
        read_reply(text)


@cases(
    ("entries", "ids"),
    [
        ([], []),
        ([{"id": 7}, {"id": "8"}], ["7", "8"]),
        ([{"id": None}, {"id": True}, {"id": 1.0}, {"id": ["a"]}, {}, "a", 3, None], []),
        ([{"x": 1}, {"id": "a"}], ["a"]),
        ([{"id": "never asked for"}, {"id": ""}], ["never asked for", ""]),
    ],
)
def test_only_entries_with_an_id_are_answers(entries: list[Any], ids: list[str]) -> None:
    assert list(read_reply(json.dumps({"answers": entries}))) == ids


# The strict subset of JSON schema, and what breaks it


TEXT = {"type": "string"}


def answer(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_reply_schema_is_strict_all_through() -> None:
    pair = {"type": "array", "items": answer(a=TEXT)}
    made = reply_schema(answer(pairs=pair))
    assert made == CASES["strict"]


@cases(("schema", "reason"), CASES["not_strict"])
def test_what_is_not_strict_is_refused_by_place(schema: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        reply_schema(schema)


@cases(
    ("schema", "value", "fault"),
    [
        *CASES["violations"],
        (TEXT, "\ud800", "no text"),
        (TEXT, "a \u202edog", "holds U+202E, which is no text"),
        (TEXT, "a \u2066dog\u2069", "holds U+2066"),
        (TEXT, "a zoo\xadlogist of \u05d0\u200f", ""),
        ({"type": "array", "items": TEXT}, ("a",), "not tuple"),
    ],
)
def test_violations(schema: dict[str, Any], value: Any, fault: str) -> None:
    found = find_violations(value, make_strict(schema))
    assert len(found) == bool(fault)
    assert all(fault in each for each in found)
