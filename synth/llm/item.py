"""One thing to ask a language model about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PromptItem:
    """One thing to ask about.

    Args:
        id: By which its answer is found; unique within a request.
        fields: JSON values that the prompt's templates and checks see.
    """

    id: str
    fields: Mapping[str, Any]
