"""What every section of the settings shares."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Frozen settings; an unknown one is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
