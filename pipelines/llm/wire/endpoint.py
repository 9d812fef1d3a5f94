"""One attempt at one request, through the openai client, at any endpoint that speaks its protocol.

Answers are streamed, so that a model that has begun to repeat itself is stopped while it is cheap.
What comes back is a stranger's: it is read within bounds, from no other address than the one that
the user named. Nothing is asked twice here (see `pipelines.llm.wire.errors`), and no key reaches a
message or a log.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import SplitResult, urljoin, urlsplit

from pipelines.llm.wire.answer import GatheredAnswer
from pipelines.llm.wire.errors import (
    NO_KEY,
    AttemptError,
    FaultKind,
    find_error,
    hide_keys,
    read_error,
    read_retry_after,
    redact,
)
from pipelines.llm.wire.request import (
    Capabilities,
    Reply,
    Request,
    find_worst_usage,
    make_request_body,
)
from synth.base.doors import parse_json
from synth.base.errors import SpecError
from synth.llm.reply import AnswerError

if TYPE_CHECKING:
    from openai import AsyncOpenAI


_TRANSPORTS: Final = ("httpx", "httpx2")
_TURNS: Final = 16  # The client leaves its streams' generators to the loop: time for them to end.
_LINGER_S: Final = 1.0
"""A whole answer may be followed by its cost, and by nothing for long."""
_ERROR_BYTES: Final = 2**16
_BODY_BYTES: Final = 16 * 2**20
_FILE_S: Final = 3600.0
_NAME: Final = re.compile(r"[A-Z_][A-Z0-9_]*")
_INSTALL: Final = "pip install openai"


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """Where requests go.

    Args:
        base_url: Address of the API, usually ending in /v1.
        key_variable: Environment variable that holds the key; "none" for a server without keys.
        timeout_s: The longest one attempt may take, from the first byte out to the last byte in.
    """

    base_url: str = field(repr=False)
    model: str
    key_variable: str = field(default="OPENAI_API_KEY", repr=False)
    timeout_s: float = 60.0


class Endpoint:
    """An open connection to an endpoint; an async context manager."""

    client: AsyncOpenAI

    def __init__(
        self, settings: EndpointSettings, capabilities: Capabilities | None = None
    ) -> None:
        self.settings = settings
        self.capabilities = capabilities or Capabilities()
        self._key = ""

    async def __aenter__(self) -> Self:
        check_address(self.settings.base_url)
        self._key = _read_key(self.settings.key_variable)
        try:
            from openai import AsyncOpenAI, DefaultAsyncHttpxClient
        except ImportError:
            raise SpecError("language models need the openai package", fix=_INSTALL) from None
        self.client = AsyncOpenAI(
            api_key=self._key,
            base_url=self.settings.base_url,
            timeout=self.settings.timeout_s,
            max_retries=0,
            default_headers={"Accept-Encoding": "identity"},
            http_client=DefaultAsyncHttpxClient(
                follow_redirects=False, event_hooks={"response": [self._check_head]}
            ),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()
        for _turn in range(_TURNS):
            await asyncio.sleep(0)

    async def ask(self, request: Request) -> Reply:
        """One attempt."""
        return await self.ask_as(request, self.capabilities)

    async def ask_as(self, request: Request, able: Capabilities) -> Reply:
        """One attempt, worded for an endpoint that can do what `able` says."""
        gathered = GatheredAnswer(request, self.redact)
        body = make_request_body(request, able)
        create = self.client.chat.completions.with_streaming_response.create
        fault = await self._read(create(**body), self.settings.timeout_s, gathered)
        if fault is None or gathered.is_over or gathered.is_complete:
            gathered.end()
            return gathered.make_reply()
        silent = fault.kind is FaultKind.TIMEOUT and not able.streaming
        if gathered.opened or silent:  # It may have been written, or thought, and paid.
            fault.usage = gathered.find_usage() or find_worst_usage(request)
        raise fault

    async def fetch(self, call: AbstractAsyncContextManager[Any]) -> Mapping[str, Any]:
        """The object that answers a streamed call of the client for batches, files or models."""
        data = await self.download(call, _BODY_BYTES, self.settings.timeout_s)
        try:
            body = parse_json(data, "the answer", refuse=AnswerError)
        except AnswerError as error:
            raise AttemptError(FaultKind.SERVER, self.redact(error.message)) from None
        if not isinstance(body, dict):
            raise AttemptError(FaultKind.SERVER, "the answer is no JSON object")
        if (refusal := find_error(body)) is not None:
            raise self._refuse(refusal)
        return body

    async def download(
        self, call: AbstractAsyncContextManager[Any], most: int, timeout_s: float = _FILE_S
    ) -> bytes:
        """The body that answers a streamed call of the client."""
        body = _Body(most)
        fault = await self._read(call, timeout_s, body)
        if body.is_over:
            fault = AttemptError(FaultKind.SERVER, f"the answer is longer than {most} bytes")
        elif fault is not None and fault.kind is FaultKind.MODEL:
            # A 404 here is a file or a batch that is gone.
            fault = AttemptError(FaultKind.BAD_REQUEST, fault.message)
        if fault is not None:
            raise fault
        return bytes(body.data)

    def redact(self, text: str) -> str:
        """`text` on one short line, without the key and without anything that looks like one."""
        return redact(text, self._key)

    async def _read(
        self, call: AbstractAsyncContextManager[Any], timeout_s: float, body: _Body | GatheredAnswer
    ) -> AttemptError | None:
        """Read the body that answers a call to its end, or until no more of it is of use.

        Then the time limit is now: only a cancelled read unwinds the client's generators in order,
        so that nothing of them is left for the garbage collector. A fault is returned: raised in
        here, it would drag along an exception with the key.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout_s
        try:
            async with asyncio.timeout_at(end) as limit, call as answer:
                body.open(answer.headers)
                async for part in answer.iter_bytes():
                    body.feed(part)
                    if body.is_over:
                        limit.reschedule(0.0)
                    elif body.is_done:
                        end = min(end, loop.time() + _LINGER_S)
                        limit.reschedule(end)
        except TimeoutError:
            return AttemptError(FaultKind.TIMEOUT, f"no complete answer within {timeout_s:g} s")
        except Exception as error:
            fault = self._find_fault(error)
            if fault is None:
                raise
            return fault
        return None

    def _find_fault(self, error: Exception) -> AttemptError | None:
        """What an error says of the endpoint or the line; None if this program is at fault."""
        import openai

        cause = error.__cause__
        for fault in (error, cause):  # Older clients wrap what `_check_head` raises.
            if isinstance(fault, AttemptError):
                return fault
        message = self.redact(str(error))
        match error:
            case openai.APITimeoutError():
                return AttemptError(FaultKind.TIMEOUT, "the endpoint took too long to answer")
            case openai.APIConnectionError():
                return AttemptError(FaultKind.CONNECTION, self.redact(f"{message} {cause or ''}"))
            case openai.OpenAIError() | ValueError():  # The latter is JSON that is none.
                message = f"the answer is not what the API promises: {message}"
                return AttemptError(FaultKind.SERVER, message)
        if type(error).__module__.partition(".")[0] not in _TRANSPORTS:
            return None
        # Older clients let errors of their transport through when a stream breaks.
        late = type(error).__name__.endswith("Timeout")
        return AttemptError(FaultKind.TIMEOUT if late else FaultKind.CONNECTION, message)

    def _refuse(
        self, error: object, status: int | None = None, headers: Mapping[str, str] | None = None
    ) -> AttemptError:
        kind, words = read_error(error, status)
        return AttemptError(kind, self.redact(words), retry_after=read_retry_after(headers or {}))

    async def _check_head(self, response: Any) -> None:
        """Looks at every answer before its body is read, which the client has no bounds for."""
        status, headers = response.status_code, response.headers
        if 300 <= status < 400:
            target = show_address(urljoin(str(response.request.url), headers.get("location", "")))
            words = f"status {status} leads to {self.redact(target)}, where nothing is sent"
            raise AttemptError(FaultKind.MOVED, words)
        if headers.get("content-encoding", "identity") != "identity":
            raise AttemptError(
                FaultKind.SERVER, "the answer is compressed, which was not asked for"
            )
        if status >= 400:
            data = b""
            async for part in response.aiter_raw():
                data += part
                if len(data) > _ERROR_BYTES:
                    break
            try:
                body = parse_json(data, "the answer", refuse=AnswerError)
            except AnswerError:
                body = data.decode(errors="replace")
            error = find_error(body) if isinstance(body, Mapping) else None
            raise self._refuse(body if error is None else error, status, headers)


class _Body:
    """A body as far as it has come, of so many bytes at most."""

    is_done = False

    def __init__(self, most: int) -> None:
        self._most = most
        self.data = bytearray()

    def open(self, headers: Mapping[str, str]) -> None:
        """The answer begins."""

    def feed(self, data: bytes) -> None:
        """Add bytes."""
        self.data += data

    @property
    def is_over(self) -> bool:
        """Nothing that may follow is of use."""
        return len(self.data) > self._most


def _read_key(variable: str) -> str:
    if variable == NO_KEY:
        return NO_KEY
    key = os.environ.get(variable, "").strip()
    name = f"environment variable {variable}"
    if not _NAME.fullmatch(variable):
        if not key:
            raise SpecError(
                "--key-variable takes the name of an environment variable that holds the key, "
                "not the key",
                fix="export OPENAI_API_KEY=... and give its name",
            )
        name = "environment variable that --key-variable names"
    if not key:
        raise SpecError(
            f"the {name} has no key",
            fix=f"export {variable}=..., or use --key-variable none for a server without keys",
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise SpecError(f"the {name} does not hold a key", fix="export the key exactly as issued")
    return key


# Addresses of endpoints: which are the same, and what of them may be shown.


_PORTS: Final = {"http": 80, "https": 443}
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_FIX: Final = "write an address such as http://localhost:11434/v1"


def identify_endpoint(url: str) -> str:
    """An endpoint's identity: its address, however it is spelled, without what may hold a key.

    Scheme and host in lower case, no port where it is the usual one, no slash at the end; no user,
    password, query or fragment; nothing in the path that looks like a key. Empty for what is no
    address.
    """
    parts = _split(url)
    if parts is None:
        return ""
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, _PORTS.get(parts.scheme)) else f":{parts.port}"
    return f"{parts.scheme}://{hide_keys(host)}{port}{hide_keys(parts.path.rstrip('/'))}"


def show_address(url: str) -> str:
    """An address for messages, without what may hold a key; nothing of what is no address."""
    return identify_endpoint(url) or "the address given"


def check_address(url: str) -> None:
    """See that requests can be sent to an address."""
    parts = _split(url)
    if parts is None:
        raise SpecError(
            "the endpoint's base_url is not an address (not shown: it may hold a key)", fix=_FIX
        )
    if "@" in parts.netloc:
        raise SpecError(
            "the endpoint's base_url holds a user name or a password",
            fix="put the key into an environment variable and name it in key_variable",
        )
    if parts.scheme not in _PORTS:
        raise SpecError(
            f"the endpoint's base_url {show_address(url)} is not an http address", fix=_FIX
        )


def is_on_this_machine(url: str) -> bool:
    """Whether requests stay on this machine."""
    parts = _split(url)
    return parts is not None and parts.hostname in _LOOPBACK


def _split(url: str) -> SplitResult | None:
    """The parts of what is shaped like an address; None of anything else."""
    if not url.isprintable() or " " in url or "://" not in url:
        return None
    try:
        parts = urlsplit(url)
        return parts if parts.scheme and parts.hostname and parts.port != 0 else None
    except ValueError:  # A port, or brackets, that are none.
        return None
