"""Answers that no honest endpoint gives: each fails its request, in the end, and nothing else."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipelines.llm.wire.batch_api import collect, find_ended, submit
from pipelines.llm.wire.endpoint import Endpoint, EndpointSettings
from pipelines.llm.wire.errors import AttemptError, FaultKind
from pipelines.llm.wire.request import Reply, Request, Usage, find_worst_usage
from tests.kit.llm_server import LlmServer, Raw
from tests.kit.llm_tasks import (
    KEY,
    KEY_VARIABLE,
    ask_once,
    captions,
    items_of,
    obliging,
    run,
    write_rows,
)
from tests.kit.tables import read_data

ASKED = Request("caption", 1, "tiny", (("user", "A dog barks."),), "", 50, 0.7, None)
WORST = find_worst_usage(ASKED)
USAGE = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
JSON = {"content-type": "application/json"}


def completion(content: Any = "Rain falls.", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"content": content}, "finish_reason": "stop"}
    return {"id": "c", "model": "tiny", "choices": [choice], "usage": USAGE} | more


def answer(body: Any, status: int = 200, **headers: str) -> Raw:
    return status, JSON | headers, [body if isinstance(body, bytes) else json.dumps(body).encode()]


def events(*values: Any, end: bytes = b"data: [DONE]\n\n") -> Raw:
    lines = [value if isinstance(value, bytes) else json.dumps(value).encode() for value in values]
    data = b"".join(b"data: " + line + b"\n\n" for line in lines)
    return 200, {"content-type": "text/event-stream"}, [data + end]


def piece(content: Any, finish: Any = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": content}, "finish_reason": finish}], **more}


def ask(server: LlmServer) -> Reply:
    return ask_once(server, ASKED, key=KEY_VARIABLE)


def fault(raw: Raw) -> AttemptError:
    with LlmServer(raw=raw) as server, pytest.raises(AttemptError) as caught:
        ask(server)
    return caught.value


ERRORS = read_data("llm/errors.yaml")
ERRORS.append([{"error": {"code": "9" * 5000, "message": "no credits"}}, "SERVER"])


@pytest.mark.parametrize(("body", "kind"), ERRORS)
@pytest.mark.parametrize("wrap", [answer, events])
def test_an_error_within_an_answer_is_like_any_other(wrap: Any, body: Any, kind: str) -> None:
    found = fault(wrap(body))
    assert (found.kind, found.usage) == (FaultKind[kind], None)
    assert "no credits" in found.message


BROKEN: list[tuple[Raw, FaultKind, str]] = [
    *(
        (answer(body), FaultKind.SERVER, "not a chat completion")
        for body in ([1, 2], None, 5, "text", {}, b"", b"<html>")
    ),
    *(
        (answer({"choices": choices}), FaultKind.SERVER, "not a chat completion")
        for choices in ({"a": 1}, [None], [])
    ),
    (answer({"id": "c", "choices": [{"message": None}]}), FaultKind.CONNECTION, "broke off"),
    (answer({"id": "c", "choices": [{"finish_reason": {"a": 1}}]}), FaultKind.CONNECTION, "broke"),
    (answer(completion(None)), FaultKind.EMPTY, "empty"),
    (answer(completion([{"type": "thinking", "thinking": []}])), FaultKind.EMPTY, "empty"),
    (answer(completion(7)), FaultKind.BAD_REQUEST, "int, not text"),
    (answer(completion({"a": 1})), FaultKind.BAD_REQUEST, "dict, not text"),
    (answer(completion([{"type": "image_url"}])), FaultKind.BAD_REQUEST, "not text"),
    (answer(completion([{"type": "refusal", "refusal": "I won't"}])), FaultKind.REFUSAL, "won't"),
    (answer(b"[" * 100_000), FaultKind.SERVER, "nested deeper"),
    (answer(b'{"a":' * 100_000), FaultKind.SERVER, "nested deeper"),
    (answer(b'{"id": "\\ud800"}'), FaultKind.SERVER, "surrogate"),
    (answer(b'{"id": "\xff"}'), FaultKind.SERVER, "not JSON"),
    (answer(b'{"created": ' + b"9" * 5000 + b"}"), FaultKind.SERVER, "not JSON"),
    (answer(b'{"id": "c", "choi'), FaultKind.SERVER, "not JSON"),
    (events(piece("A"), b'{"choi'), FaultKind.SERVER, "not JSON"),
    (events(piece("A"), end=b""), FaultKind.CONNECTION, "broke off"),
    (events(piece("A"), {"error": {"code": 429}}), FaultKind.RATE_LIMIT, "429"),
    (
        answer({"error": {"message": "a \x1b[2J\x9b \u202e b"}}, 400),
        FaultKind.BAD_REQUEST,
        "a \\x1b[2J",
    ),
    (answer({"error": "x" * 10**6}, 400), FaultKind.BAD_REQUEST, "x"),
    (answer(b"[" * 10**5, 503), FaultKind.SERVER, "[["),
    (answer({"error": {"message": f"bad key {KEY}"}}, 401), FaultKind.AUTH, "[key]"),
    (answer({"error": {"message": f"bad key {KEY}"}}), FaultKind.SERVER, "[key]"),
    (
        answer(gzip.compress(bytes(10**7)), **{"content-encoding": "gzip"}),
        FaultKind.SERVER,
        "compressed",
    ),
]


@pytest.mark.parametrize(("raw", "kind", "words"), BROKEN)
def test_a_broken_answer_fails_one_request(raw: Raw, kind: FaultKind, words: str) -> None:
    found = fault(raw)
    assert found.kind is kind
    assert words in found.message
    assert found.message.isprintable()
    assert KEY not in found.message
    assert len(found.message) < 500
    assert "file" not in found.message


CONTENTS: list[Any] = [
    "Rain falls.",
    [{"type": "text", "text": "Rain "}, {"type": "text", "text": "falls."}],
    [{"type": "output_text", "text": "Rain falls."}],
    ["Rain ", {"text": "falls."}],
    [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, "Rain falls."],
    [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "Rain falls."}],
    {"type": "text", "text": "Rain falls."},
]


@pytest.mark.parametrize("content", CONTENTS)
def test_content_in_parts_is_joined_and_thoughts_are_left_out(content: Any) -> None:
    message = {"content": content, "reasoning_content": "Hm.", "reasoning": "Hm."}
    choice = {"message": message, "finish_reason": "stop"}
    ping = {"type": "ping"}
    last = piece("", "stop", usage=USAGE)
    for raw in (
        answer(completion(choices=[choice])),
        answer(completion(content), **{"content-type": "text/plain"}),
        answer(completion(choices=[{"message": message, "finish_reason": "tool_calls"}])),
        events(piece(content), piece("", "function_call", usage=USAGE)),
        events(ping, b"5", b"ping", piece(content), last),
        events(piece(content), piece("", "eos"), {"choices": [], "usage": USAGE}, end=b": bye"),
    ):
        with LlmServer(raw=raw) as server:
            reply = ask(server)
        assert (reply.text, reply.usage) == ("Rain falls.", Usage(5, 3))


@pytest.mark.parametrize("usage", read_data("llm/impossible_usage.yaml"))
def test_impossible_usage_counts_as_the_worst(usage: Any) -> None:
    for raw in (answer(completion(usage=usage)), events(piece("Rain", "stop", usage=usage))):
        with LlmServer(raw=raw) as server:
            assert ask(server).usage == WORST


def test_usage_without_details_is_believed() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 3, "prompt_tokens_details": None}
    with LlmServer(raw=answer(completion(usage=usage))) as server:
        assert ask(server).usage == Usage(5, 3)


def _repeat(start: bytes, part: bytes) -> Iterable[bytes]:
    yield start
    for _ in range(2000):
        yield part * (100_000 // len(part))


ENDLESS = {
    "blanks": (b"", b" "),
    "text": (b'{"choices":[{"message":{"content":"', b"abcdefghij"),
    "lines": (b"{", b'\n "a": 1,'),
    "comments": (b"", b": ping\n\n"),
    "empty events": (b"", b'data: {"choices": []}\n\n'),
    "thoughts": (b"", b'data: {"choices": [{"delta": {"reasoning": "Hm."}}]}\n\n'),
}


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.parametrize("status", [200, 500])
def test_an_answer_without_end_is_left(name: str, status: int) -> None:
    raw = status, JSON, _repeat(*ENDLESS[name])
    with LlmServer(raw=raw) as server, pytest.raises(AttemptError) as caught:
        ask(server)
    assert caught.value.kind is (FaultKind.RUNAWAY if status == 200 else FaultKind.SERVER)
    assert caught.value.usage == (WORST if status == 200 else None)
    assert server.sent < 20_000_000


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("port", [0, 1])
def test_no_redirect_is_followed(status: int, port: int) -> None:
    with LlmServer() as other, LlmServer() as server:
        there = (other if port else server).base_url + "/elsewhere?key=1"
        server.raw = answer(b"", status, location=there)
        with pytest.raises(AttemptError) as caught:
            ask(server)
        assert (other.paths, server.paths) == ([], ["/chat/completions"])
    assert caught.value.is_final
    assert there.removesuffix("?key=1") in caught.value.message
    assert "base URL" in caught.value.fix


class Lying(LlmServer):
    """Gives right answers, and says that they cost less than nothing."""

    def bill(self, body: dict[str, Any], output: int) -> dict[str, Any]:
        super().bill(body, output)
        return {"prompt_tokens": -(10**9), "completion_tokens": -(10**9), "total_tokens": -1}


@pytest.mark.parametrize("batch", [False, True])
def test_the_budget_holds_against_negative_usage(tmp_path: Path, batch: bool) -> None:
    with Lying(obliging, key=KEY) as server:
        done = run(tmp_path, server, captions(5), batch=batch, budget=0.06)
        write_rows(tmp_path / "captions.jsonl", captions(1000))
        stopped = run(tmp_path, server, batch=batch, budget=0.07)
    assert done.answered == 5
    assert 0 < done.spent < stopped.spent <= 70_000_000
    assert str(stopped.stopped.kind) == "budget"


@pytest.mark.parametrize(("code", "asked"), [(402, 1), (401, 1), (400, 1), (429, 8)])
def test_errors_in_answers_are_like_others(tmp_path: Path, code: int, asked: int) -> None:
    class Gateway(LlmServer):
        def completion(self, body: dict[str, Any], fault: str) -> dict[str, Any]:
            error = {"error": {"code": code, "message": "so it is"}}
            return error if items_of(body) else super().completion(body, fault)

    with Gateway(obliging, key=KEY, streams=False) as server:
        done = run(tmp_path, server, captions(1))
        assert sum(bool(items_of(body)) for body in server.bodies) == asked
    assert (done.stopped is not None) is (code in (401, 402))
    (row,) = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert "so it is" in (done.stopped.message if done.stopped else row["reason"])


class Doctored(LlmServer):
    """Changes the lines of a batch's results."""

    lines: list[Any]

    def add_file(self, data: bytes) -> dict[str, Any]:
        if b'"response"' in data:
            keys = [json.loads(line)["custom_id"] for line in data.splitlines()]
            texts = []
            for key, line in zip(sorted(keys), self.lines, strict=True):
                for part in line if isinstance(line, list) else [line]:
                    good = {"status_code": 200, "body": part, "request_id": 7}
                    texts.append(json.dumps({"custom_id": key, "response": good}))
            data = "\n".join(texts).encode()
        return super().add_file(data)


def test_results_of_a_batch_are_judged_like_any_answer() -> None:
    requests = {each.key: each for each in (replace_seed(seed) for seed in range(8))}
    lines = [
        completion(),
        completion(usage={"prompt_tokens": -5, "completion_tokens": 3}),
        {"error": {"code": 402, "message": "no credits"}},
        {"error": "400 no"},
        [completion("first"), completion("second")],
        [1, 2],
        completion(7),
        {"choices": [{"error": {"code": "429"}}]},
    ]
    with Doctored() as server:
        server.lines = lines
        replies, faults = asyncio.run(_collect(server, requests))
    kinds = [faults[key].kind if key in faults else replies[key].text for key in sorted(requests)]
    assert kinds[:2] == ["Rain falls.", "Rain falls."]
    assert kinds[2:] == ["quota", "bad request", "first", "server", "bad request", "rate limit"]
    assert replies[sorted(requests)[1]].usage == WORST


def replace_seed(seed: int) -> Request:
    return Request("caption", 1, "tiny", (("user", "A dog barks."),), "", 50, 0.7, seed)


async def _collect(
    server: LlmServer, requests: dict[str, Request]
) -> tuple[dict[str, Reply], dict[str, AttemptError]]:
    async with Endpoint(EndpointSettings(server.base_url, "tiny", "none")) as endpoint:
        batch = await submit(endpoint, requests, {})
        while (ended := await find_ended(endpoint, batch)) is None:
            await asyncio.sleep(0)
        return await collect(endpoint, ended, requests)
