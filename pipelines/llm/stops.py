"""Why a run ended before all was settled."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pipelines.llm.wire.errors import Fault


class StopKind(StrEnum):
    """What stopped a run."""

    BUDGET = "budget"
    ENDPOINT = "endpoint"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a run ended early.

    Args:
        kind: What stopped it.
        message: In a sentence.
        fix: What to do.
    """

    kind: StopKind
    message: str
    fix: str

    @classmethod
    def for_budget(cls) -> Stop:
        """The next request might cost more than there is left."""
        return cls(
            StopKind.BUDGET,
            "the next request might cost more than the budget has left",
            "the same command with a larger --budget goes on; nothing is bought twice",
        )

    @classmethod
    def for_fault(cls, fault: Fault) -> Stop:
        """No request can fare better."""
        fix = fault.fix or "fix it"
        message = f"the endpoint refuses ({fault.kind}): {fault.message}"
        return cls(StopKind.ENDPOINT, message, f"{fix}; the same command goes on")

    @classmethod
    def for_silence(cls, fault: Fault) -> Stop:
        """Nothing but faults comes back."""
        message = f"the endpoint does not answer ({fault.kind}): {fault.message}"
        return cls(StopKind.ENDPOINT, message, "the same command goes on, later")

    @classmethod
    def for_refused_batch(cls, fault: Fault) -> Stop:
        """The endpoint does not take a batch."""
        message = f"the endpoint does not take the batch ({fault.kind}): {fault.message}"
        fix = "where it has no batch API, leave --batch out; the same command goes on"
        return cls(StopKind.ENDPOINT, message, fix)

    @classmethod
    def for_interrupt(cls) -> Stop:
        """The user wants it so."""
        return cls(StopKind.INTERRUPTED, "stopped", "the same command goes on where it stopped")
