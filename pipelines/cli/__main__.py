"""The `segue` program, also as `python -m pipelines.cli`: quiet on Ctrl-C from its first import on.

An interrupt in the midst of an import may come out as any error. So the signal is remembered, and
whatever ends the program after it is told as what it is.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import Any, Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
STOPPED: Final = "stopped"
AGAIN: Final = "run the same command again"
PASSIVE: Final = ("OMP_WAIT_POLICY", "passive")
_SOON_S: Final = 0.01
_SHOW_CURSOR: Final = "\x1b[?25h"


class Interrupts:
    """Ctrl-C, or SIGTERM: the first ends the command in good order, the second ends it at once."""

    def __init__(self) -> None:
        self.status = 0
        """The exit status that is due; 0 before the first signal."""
        self._is_reported = False

    def catch(self) -> None:
        """Be told of the signals, but for those that whoever started this has turned off."""
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._interrupt)
        atexit.register(self._leave)  # the first one that is registered is called last

    def report_and_exit(self, error: BaseException) -> None:
        """Say that the command was stopped and how to go on, and end with the status due."""
        self._is_reported = True
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        fix = ": ".join(filter(None, (AGAIN, _describe_done(error))))
        print(f"{STOPPED}; {fix}", file=sys.stderr)
        if "--json" in sys.argv:
            print(json.dumps({"error": STOPPED, "fix": fix}), flush=True)
        sys.exit(self.status)

    def _leave(self) -> None:
        """End with the due status; of interrupts inside `exec` Python would end as killed."""
        if self._is_reported:
            with suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(self.status)

    def _interrupt(self, number: int, _frame: FrameType | None) -> None:
        if self.status:
            # Worker processes and servers end with this one, and nothing that is written is torn.
            if sys.stderr.isatty():
                os.write(sys.stderr.fileno(), _SHOW_CURSOR.encode())
            os._exit(self.status)
        self.status = 128 + number
        sys.unraisablehook = _raise_again
        threading.excepthook = _ignore_unraisable
        raise KeyboardInterrupt


def _describe_done(error: BaseException | None) -> str:
    """What the command will not do again, as `pipelines.cli.common.progress_display` notes it."""
    seen = set()
    while error is not None and id(error) not in seen:  # Prefect's may come from themselves
        if notes := getattr(error, "__notes__", None):
            return str(notes[0])
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return ""


def _raise_again(error: Any) -> None:
    """An interrupt that came in a callback of C code, such as a decoder's, is raised once more."""
    if isinstance(error.exc_value, KeyboardInterrupt) and hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, _SOON_S)


def _ignore_unraisable(_error: Any) -> None:
    """What falls over because the program ends is no news."""


def main() -> None:
    """Run the command line."""
    interrupts = Interrupts()
    interrupts.catch()
    # Torch's threads wait for each other in a loop, which beside other work takes most of the time
    # of the processor from the thread that is waited for. OpenMP reads this when it is loaded.
    os.environ.setdefault(*PASSIVE)
    try:
        from pipelines.cli.app import main as segue

        segue()
    except BaseException as error:
        done = isinstance(error, SystemExit) and not error.code
        if done or not interrupts.status:
            raise
        interrupts.report_and_exit(error)


if __name__ == "__main__":
    main()
