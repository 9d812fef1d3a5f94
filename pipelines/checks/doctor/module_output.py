"""What a module says of this machine when it is run in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

TIMEOUT_S: Final = 120.0


class SilentModuleError(Exception):
    """A module that could not be run; the message is its last line."""


def run_module(module: str) -> str:
    """What `python -m MODULE` prints.

    Raises:
        SilentModuleError: If it cannot be started, fails, or takes longer than `TIMEOUT_S`.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-m", module],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        told = getattr(error, "stderr", None) or error
        raise SilentModuleError(str(told).strip().splitlines()[-1]) from error
    return done.stdout
