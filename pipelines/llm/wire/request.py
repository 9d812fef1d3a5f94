"""What is asked of a language model and what comes back, as values; and the body of one request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

from synth.base.rng import digest

# What an answer of a language model cost, in tokens.


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that one answer cost.

    Args:
        input_tokens: Tokens of the messages, cached ones included.
        output_tokens: Tokens the model wrote, those of its reasoning included.
        cached_tokens: How many of the input tokens came from the provider's cache.
    """

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0


NOTHING: Final = Usage(0, 0)


_LETTERS_A_TOKEN: Final = 4
_TOKENS_A_MESSAGE: Final = 8
_TOKENS_A_REQUEST: Final = 32
_SCHEMA_NOTE: Final = "\n\nAnswer with one JSON object only. It must fit this JSON schema:\n"


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model.

    `messages` are (role, content) pairs, `schema` is canonical JSON or empty.
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
    """One complete answer; the reason of its end, the model and the id are the endpoint's."""

    text: str
    finish: str
    usage: Usage
    model: str
    request_id: str


def estimate_tokens(request: Request) -> int:
    """About how many tokens a request has.

    English has some four letters a token in all tokenizers in use; every message adds a few. For
    other languages, or many digits, the true number may be twice as high.
    """
    return _count_tokens(request, lambda text: -(-len(text) // _LETTERS_A_TOKEN))


def bound_tokens(request: Request) -> int:
    """More tokens than a request can have: no tokenizer in use makes two tokens of one byte."""
    return _count_tokens(request, lambda text: len(text.encode()))


def _count_tokens(request: Request, count: Callable[[str], int]) -> int:
    texts = [*(content for _, content in request.messages), request.schema]
    return sum(count(text) + _TOKENS_A_MESSAGE for text in texts) + _TOKENS_A_REQUEST


def find_worst_usage(request: Request) -> Usage:
    """The most that a request can cost, which is what counts where the endpoint does not say."""
    return Usage(bound_tokens(request), request.max_output_tokens)


def make_request_body(request: Request, able: Capabilities) -> dict[str, Any]:
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
    if able.streaming:
        body["stream"] = True
        if able.stream_usage:
            body["stream_options"] = {"include_usage": True}
    return body


def _make_answer_shape(request: Request, able: Capabilities) -> tuple[dict[str, Any], str]:
    if not request.schema:
        return {}, ""
    if able.schema:
        name = re.sub(r"[^A-Za-z0-9_-]", "_", request.prompt)[:64] or "answer"
        schema = {"name": name, "strict": True, "schema": json.loads(request.schema)}
        return {"type": "json_schema", "json_schema": schema}, ""
    shape = {"type": "json_object"} if able.json_object else {}
    return shape, _SCHEMA_NOTE + request.schema


# What an endpoint of a language model accepts and does.


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an endpoint accepts and does.

    Args:
        limit: Its name for the most tokens of an answer.
        schema: Answers fit a JSON schema without being told so in words.
        stream_usage: It takes the wish to be told the cost of a streamed answer.
    """

    limit: str = "max_completion_tokens"
    schema: bool = True
    json_object: bool = True
    temperature: bool = True
    seed: bool = True
    streaming: bool = True
    stream_usage: bool = True

    def to_json(self) -> str:
        """Canonical JSON."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Capabilities:
        """The value that `to_json` wrote."""
        return cls(**json.loads(text))
