"""What a command returns, of whatever package; the command line prints it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any, TypeAlias

from synth.base.errors import SpecError


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command found or did: facts for `--json`, and what shows them to people."""

    facts: Mapping[str, Any]
    show: Callable[[], None]
    status: int = 0


Tell: TypeAlias = Callable[[CommandResult], None]
"""Prints a result of a command that goes on."""

Given: TypeAlias = Set[str]
"""The options that stand on the command line, as `--split`, though it be with their defaults."""


def refuse_given(given: Given, useless: Set[str], why: str) -> None:
    """Check that no option is given that would count for nothing.

    Args:
        why: What follows on its name in the message: "a corpus is checked".
    """
    if options := sorted(given & useless):
        verb = "it" if len(options) == 1 else "them"
        raise SpecError(f"{', '.join(options)}: {why}", fix=f"leave {verb} out")
