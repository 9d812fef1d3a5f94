"""What an endpoint can do, found by asking it: "compatible" ones differ, and do not say how."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from pipelines.llm.wire.errors import AttemptError, FaultKind, Policy, Sleep, ask_with_retries
from pipelines.llm.wire.request import NOTHING, Capabilities, Reply, Request
from synth.base.doors import parse_json
from synth.llm.reply import AnswerError

if TYPE_CHECKING:
    from pipelines.llm.wire.endpoint import Endpoint

_MOST_TOKENS: Final = 1024
_POLICY: Final = Policy(attempts=4)
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
    schema=False,
    json_object=False,
    temperature=False,
    seed=False,
    streaming=False,
    stream_usage=False,
)


AskAs: TypeAlias = Callable[[Request, Capabilities], Awaitable[Reply]]
"""One attempt, worded for an endpoint that can do what is told."""


async def probe(endpoint: Endpoint, ask: AskAs, sleep: Sleep = asyncio.sleep) -> Capabilities:
    """What the endpoint can do; the endpoint words its requests accordingly from now on.

    One tiny request where the endpoint takes everything; up to ten where it does not. Endpoints do
    not agree on how to name what they reject, and some do not name it, so what they take is tried.

    Args:
        ask: Every call may cost money.
    """
    endpoint.capabilities = await _Probe(ask, endpoint.settings.model, sleep).run()
    return endpoint.capabilities


@dataclass
class _Probe:
    ask_as: AskAs
    model: str
    sleep: Sleep

    async def run(self) -> Capabilities:
        able = Capabilities()
        reply = await self._try_request(able, _SCHEMA)
        if reply is None:
            return await self._climb()
        if not _holds(reply):
            able = replace(able, schema=False)
            if await self._try_request(able, _SCHEMA) is None:
                able = replace(able, json_object=False)
        return able

    async def _climb(self) -> Capabilities:
        """From the plainest request upwards, one thing at a time."""
        able = _LEAST
        if await self._try_request(able, "") is None:
            able = replace(able, limit="max_tokens")
            await self._ask(able, "")
        steps: tuple[dict[str, bool], ...] = (
            {"streaming": True, "stream_usage": True},
            {"streaming": True},
            {"temperature": True},
            {"seed": True},
        )
        for step in steps:
            more = replace(able, **step)  # type: ignore[arg-type]
            if more != able and await self._try_request(more, "") is not None:
                able = more
        return await self._try_format(able)

    async def _try_format(self, able: Capabilities) -> Capabilities:
        full = replace(able, schema=True)
        reply = await self._try_request(full, _SCHEMA)
        if reply is not None and _holds(reply):
            return replace(full, json_object=True)
        looser = replace(able, schema=False, json_object=True)
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
        async def ask_once(request: Request) -> Reply:
            try:
                return await self.ask_as(request, able)
            except AttemptError as fault:
                if fault.kind in _TAKEN:
                    return Reply(_TAKEN[fault.kind], "", NOTHING, request.model, "")
                raise

        messages = (
            ("user", "Write one short greeting. If you are asked for JSON, answer in JSON."),
        )
        question = Request("probe", 1, self.model, messages, schema, _MOST_TOKENS, 0.7, 7)
        return (await ask_with_retries(ask_once, question, _POLICY, self.sleep)).text


def _holds(text: str) -> bool:
    try:
        return bool(parse_json(text, "the answer", refuse=AnswerError) == _ANSWER)
    except AnswerError:
        return False
