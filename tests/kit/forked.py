"""Two ranks of one script: the second is a fork, so what both import is imported once."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable


class KilledError(BaseException):
    """The process is gone; nothing of it runs on."""


def fork_ranks(work: Callable[[int], None]) -> None:
    """Run `work(rank)` as rank 0 here and as rank 1 in a fork; fail if either fails.

    To be called before anything starts a thread.
    """
    child = os.fork()
    if not child:
        status = 1
        try:
            work(1)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    try:
        work(0)
    except BaseException:
        os.kill(child, signal.SIGKILL)  # it would wait for this one
        raise
    _, status = os.waitpid(child, 0)
    sys.exit(status != 0)
