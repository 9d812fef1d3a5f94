"""Requests, their keys, and what the headers and codes of a fault mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pipelines.llm.wire.answer import find_runaway
from pipelines.llm.wire.errors import FaultKind, classify_status
from pipelines.llm.wire.errors import read_retry_after as wait_of
from pipelines.llm.wire.request import Request, bound_tokens, estimate_tokens

SCHEMA = '{"properties":{"captions":{"type":"string"}},"required":["captions"],"type":"object"}'
ASKED = Request("caption", 1, "tiny", (("user", "A dog barks."),), SCHEMA, 200, 0.7, 7)


def test_the_key_is_pinned_and_covers_everything_that_determines_the_answer() -> None:
    changes: list[dict[str, Any]] = [
        {"prompt": "other"},
        {"version": 2},
        {"model": "big"},
        {"messages": (("system", "A dog barks."),)},
        {"messages": (("user", "A dog barks"), ("", "."))},
        {"schema": ""},
        {"max_output_tokens": 201},
        {"temperature": 0.71},
        {"seed": None},
    ]
    keys = {ASKED.key, *(replace(ASKED, **change).key for change in changes)}
    assert len(keys) == 1 + len(changes)
    assert ASKED.key[:16] == "c3666e594587c6ee"
    assert replace(ASKED, temperature=1).key == replace(ASKED, temperature=1.0).key


def test_retry_after_is_read() -> None:
    date = {"date": "Sat, 21 Nov 2026 10:00:00 GMT"}
    for wait, seconds in (
        ("3", 3.0),
        ("2.5", 2.5),
        ("-4", 0.0),
        ("inf", None),
        ("soon", None),
        ("Sat, 21 Nov 2026 10:00:42 GMT", 42.0),
        ("Sat, 21 Nov 2026 09:00:00 GMT", 0.0),
    ):
        assert wait_of(date | {"retry-after": wait}) == seconds
    assert wait_of({"retry-after-ms": "250", "retry-after": "3"}) == 0.25
    assert wait_of({}) is None


def test_codes_within_a_stream_are_read_and_tokens_bounded_by_bytes() -> None:
    assert classify_status(None, 429) is FaultKind.RATE_LIMIT
    assert classify_status(None, "402") is FaultKind.QUOTA
    assert classify_status(None, None) is FaultKind.SERVER
    assert classify_status(None, 7) is FaultKind.SERVER
    assert classify_status(418) is FaultKind.BAD_REQUEST
    dogs = replace(ASKED, messages=(("user", "犬" * 40),), schema="")
    assert estimate_tokens(dogs) == 10 + 2 * 8 + 32
    assert bound_tokens(dogs) == 120 + 2 * 8 + 32


def test_text_that_comes_to_no_end_is_told_and_what_may_end_well_is_let_run() -> None:
    endless = ["{" + " " * 300, "\n" * 300, "the same again, " * 60, "a" * 700]
    for text in (*endless, "word soup " * 4000):
        assert find_runaway(text, 100)
    good = ["", "A dog barks, then a siren wails." * 3, "{\n" + " " * 200, '[{"ok": true}, ' * 30]
    good += [" ".join(f"clip {index}: rain" for index in range(150)), "犬が吠える。" * 15]
    assert [text for text in good if find_runaway(text, 1000)] == []
