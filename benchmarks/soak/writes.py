"""Every write of a process below a folder, told by Python itself; it can end with one of them.

An audit hook is asked before a file is opened for writing, renamed, linked or removed, and before a
folder is made or removed, whoever does it. Nothing is called in the code that writes. What Arrow
writes by itself is told by the rename after it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from synth.base.atomic import PARTIAL_SUFFIX

_ACCESS: Final = os.O_RDONLY | os.O_WRONLY | os.O_RDWR
_TWO_NAMES: Final = ("os.rename", "os.link")
_ONE_NAME: Final = ("os.remove", "os.rmdir", "os.mkdir", "os.truncate")
_LOCKS: Final = (".lock",)
"""Ends of names of files that hold nothing."""


@dataclass(slots=True)
class WriteWatch:
    """Counts the writes of this process, and kills it before one of them.

    A file that is opened for writing is two of them, as it is not there yet, or is empty; one that
    is renamed afterwards is two with that.

    Args:
        root: The folder; what is written elsewhere does not count.
        kill_at: The number of the write, from 1; 0 for none.
        kill_before: End of the name of a file: the first rename to one is the last thing that is
            not done; "" for none.
        note: Told of each write.
    """

    root: Path
    kill_at: int = 0
    kill_before: str = ""
    note: Callable[[str], None] = lambda _: None
    _count: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _busy: bool = False

    def start(self) -> None:
        """Watch from now on, for as long as the process lives."""
        sys.addaudithook(self._look)

    def _look(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" and event not in _TWO_NAMES and event not in _ONE_NAME:
            return
        with self._lock:
            if self._busy:  # what this one does itself
                return
            self._busy = True
            try:
                self._judge(event, arguments)
            finally:
                self._busy = False

    def _judge(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, flags = _resolve(arguments[0]), arguments[2]
            if flags & _ACCESS == os.O_RDONLY or not self._counts(path):
                return
            self._pass(f"open {path}")
            is_new = flags & os.O_TRUNC or not os.path.exists(path)  # noqa: PTH110
            if is_new and not path.endswith(PARTIAL_SUFFIX):
                self._pass(f"fill {path}", lambda: _empty(path, flags))
        elif event in _TWO_NAMES:
            path = _resolve(arguments[1], arguments[3])
            if self._counts(path):
                self._pass(f"{event[3:]} {path}")
        else:
            path = _resolve(arguments[0], arguments[-1] if event != "os.truncate" else -1)
            exists = os.path.lexists(path)
            if event == "os.mkdir":
                exists = exists or not os.path.isdir(os.path.dirname(path))  # noqa: PTH112, PTH120
            if self._counts(path) and exists != (event == "os.mkdir"):
                self._pass(f"{event[3:]} {path}")

    def _counts(self, path: str) -> bool:
        return path.startswith(f"{self.root}/") and not path.endswith(_LOCKS)

    def _pass(self, text: str, before: Callable[[], None] = lambda: None) -> None:
        """Count a write; the process may end here."""
        self._count += 1
        self.note(text)
        awaited = self.kill_before and text.startswith("rename ")
        if self._count == self.kill_at or (awaited and text.endswith(self.kill_before)):
            before()
            os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()


def _resolve(path: Any, folder: int = -1) -> str:
    """The whole path of what an event names; "" for a descriptor."""
    if isinstance(path, int):
        return ""
    name = os.fsdecode(path)
    if isinstance(folder, int) and folder >= 0:
        name = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), name)  # noqa: PTH115, PTH118
    return os.path.abspath(name)  # noqa: PTH100


def _empty(path: str, flags: int) -> None:
    if os.path.isdir(os.path.dirname(path)):  # noqa: PTH112, PTH120
        os.close(os.open(path, flags, 0o644))
