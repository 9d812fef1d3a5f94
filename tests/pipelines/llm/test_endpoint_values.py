"""Requests, their keys, and what the headers and codes of a fault mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pipelines.llm.wire.answer import find_runaway
from pipelines.llm.wire.errors import FaultKind, classify_status
from pipelines.llm.wire.errors import read_retry_after as wait_of
from pipelines.llm.wire.request import Request, bound_tokens, estimate_tokens

SCHEMA = '{"properties":{"captions":{"type":"string"}},"required":["captions"],"type":"object"}'
ASKED = Request("caption", 1, "tiny", (("user", "A dog barks."),), SCHEMA, 200, 0.7, 7)


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "other"},
        {"version": 2},
        {"model": "big"},
        {"messages": (("system", "A dog barks."),)},
        {"messages": (("user", "A dog barks"), ("", "."))},
        {"schema": ""},
        {"max_output_tokens": 201},
        {"temperature": 0.71},
        {"seed": None},
    ],
)
def test_the_key_covers_everything_that_determines_the_answer(change: dict[str, Any]) -> None:
    assert replace(ASKED, **change).key != ASKED.key


def test_the_key_is_pinned() -> None:
    assert ASKED.key[:16] == "c3666e594587c6ee"
    assert replace(ASKED, temperature=1).key == replace(ASKED, temperature=1.0).key


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after": "-4"}, 0.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
        (
            {
                "retry-after": "Sat, 21 Nov 2026 10:00:42 GMT",
                "date": "Sat, 21 Nov 2026 10:00:00 GMT",
            },
            42.0,
        ),
        (
            {
                "retry-after": "Sat, 21 Nov 2026 09:00:00 GMT",
                "date": "Sat, 21 Nov 2026 10:00:00 GMT",
            },
            0.0,
        ),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert wait_of(headers) == seconds


def test_errors_inside_a_stream_may_carry_a_status_as_their_code() -> None:
    assert classify_status(None, 429) is FaultKind.RATE_LIMIT
    assert classify_status(None, "402") is FaultKind.QUOTA
    assert classify_status(None, None) is FaultKind.SERVER
    assert classify_status(None, 7) is FaultKind.SERVER
    assert classify_status(418) is FaultKind.BAD_REQUEST


def test_tokens_are_bounded_by_bytes() -> None:
    dogs = replace(ASKED, messages=(("user", "犬" * 40),), schema="")
    assert estimate_tokens(dogs) == 10 + 2 * 8 + 32
    assert bound_tokens(dogs) == 120 + 2 * 8 + 32


@pytest.mark.parametrize(
    "text",
    ["{" + " " * 300, "\n" * 300, "the same again, " * 60, "a" * 700, "word soup " * 4000],
)
def test_text_that_comes_to_no_end_is_told(text: str) -> None:
    assert find_runaway(text, 100)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A dog barks, then a siren wails." * 3,
        "{\n" + " " * 200,
        '[{"ok": true}, ' * 30,
        " ".join(f"clip {index}: rain" for index in range(150)),
        "犬が吠える。" * 15,
    ],
)
def test_text_that_may_still_end_well_is_let_run(text: str) -> None:
    assert not find_runaway(text, 1000)
