"""What an endpoint of a language model accepts and does."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from pipelines.llm.wire.usage import NOTHING, Usage


class SchemaSupport(StrEnum):
    """What an endpoint does with a JSON schema."""

    HONOURED = "honoured"
    IGNORED = "ignored"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an endpoint accepts and does.

    Args:
        limit: Its name for the most tokens of an answer.
        schema: What it does with a JSON schema.
        json_object: It takes the format "json_object".
        temperature: It takes a temperature.
        seed: It takes a seed.
        streaming: It sends answers piece by piece.
        stream_usage: It takes the wish to be told the cost of a streamed answer.
        spent: What finding this out cost.
    """

    limit: str = "max_completion_tokens"
    schema: SchemaSupport = SchemaSupport.HONOURED
    json_object: bool = True
    temperature: bool = True
    seed: bool = True
    streaming: bool = True
    stream_usage: bool = True
    spent: Usage = NOTHING

    @property
    def holds_schema(self) -> bool:
        """Answers fit the schema without being told so in words."""
        return self.schema is SchemaSupport.HONOURED

    def to_json(self) -> str:
        """Canonical JSON."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Capabilities:
        """The value that `to_json` wrote."""
        data = json.loads(text)
        support, spent = SchemaSupport(data.pop("schema")), Usage(**data.pop("spent"))
        return cls(schema=support, spent=spent, **data)
