"""One thing to ask a language model about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PromptItem:
    """One thing to ask about."""

    id: str
    fields: Mapping[str, Any]
