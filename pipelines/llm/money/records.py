"""What the store keeps: requests, replies, items and what became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pipelines.llm.money.prices import Nano


class Status(StrEnum):
    """What became of an item."""

    OPEN = "open"
    ANSWERED = "answered"
    FAILED = "failed"


class RequestState(StrEnum):
    """What became of a request."""

    SENT = "sent"
    UNREAD = "unread"
    READ = "read"
    FAULT = "fault"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Scope:
    """What an answer depends on besides its item.

    Args:
        parameters: What else is sent: temperature, seed.
        endpoint: Who answers: its address, without what may hold a key.
    """

    prompt: str
    version: str
    digest: str
    model: str
    parameters: Mapping[str, Any]
    endpoint: str


@dataclass(frozen=True, slots=True)
class ItemState:
    """How far an item has come.

    Args:
        answer: Where it is answered.
        reason: Why it failed; of an open item, what went wrong last.
        attempts: How often its answer was judged.
        complaints: What was wrong with its last answer.
        together: At most so many items in its next request; 0: as many as the prompt takes.
    """

    status: Status = Status.OPEN
    answer: Mapping[str, Any] | None = None
    reason: str = ""
    attempts: int = 0
    complaints: tuple[str, ...] = ()
    together: int = 0


@dataclass(frozen=True, slots=True)
class RequestMember:
    """An item in a request: its digest, and what it was asked as."""

    digest: str
    id: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Order:
    """A request as the store keeps it, before it is sent."""

    key: str
    members: tuple[RequestMember, ...]
    parameters: Mapping[str, Any]
    messages: Sequence[Any]
    worst: Nano


@dataclass(frozen=True, slots=True)
class Paid:
    """What came back for a request."""

    cost: Nano
    text: str = ""
    finish: str = ""
    served: str = ""
    request_id: str = ""
    tokens: tuple[int, int, int] = (0, 0, 0)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Unread:
    """A reply that was paid for and not read yet."""

    purchase: int
    members: tuple[RequestMember, ...]
    text: str
    finish: str
