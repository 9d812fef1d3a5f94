"""What a run did, and what one would take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.llm.money.budget import Account
from pipelines.llm.money.prices import NANOS, Nano
from pipelines.llm.stops import Stop


@dataclass(frozen=True, slots=True)
class GenerateSummary:
    """What a run did.

    Items that are `left` are not settled; of these, some are `travelling` in batches. `verdicts`
    counts rows by kind of item and by `Verdict`, where texts are verified.
    """

    generator: str
    items: int
    answered: int
    failed: Mapping[str, int]
    left: int
    travelling: int
    from_store: int
    account: Account
    spent: Nano
    seconds: float
    stopped: Stop | None
    out: Path
    verdicts: Mapping[str, Mapping[str, int]]

    @property
    def bought(self) -> int:
        """Items that this run settled."""
        return self.answered + sum(self.failed.values()) - self.from_store

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        account = self.account
        return {
            "generator": self.generator,
            "items": self.items,
            "answered": self.answered,
            "failed": dict(self.failed),
            "left": self.left,
            "travelling": self.travelling,
            "from_store": self.from_store,
            "bought": self.bought,
            "requests": account.requests,
            "faults": dict(account.faults),
            "input_tokens": account.input_tokens,
            "output_tokens": account.output_tokens,
            "cached_tokens": account.cached_tokens,
            "cost": account.cost / NANOS,
            "uncertain_cost": account.uncertain / NANOS,
            "spent": self.spent / NANOS,
            "seconds": round(self.seconds, 2),
            "stopped": str(self.stopped.kind) if self.stopped else "",
            "message": self.stopped.message if self.stopped else "",
            "fix": self.stopped.fix if self.stopped else "",
            "out": str(self.out),
        } | ({"kinds": self.verdicts} if self.verdicts else {})


@dataclass(frozen=True, slots=True)
class GenerateEstimate:
    """What a run would take.

    `low` is the cost if answers take a quarter of what they may, `high` if all are as long as they
    may be and are asked for twice.
    """

    items: int
    from_store: int
    requests: int
    second_requests: int
    input_tokens: int
    output_tokens: int
    low: Nano
    high: Nano

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "items": self.items,
            "from_store": self.from_store,
            "requests": self.requests,
            "second_requests": self.second_requests,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "low": self.low / NANOS,
            "high": self.high / NANOS,
        }
