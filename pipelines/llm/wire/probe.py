"""What an endpoint can do, found by asking it: "compatible" ones differ, and do not say how."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pipelines.llm.wire.errors import AttemptError, FaultKind, Policy, Sleep, ask_with_retries
from pipelines.llm.wire.request import (
    NOTHING,
    Capabilities,
    Reply,
    Request,
    SchemaSupport,
    Usage,
    find_worst_usage,
)
from synth.base.doors import parse_json
from synth.llm.answer_schema import AnswerError

if TYPE_CHECKING:
    from pipelines.llm.wire.endpoint import Endpoint

PROBE_TOKENS: Final = 1024
PROBE_REQUESTS: Final = 10
"""So many of its requests, at most, may be on the bill."""

_ANSWER: Final = {"probe": "segue"}
_REJECTIONS: Final = (FaultKind.BAD_REQUEST, FaultKind.SERVER)  # Some answer 500 to a new word.
_TAKEN: Final = {
    FaultKind.CUT_OFF: json.dumps(_ANSWER),  # Nothing shows that it would have ignored the schema.
    FaultKind.EMPTY: "",
    FaultKind.REFUSAL: "",
    FaultKind.CONTENT_FILTER: "",
    FaultKind.RUNAWAY: "",
}
"""Answers that are none, though the request was taken; and what to take them for."""
_SCHEMA: Final = (
    '{"additionalProperties":false,"properties":{"probe":{"enum":["segue"],"type":"string"}},'
    '"required":["probe"],"type":"object"}'
)


_LEAST: Final = Capabilities(
    schema=SchemaSupport.REJECTED,
    json_object=False,
    temperature=False,
    seed=False,
    streaming=False,
    stream_usage=False,
)


async def probe(
    endpoint: Endpoint, policy: Policy | None = None, sleep: Sleep = asyncio.sleep
) -> Capabilities:
    """What the endpoint can do; the endpoint words its requests accordingly from now on.

    One tiny request where the endpoint takes everything; up to ten where it does not.

    Args:
        policy: How passing faults of the probe itself are retried.
    """
    probing = _Probe(endpoint, policy or Policy(attempts=4), sleep)
    try:
        found = await probing.run()
    except AttemptError as fault:
        fault.usage = probing.spent if probing.spent != NOTHING else None
        raise
    endpoint.capabilities = found
    return found


class _Probe:
    def __init__(self, endpoint: Endpoint, policy: Policy, sleep: Sleep) -> None:
        self._endpoint = endpoint
        self._policy = policy
        self._sleep = sleep
        self._billed = 0
        self.spent = NOTHING

    async def run(self) -> Capabilities:
        able = Capabilities()
        reply = await self._try_request(able, _SCHEMA)
        if reply is None:
            able = await self._climb()
        elif not _holds(reply):
            able = replace(able, schema=SchemaSupport.IGNORED)
            if await self._try_request(able, _SCHEMA) is None:
                able = replace(able, json_object=False)
        return replace(able, spent=self.spent)

    async def _climb(self) -> Capabilities:
        """From the plainest request upwards, one thing at a time."""
        able = await self._try_plainest()
        steps: tuple[Callable[[Capabilities], Capabilities], ...] = (
            lambda able: replace(able, streaming=True, stream_usage=True),
            lambda able: replace(able, streaming=True),
            lambda able: replace(able, temperature=True),
            lambda able: replace(able, seed=True),
        )
        for step in steps:
            more = step(able)
            if more != able and await self._try_request(more, "") is not None:
                able = more
        return await self._try_format(able)

    async def _try_plainest(self) -> Capabilities:
        if await self._try_request(_LEAST, "") is not None:
            return _LEAST
        older = replace(_LEAST, limit="max_tokens")
        await self._ask(older, "")
        return older

    async def _try_format(self, able: Capabilities) -> Capabilities:
        full = replace(able, schema=SchemaSupport.HONOURED)
        reply = await self._try_request(full, _SCHEMA)
        if reply is not None and _holds(reply):
            return replace(full, json_object=True)
        support = SchemaSupport.REJECTED if reply is None else SchemaSupport.IGNORED
        looser = replace(able, schema=support, json_object=True)
        accepted = await self._try_request(looser, _SCHEMA) is not None
        return replace(looser, json_object=accepted)

    async def _try_request(self, able: Capabilities, schema: str) -> str | None:
        """What came back, empty where it was unusable; None where the request was rejected."""
        try:
            return await self._ask(able, schema)
        except AttemptError as fault:
            if fault.kind not in _REJECTIONS:
                raise
            return None

    async def _ask(self, able: Capabilities, schema: str) -> str:
        request = _make_question(self._endpoint.settings.model, schema)

        async def ask_once(request: Request) -> Reply:
            if self._billed >= PROBE_REQUESTS:
                raise AttemptError(FaultKind.TIMEOUT, "too many first requests were not answered")
            try:
                reply = await self._endpoint.ask_as(request, able)
            except AttemptError as fault:
                self._count(_find_usage(request, fault))
                if fault.kind in _TAKEN:
                    return Reply(_TAKEN[fault.kind], "", NOTHING, request.model, "")
                raise
            self._count(reply.usage)
            return reply

        return (await ask_with_retries(ask_once, request, self._policy, self._sleep)).text

    def _count(self, usage: Usage | None) -> None:
        if usage is not None:
            self._billed += 1
            self.spent += usage


def _find_usage(request: Request, fault: AttemptError) -> Usage | None:
    """What a fault cost; silence may have been a paid answer."""
    if fault.usage is None and fault.kind is FaultKind.TIMEOUT:
        return find_worst_usage(request)
    return fault.usage


def _make_question(model: str, schema: str) -> Request:
    messages = (("user", "Write one short greeting. If you are asked for JSON, answer in JSON."),)
    return Request("probe", 1, model, messages, schema, PROBE_TOKENS, 0.7, 7)


def _holds(text: str) -> bool:
    try:
        return bool(parse_json(text, "the answer", refuse=AnswerError) == _ANSWER)
    except AnswerError:
        return False
