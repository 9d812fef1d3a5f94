"""What a run asks: which task, of which rows, of which model, and what it may cost."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import Field

from pipelines.llm.wire.endpoint import EndpointSettings
from pipelines.llm.wire.errors import Policy
from synth.base.choice import StrictModel

STORE: Final = "llm-store.sqlite"


class AskSettings(StrictModel):
    """What a language model is asked, of a night as of `segue llm run`.

    Args:
        task: As `segue llm tasks` lists them, or the path of a prompt.
        out: The file of answers; of a night, the spec's `enrich` names the same one.
        model: The model's name at the endpoint.
        base_url: The endpoint.
        key_variable: Environment variable that holds its key, `none` for a server without keys.
        budget: Dollars that all runs for `out` may cost together.
        prices: A file of prices of your own.
        local: You serve the model yourself: it costs nothing.
        store: What was bought; by default `llm-store.sqlite` beside `out`.
        split: One split only.
        limit: The first so many rows only.
        concurrency: Requests at a time.
        timeout_s: Longest that one attempt may take.
        positives: The further true captions of a corpus too, each as a row of its own, but for
            those that a model wrote.
        variants: Items of a row; each is dealt other values of the fields that a prompt deals.
        verify_model: Whom second requests ask, at the same endpoint; the same model by default.
    """

    task: str
    out: Path
    model: str
    base_url: str = Field(default="https://api.openai.com/v1", repr=False)
    key_variable: str = Field(default="OPENAI_API_KEY", repr=False)
    budget: float | None = Field(default=None, ge=0, le=1e9)
    prices: Path | None = None
    local: bool = False
    store: Path | None = None
    split: str | None = None
    limit: int | None = Field(default=None, ge=1, le=2**63)
    concurrency: int = Field(default=16, ge=1, le=1024)
    timeout_s: float = Field(default=60.0, ge=1, le=86_400)
    positives: bool = False
    variants: int = Field(default=1, ge=1, le=1000)
    verify_model: str = ""


class GenerateSettings(AskSettings):
    """A run.

    Args:
        source: A file, or a corpus's manifest folder.
        columns: Other names of columns, by the prompt's field.
        constants: Values of fields that are the same for all rows.
        seed: Sampling seed, where the endpoint takes one.
        poll_s: How often to look after a batch.
    """

    source: Path
    id_column: str = "id"
    columns: dict[str, str] = Field(default_factory=dict)
    constants: dict[str, str] = Field(default_factory=dict)
    seed: int | None = None
    batch: bool = False
    retry_failed: bool = False
    poll_s: float = Field(default=30.0, gt=0, le=86_400)
    policy: Policy = Policy(attempts=8)

    @property
    def endpoint(self) -> EndpointSettings:
        """Where requests go."""
        return EndpointSettings(self.base_url, self.model, self.key_variable, self.timeout_s)

    @property
    def store_path(self) -> Path:
        """The file of what was bought."""
        return self.store or self.out.with_name(STORE)
