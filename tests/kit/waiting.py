"""How tests wait for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

PATIENCE_S: Final = 100.0
"""How long a test waits for anything: less than pytest's limit, so that what did not come is told.

What takes a second alone takes a minute on a busy machine.
"""


def wait_for(condition: Callable[[], bool], pause_s: float = 0.005) -> bool:
    """Whether a condition comes true; it is asked every so often."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause_s)
    return True
