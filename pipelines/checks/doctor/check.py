"""One check of the machine, and what it found."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


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
        result: str,
        needed_for: str,
        fault: str = "",
        fix: str = "",
        state: CheckState = CheckState.MISSING,
    ) -> DoctorCheck:
        """What is there where there is no fault; otherwise the fault, its state and its fix."""
        if fault:
            return cls(name, state, fault, needed_for, fix)
        return cls(name, CheckState.OK, result, needed_for)


# What a module says of this machine when it is run in a process of its own.


IMPORT_TIMEOUT_S: Final = 120.0


class SilentModuleError(Exception):
    """A module that could not be run; the message is its last line."""


def run_module(module: str) -> str:
    """What `python -m MODULE` prints.

    Raises:
        SilentModuleError: If it cannot be started, fails, or takes longer than `IMPORT_TIMEOUT_S`.
    """
    try:
        process = subprocess.run(
            [sys.executable, "-m", module],
            capture_output=True,
            text=True,
            timeout=IMPORT_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        output = getattr(error, "stderr", None) or error
        last = str(output).strip().rpartition("\n")[2]
        raise SilentModuleError(last or type(error).__name__) from error
    return process.stdout
