"""What is asked of a language model and what comes back, as values; and the body of one request."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from pipelines.llm.wire.capabilities import Capabilities
from pipelines.llm.wire.usage import Usage
from synth.base.rng import digest

_BYTES_PER_TOKEN: Final = 3
_SCHEMA_NOTE: Final = "\n\nAnswer with one JSON object only. It must fit this JSON schema:\n"


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model.

    Args:
        prompt: Id of the prompt file.
        version: Version of the prompt file.
        model: The model asked.
        messages: (role, content) pairs.
        schema: Canonical JSON of the schema of the answer; empty for none.
        max_output_tokens: The most tokens the answer may have.
        temperature: Sampling temperature.
        seed: Sampling seed, for endpoints that take one.
    """

    prompt: str
    version: int
    model: str
    messages: tuple[tuple[str, str], ...]
    schema: str
    max_output_tokens: int
    temperature: float
    seed: int | None

    @property
    def key(self) -> str:
        """Hex digest of everything that determines the answer."""
        return digest(
            "llm request",
            self.prompt,
            str(self.version),
            self.model,
            str(self.max_output_tokens),
            repr(float(self.temperature)),
            "" if self.seed is None else str(self.seed),
            self.schema,
            *(part for message in self.messages for part in message),
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """One complete answer.

    Args:
        text: The answer, as written.
        finish: Why the model stopped, in the endpoint's word ("stop").
        usage: What it cost.
        model: The model that answered, in the endpoint's word.
        request_id: The endpoint's id of the answer.
    """

    text: str
    finish: str
    usage: Usage
    model: str
    request_id: str


def estimate_tokens(text: str) -> int:
    """A count from above for languages in Latin letters: one token for three bytes."""
    return -(-len(text.encode()) // _BYTES_PER_TOKEN)


def estimate_usage(request: Request, output: int) -> Usage:
    """What `output` tokens of an answer to `request` cost, where the endpoint did not say."""
    asked = sum(estimate_tokens(content) + 8 for _, content in request.messages)
    return Usage(asked + estimate_tokens(request.schema), output, estimated=True)


def make_request_body(request: Request, able: Capabilities, *, stream: bool) -> dict[str, Any]:
    """The body of a chat completion, in the words this endpoint accepts.

    Where the endpoint does not hold answers to a schema, the last message spells the schema out.
    """
    shape, note = _make_answer_shape(request, able)
    *first, (role, content) = request.messages
    messages = [*first, (role, content + note)]
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [{"role": role, "content": content} for role, content in messages],
        able.limit: request.max_output_tokens,
    }
    if shape:
        body["response_format"] = shape
    if able.temperature:
        body["temperature"] = request.temperature
    if able.seed and request.seed is not None:
        body["seed"] = request.seed
    if stream:
        body["stream"] = True
        if able.stream_usage:
            body["stream_options"] = {"include_usage": True}
    return body


def _make_answer_shape(request: Request, able: Capabilities) -> tuple[dict[str, Any], str]:
    if not request.schema:
        return {}, ""
    if able.holds_schema:
        name = re.sub(r"[^A-Za-z0-9_-]", "_", request.prompt)[:64] or "answer"
        schema = {"name": name, "strict": True, "schema": json.loads(request.schema)}
        return {"type": "json_schema", "json_schema": schema}, ""
    shape = {"type": "json_object"} if able.json_object else {}
    return shape, _SCHEMA_NOTE + request.schema
