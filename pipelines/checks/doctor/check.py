"""One check of the machine, and what it found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CheckState(StrEnum):
    """How a check ended."""

    OK = "ok"
    MISSING = "missing"
    """Something is not there that only some commands need, or run better with."""
    WRONG = "wrong"
    """Something that is needed is not there, or does not work."""


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One line of the table.

    Args:
        needed_for: The commands that need it, and what goes without.
        fix: How to get it, "" where all is well.
    """

    name: str
    state: CheckState
    found: str
    needed_for: str
    fix: str = ""

    @classmethod
    def of(
        cls,
        name: str,
        found: str,
        needed_for: str,
        fault: str = "",
        fix: str = "",
        state: CheckState = CheckState.MISSING,
    ) -> DoctorCheck:
        """What is there where there is no fault; otherwise the fault, its state and its fix."""
        if fault:
            return cls(name, state, fault, needed_for, fix)
        return cls(name, CheckState.OK, found, needed_for)
