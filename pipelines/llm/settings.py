"""What a run is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pipelines.llm.files import Input
from pipelines.llm.wire.endpoint import EndpointSettings
from pipelines.llm.wire.retry import Policy


@dataclass(frozen=True, slots=True)
class GenerateSettings:
    """A run.

    Args:
        task: Id of a prompt of ours, or the path of one.
        budget: Dollars that all runs for `out` may cost together.
        local: The model costs nothing.
        seed: Sampling seed, where the endpoint takes one.
        batch: Send everything as batches.
        retry_failed: Ask again for items that failed.
        poll_s: How often to look after a batch.
        policy: When a request is given up.
        verify_model: Whom second requests ask, at the same endpoint; the same model by default.
    """

    task: str
    source: Input
    out: Path
    endpoint: EndpointSettings
    store: Path
    budget: float | None = None
    prices: Path | None = None
    local: bool = False
    concurrency: int = 16
    seed: int | None = None
    batch: bool = False
    retry_failed: bool = False
    poll_s: float = 30.0
    policy: Policy = field(default_factory=lambda: Policy(attempts=8))
    verify_model: str = ""
