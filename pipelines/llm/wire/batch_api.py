"""The OpenAI Batch API: the same requests at half the price, answered within a day.

A batch is found again by what it asks, and for which time: where the same requests are already on
their way, or have been answered, `submit` returns that batch instead of paying for another. To ask
once more for what came to nothing is another attempt, and so another batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pipelines.llm.wire.answer import GatheredAnswer
from pipelines.llm.wire.errors import AttemptError, FaultKind, find_error, read_error
from pipelines.llm.wire.request import Reply, Request, make_request_body
from synth.base.doors import parse_json
from synth.base.rng import digest
from synth.llm.reply import AnswerError

if TYPE_CHECKING:
    from openai.resources.batches import AsyncBatchesWithStreamingResponse

    from pipelines.llm.wire.endpoint import Endpoint

MOST_REQUESTS: Final = 10_000
MOST_BYTES: Final = 190_000_000
_MARK: Final = "segue"
_PAGE: Final = 100
_PAGES: Final = 1000
_ADDRESS: Final = "/v1/chat/completions"
_UNDER_WAY: Final = frozenset({"validating", "in_progress", "finalizing"})
_ANSWERED: Final = frozenset({"completed", "expired"})
_ENDING: Final = "cancelling"
_OVER: Final = frozenset({"completed", "expired", "failed", "cancelled"})
_MISSING: Final = {
    "expired": (FaultKind.TIMEOUT, "the batch expired before this request was answered"),
    "cancelled": (FaultKind.SERVER, "the batch was cancelled before this request was answered"),
    "completed": (FaultKind.SERVER, "the batch brought neither an answer nor an error"),
}


async def submit(
    endpoint: Endpoint, requests: Mapping[str, Request], attempts: Mapping[str, int]
) -> str:
    """Hands the requests in as one batch, or finds the batch that already holds them.

    Args:
        requests: By key; at most `MOST_REQUESTS`, and `MOST_BYTES` as lines.
        attempts: By key, how often a request was bought before; 0 where it is left out.

    Returns:
        The endpoint's id of the batch.
    """
    mark = digest("llm batch", *(f"{key}#{attempts.get(key, 0)}" for key in sorted(requests)))
    batch = await _find_submitted(endpoint, mark)
    if batch is None:
        name = f"segue-{mark[:16]}.jsonl"
        lines = b"".join(encode_line(endpoint, request, key) for key, request in requests.items())
        files = endpoint.client.files.with_streaming_response
        file = await endpoint.fetch(files.create(file=(name, lines), purpose="batch"))
        call = _batches(endpoint).create(
            input_file_id=_read_id(file),
            endpoint=_ADDRESS,
            completion_window="24h",
            metadata={_MARK: mark},
        )
        batch = _read_id(await endpoint.fetch(call))
    return batch


async def find_ended(endpoint: Endpoint, batch: str) -> Mapping[str, Any] | None:
    """A batch of which nothing more will come, so that it can be collected; None before that."""
    state = await endpoint.fetch(_batches(endpoint).retrieve(batch))
    status = state.get("status")
    if status not in {*_UNDER_WAY, *_OVER, _ENDING}:
        raise AttemptError(
            FaultKind.SERVER, endpoint.redact(f"the state of the batch is {status!r}")
        )
    return state if status in _OVER else None


async def collect(
    endpoint: Endpoint, batch: Mapping[str, Any], requests: Mapping[str, Request]
) -> tuple[dict[str, Reply], dict[str, AttemptError]]:
    """Replies and faults of a batch that has ended; each request is in one of them."""
    replies, faults = dict[str, Reply](), dict[str, AttemptError]()
    most = 2**20 + sum(2**14 + 64 * request.max_output_tokens for request in requests.values())
    for name in ("output_file_id", "error_file_id"):
        file = batch.get(name)
        data = b""
        if isinstance(file, str) and file:
            files = endpoint.client.files.with_streaming_response
            data = await endpoint.download(files.content(file), most)
        for key, line in _select_lines(data, requests):
            try:
                replies.setdefault(key, _parse_reply(endpoint, line, requests[key]))
            except AttemptError as fault:
                faults[key] = fault
    for key in requests:
        if key in replies:
            faults.pop(key, None)
        elif key not in faults:
            faults[key] = _make_missing_fault(endpoint, batch)
    return replies, faults


def _batches(endpoint: Endpoint) -> AsyncBatchesWithStreamingResponse:
    return endpoint.client.batches.with_streaming_response


def _read_id(body: Mapping[str, Any]) -> str:
    name = body.get("id")
    if not isinstance(name, str) or not name:
        raise AttemptError(FaultKind.SERVER, "the answer names no file or batch")
    return name


def encode_line(endpoint: Endpoint, request: Request, key: str = "") -> bytes:
    """A request as a line of the file that is handed in."""
    able = replace(endpoint.capabilities, streaming=False)
    line = {
        "custom_id": key or request.key,
        "method": "POST",
        "url": _ADDRESS,
        "body": make_request_body(request, able),
    }
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


async def _find_submitted(endpoint: Endpoint, mark: str) -> str | None:
    """A batch of exactly these requests that is under way or has brought answers."""
    seen: set[str] = set()
    after = ""
    for _ in range(_PAGES):
        page, more = await _list_batches(endpoint, after)
        batches = {_read_id(batch): batch for batch in page}
        for name, batch in batches.items():
            status = str(batch.get("status"))
            completed = _as_mapping(batch.get("request_counts")).get("completed")
            is_ours = _as_mapping(batch.get("metadata")).get(_MARK) == mark
            if is_ours and (status in _UNDER_WAY or (status in _ANSWERED and completed)):
                return name
        if batches.keys() <= seen or not more:  # The same page once more is an end, too.
            return None
        seen |= batches.keys()
        after = [*batches][-1]
    raise AttemptError(FaultKind.SERVER, "the list of batches has no end")


async def _list_batches(endpoint: Endpoint, after: str) -> tuple[list[Mapping[str, Any]], bool]:
    """Batches after that one, and whether there may be more."""
    call = _batches(endpoint)
    try:
        page = await endpoint.fetch(
            call.list(limit=_PAGE, after=after) if after else call.list(limit=_PAGE)
        )
    except AttemptError as fault:
        if fault.kind not in (FaultKind.BAD_REQUEST, FaultKind.MODEL):
            raise
        if not after:
            return [], False  # An endpoint without a list.
        message = f"the list of batches breaks off: {fault.message}"
        raise AttemptError(FaultKind.SERVER, message) from None
    data = page.get("data")
    batches = [_as_mapping(batch) for batch in data] if isinstance(data, list) else []
    more = page.get("has_more")
    return batches, len(batches) >= _PAGE if more is None else bool(more)


def _select_lines(
    data: bytes, requests: Mapping[str, Request]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The readable lines that answer the requests."""
    for line in data.split(b"\n"):
        try:
            value = _as_mapping(parse_json(line, "a line of the batch", refuse=AnswerError))
        except AnswerError:
            continue
        key = value.get("custom_id")
        if isinstance(key, str) and key in requests:
            yield key, value


def _parse_reply(endpoint: Endpoint, line: Mapping[str, Any], request: Request) -> Reply:
    response = _as_mapping(line.get("response"))
    body = _as_mapping(response.get("body"))
    error, status = line.get("error"), response.get("status_code")
    if error or status != 200:
        number = status if isinstance(status, int) and status >= 400 else None
        kind, words = read_error(error or find_error(body) or f"status {status}", number)
        raise AttemptError(kind, endpoint.redact(words))
    gathered = GatheredAnswer(request, endpoint.redact)
    gathered.request_id = str(response.get("request_id") or "")
    gathered.take(body)
    return gathered.make_reply()


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _make_missing_fault(endpoint: Endpoint, batch: Mapping[str, Any]) -> AttemptError:
    status, errors = batch.get("status"), _as_mapping(batch.get("errors")).get("data")
    if status == "failed" and isinstance(errors, list) and errors:
        kind, words = read_error(errors[0])
        return AttemptError(kind, endpoint.redact(f"the batch failed: {words}"))
    kind, message = _MISSING.get(str(status), (FaultKind.SERVER, "the batch failed"))
    return AttemptError(kind, message)
