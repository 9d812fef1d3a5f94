"""What a command returns, of whatever package; the command line prints it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command found or did: facts for `--json`, and what shows them to people."""

    facts: Mapping[str, Any]
    show: Callable[[], None]
    status: int = 0


Tell: TypeAlias = Callable[[CommandResult], None]
"""Prints a result of a command that goes on."""
