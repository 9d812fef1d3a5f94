"""Why a run ended before all was settled."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pipelines.llm.wire.errors import AttemptError


class StopKind(StrEnum):
    """What stopped a run."""

    BUDGET = "budget"
    ENDPOINT = "endpoint"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a run ended early."""

    kind: StopKind
    message: str
    fix: str

    @classmethod
    def for_budget(cls) -> Stop:
        """The next request might cost more than there is left."""
        return cls(
            StopKind.BUDGET,
            "the next request might cost more than the budget has left",
            "repeat the command with a larger --budget to resume; nothing is paid for twice",
        )

    @classmethod
    def for_fault(cls, fault: AttemptError) -> Stop:
        """No request can fare better."""
        fix = fault.fix or "fix it"
        message = f"the endpoint refuses ({fault.kind}): {fault.message}"
        return cls(StopKind.ENDPOINT, message, f"{fix}; then repeat the command to resume")

    @classmethod
    def for_silence(cls, fault: AttemptError) -> Stop:
        """Nothing but faults comes back."""
        message = f"the endpoint does not answer ({fault.kind}): {fault.message}"
        return cls(StopKind.ENDPOINT, message, "repeat the command later to resume")

    @classmethod
    def for_refused_batch(cls, fault: AttemptError) -> Stop:
        """The endpoint does not take a batch."""
        message = f"the endpoint refuses the batch ({fault.kind}): {fault.message}"
        fix = "if it has no batch API, repeat the command without --batch to resume"
        return cls(StopKind.ENDPOINT, message, fix)

    @classmethod
    def for_interrupt(cls) -> Stop:
        """The user wants it so."""
        return cls(StopKind.INTERRUPTED, "stopped", "repeat the command to resume")
