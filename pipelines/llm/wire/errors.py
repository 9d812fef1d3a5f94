"""Everything that can go wrong with one request to a language model, sorted by what to do next."""

from __future__ import annotations

import asyncio
import email.utils
import math
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from enum import StrEnum
from http import HTTPStatus
from typing import Final, TypeAlias

from pipelines.llm.wire.request import Reply, Request, Usage
from synth.base.doors import plain_text
from synth.base.errors import SegueError
from synth.base.rng import uniform_hash

_SHOWN: Final = 400
_READ: Final = 4000
_HIDDEN: Final = "[key]"
_LIKE_A_KEY: Final = re.compile(
    r"(?i)\bbearer\s+[^\s\"',]+|\b(?:sk|pk|gsk|rk|xai|key)-[\w*.\-]{6,}|\b[\w-]*\*{3,}[\w-]*"
    r"|\b(?:sk|pk|gsk|rk|xai|hf|r8|pplx|ghp)_[\w\-]{12,}|\bAIza[\w\-]{20,}"
)
_USER: Final = re.compile(r"(://)[^\s/@'\"]+@")
_QUERY: Final = re.compile(r"(://[^\s?#'\"]*)[?#][^\s'\"]*")
NO_KEY: Final = "none"


class FaultKind(StrEnum):
    """What went wrong."""

    RATE_LIMIT = "rate limit"
    SERVER = "server"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    CUT_OFF = "cut off"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content filter"
    EMPTY = "empty"
    RUNAWAY = "runaway"
    BAD_REQUEST = "bad request"
    AUTH = "auth"
    QUOTA = "quota"
    MODEL = "model"
    MOVED = "moved"


FINAL: Final = frozenset({FaultKind.AUTH, FaultKind.QUOTA, FaultKind.MODEL, FaultKind.MOVED})
PASSING: Final = frozenset(
    {
        FaultKind.RATE_LIMIT,
        FaultKind.SERVER,
        FaultKind.TIMEOUT,
        FaultKind.CONNECTION,
        FaultKind.EMPTY,
    }
)
_MEND: Final = {
    FaultKind.AUTH: "check the key in the environment and its permissions",
    FaultKind.QUOTA: "the account has no credit or has reached its limit: add credit",
    FaultKind.MODEL: "check the model's name and the endpoint's address",
    FaultKind.MOVED: "if you trust that address, give it as the base URL",
    FaultKind.CUT_OFF: "raise the prompt's max_output_tokens",
    FaultKind.BAD_REQUEST: "the endpoint does not accept this request",
}
_CODES: Final = {
    "insufficient_quota": FaultKind.QUOTA,
    "billing_hard_limit_reached": FaultKind.QUOTA,
    "billing_not_active": FaultKind.QUOTA,
    "insufficient_balance": FaultKind.QUOTA,
    "credit_balance_too_low": FaultKind.QUOTA,
    "invalid_api_key": FaultKind.AUTH,
    "model_not_found": FaultKind.MODEL,
    "invalid_model": FaultKind.MODEL,
    "model_not_available": FaultKind.MODEL,
    "content_filter": FaultKind.CONTENT_FILTER,
    "content_policy_violation": FaultKind.CONTENT_FILTER,
    "rate_limit_exceeded": FaultKind.RATE_LIMIT,
    "token_limit_exceeded": FaultKind.RATE_LIMIT,
    "server_error": FaultKind.SERVER,
    "batch_expired": FaultKind.TIMEOUT,
    "batch_cancelled": FaultKind.SERVER,
}
_STATUSES: Final = {
    401: FaultKind.AUTH,
    402: FaultKind.QUOTA,
    403: FaultKind.AUTH,
    404: FaultKind.MODEL,
    408: FaultKind.TIMEOUT,
    409: FaultKind.SERVER,
    425: FaultKind.SERVER,
    429: FaultKind.RATE_LIMIT,
}
_NAMES: Final = {status.name.lower(): status.value for status in HTTPStatus if status >= 400} | {
    "invalid_request": 400,
    "invalid_request_error": 400,
    "badrequesterror": 400,
    "authentication_error": 401,
    "insufficient_credits": 402,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
}
"""Words that stand for a status where there is none."""
_STATUS: Final = re.compile(r"(?:error_code:?_|http_|status:?_)?([45][0-9]{2})(?:\.0)?(?![^\W_])")


class AttemptError(SegueError):
    """One attempt that brought no answer.

    Args:
        message: What the endpoint said, without any key.
        retry_after: Seconds the endpoint asked to wait.
        usage: What the attempt cost all the same; None where it cost nothing.
    """

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        *,
        retry_after: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message, fix=_MEND.get(kind, ""))
        self.kind = kind
        self.retry_after = retry_after
        self.usage = usage

    @property
    def is_final(self) -> bool:
        """No other request can fare better: the whole run stops."""
        return self.kind in FINAL

    @property
    def is_passing(self) -> bool:
        """The same request may succeed when it is asked again."""
        return self.kind in PASSING


def hide_keys(text: str) -> str:
    """`text` without anything that looks like a key, or the parts of addresses that hold some."""
    return _LIKE_A_KEY.sub(_HIDDEN, _QUERY.sub(r"\1", _USER.sub(r"\1", text)))


def redact(text: str, key: str) -> str:
    """`text` on one short line that a terminal may show, without anything that looks like a key."""
    if key and key != NO_KEY:
        text = text.replace(key, _HIDDEN)
    text = plain_text(hide_keys(" ".join(text.split())[:_READ]))
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def find_error(body: Mapping[str, object]) -> object:
    """The error that a body tells of, though its status was 200; None for none."""
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    for holder in (body, first):
        error = holder.get("error") if isinstance(holder, Mapping) else None
        if any(error.values()) if isinstance(error, Mapping) else error:
            return error
    if choices is not None:
        return None
    if isinstance(errors := body.get("errors"), list) and errors:
        return errors[0]
    words = body.get("message") or body.get("detail")
    return body if body.get("object") == "error" or isinstance(words, str) else None


def read_error(error: object, status: int | None = None) -> tuple[FaultKind, str]:
    """The kind of an error, and what it says.

    Args:
        error: An object with a message and codes, or only words.
    """
    if not isinstance(error, Mapping):
        return classify_status(status, error), str(error or f"status {status}")
    if isinstance(inner := error.get("error"), Mapping):
        return read_error(inner, status)
    words = next((error[name] for name in ("message", "detail") if error.get(name)), error)
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    codes = [error.get(name) for name in ("code", "status", "status_code", "type")]
    return classify_status(status, *codes), f"{words} {raw}" if raw else str(words)


def classify_status(status: int | None, *codes: object) -> FaultKind:
    """The kind of an error that came as an HTTP status, as words of its body, or both.

    Args:
        status: HTTP status; None for an error in a body that came with none.
        codes: The body's `code` and `type`. Some endpoints put an HTTP status there.
    """
    words = [re.sub(r"[\s-]+", "_", str(code)[:_SHOWN].strip().lower()) for code in codes]
    for word in words:
        if (kind := _CODES.get(word)) is not None:
            return kind
    if status is None:
        numbers = [int(match[1]) for word in words if (match := _STATUS.match(word))]
        names = [_NAMES[word] for word in words if word in _NAMES]
        status = [*numbers, *names, 500][0]
    if status >= 500:
        return FaultKind.SERVER
    return _STATUSES.get(status, FaultKind.BAD_REQUEST)


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from `retry-after-ms` or `Retry-After` (seconds, or an HTTP date).

    A date is counted from the answer's own `Date`, so that a wrong clock here does no harm.
    """
    milliseconds = _parse_number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000.0
    value = headers.get("retry-after", "")
    seconds = _parse_number(value)
    if seconds is not None:
        return seconds
    then = _parse_date(value)
    if then is None:
        return None
    now = _parse_date(headers.get("date", ""))
    return max(0.0, then - (time.time() if now is None else now))


def _parse_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _parse_date(text: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


# The one place where a request is asked again. The client underneath never retries.


Ask: TypeAlias = Callable[[Request], Awaitable[Reply]]
Sleep: TypeAlias = Callable[[float], Awaitable[object]]
Clock: TypeAlias = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Policy:
    """How often, and for how long, one request is asked.

    Args:
        base_s: Ceiling of the first wait; each further wait may be twice as long.
        cap_s: Ceiling of any wait that the endpoint did not ask for.
        deadline_s: No wait begins that would end later than this after the first attempt.
    """

    attempts: int = 6
    base_s: float = 1.0
    cap_s: float = 60.0
    deadline_s: float = 900.0


class RequestGate:
    """Bounds how many requests an endpoint has at a time; all wait when one is told to."""

    def __init__(
        self, concurrency: int, *, sleep: Sleep = asyncio.sleep, clock: Clock = time.monotonic
    ) -> None:
        self._places = asyncio.Semaphore(concurrency)
        self._sleep = sleep
        self._clock = clock
        self._closed_until = float("-inf")

    @property
    def wait_s(self) -> float:
        """Seconds until anybody may enter; 0 when open."""
        return max(0.0, self._closed_until - self._clock())

    def pause(self, seconds: float) -> None:
        """Nobody enters for `seconds` from now."""
        self._closed_until = max(self._closed_until, self._clock() + seconds)

    async def __aenter__(self) -> None:
        await self._places.acquire()
        try:
            while self.wait_s:
                await self._sleep(self.wait_s)
        except BaseException:
            self._places.release()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._places.release()


def compute_backoff(request: Request, attempt: int, policy: Policy) -> float:
    """Seconds to wait after the `attempt`-th failure (from 1): full jitter, and always the same."""
    ceiling = min(policy.cap_s, policy.base_s * 2.0 ** (attempt - 1))
    return uniform_hash("llm backoff", request.key, str(attempt)) * ceiling


async def ask_with_retries(
    ask: Ask,
    request: Request,
    policy: Policy,
    sleep: Sleep = asyncio.sleep,
    *,
    gate: RequestGate | None = None,
    clock: Clock = time.monotonic,
) -> Reply:
    """The reply to `request`, asked again as its faults allow.

    Passing faults are asked again after what the endpoint said, or after a growing wait; a reply
    that was cut off is asked once more, at once, with twice the room. Every call of `ask` may cost
    money, failed ones too (`AttemptError.usage`): keep the account inside `ask`.

    Args:
        request: What to ask. The answer belongs to this request's key, whatever room it was given.
        gate: Shared by all requests to one endpoint; held during an attempt, not between attempts.
    """
    current = request
    end = clock() + policy.deadline_s
    attempt = 0
    while True:
        attempt += 1
        if gate is not None and gate.wait_s > end - clock():
            message = f"the endpoint asked everybody to wait {gate.wait_s:.0f} s, which is too long"
            raise AttemptError(FaultKind.RATE_LIMIT, message, retry_after=gate.wait_s)
        try:
            async with gate or nullcontext():
                return await ask(current)
        except AttemptError as fault:
            if gate is not None and fault.retry_after and fault.is_passing:
                gate.pause(fault.retry_after)
            if attempt >= policy.attempts:
                raise
            if fault.kind is FaultKind.CUT_OFF and current is request:
                current = replace(request, max_output_tokens=2 * request.max_output_tokens)
                continue
            if not fault.is_passing:
                raise
            wait = fault.retry_after or compute_backoff(request, attempt, policy)
            if clock() + wait > end:
                raise
        await sleep(wait)
