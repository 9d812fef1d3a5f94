"""How far every phase of a command has come; whoever shows it is a subclass."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

_TICK_S: Final = 0.05


@dataclass(slots=True)
class Phase:
    """How far a phase has come.

    Args:
        is_kept: Whether they stay done when the command is stopped.
        begun: When it began, in s of the clock.
        shown: When it was last shown; None before that.
    """

    name: str
    unit: str
    total: int
    done: int
    is_kept: bool
    begun: float
    shown: float | None = None
    note: str = ""
    is_over: bool = False


class Tracker:
    """An observer that knows how far every phase has come, and shows none."""

    def __init__(self, command: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.command = Phase(command, "", 0, 0, False, clock())
        self.last = self.command.begun
        """When something was last shown."""
        self._phases: dict[str, Phase] = {}
        self._lock = threading.Lock()

    def begin(self, phase: Phase) -> None:
        """Show that a phase has begun."""

    def move(self, phase: Phase) -> None:
        """Show that it has come further, or has ended."""

    def wait(self, phase: Phase) -> None:
        """Show that it goes on, if that is due."""

    def start(self, phase: str, total: int, unit: str, done: int | None = None) -> None:
        """Add the phase."""
        begun = Phase(phase, unit, total, done or 0, done is not None, self.clock())
        with self._lock:
            self._phases.pop(phase, None)  # one that comes again is the latest
            self._phases[phase] = begun
            self.begin(begun)

    def advance(self, phase: str, units: int = 1, note: str = "") -> None:
        """Count on."""
        with self._lock:
            current = self._phases[phase]
            current.done, current.note = current.done + units, note
            self.move(current)

    def finish(self, phase: str, note: str = "") -> None:
        """Complete the phase."""
        with self._lock:
            ended = self._phases[phase]
            ended.done, ended.note, ended.is_over = ended.total, note, True
            self.move(ended)

    def beat(self) -> None:
        """Show that the latest phase goes on, or between phases the command."""
        with self._lock:
            under_way = (phase for phase in reversed(self._phases.values()) if not phase.is_over)
            self.wait(next(under_way, self.command))

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Beat while the block runs."""
        ended = threading.Event()

        def run() -> None:
            with suppress(OSError, ValueError):  # nobody reads any more
                while not ended.wait(_TICK_S):
                    self.beat()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def close(self) -> None:
        """Leave the phases that are under way as far as they have come."""
        with self._lock:
            for phase in self._phases.values():
                if not phase.is_over:
                    phase.is_over = True
                    self.move(phase)

    @property
    def kept(self) -> str:
        """What the same command will not do again, as `5 of 12 shards are done`; may be empty.

        Where another phase was under way, it is named.
        """
        last = next((phase for phase in reversed(self._phases.values()) if phase.is_kept), None)
        if last is None:
            return ""
        current = next(reversed(self._phases.values()))
        stopped = "" if current is last or current.is_over else f"; {current.name} was under way"
        return f"{last.done:,} of {last.total:,} {last.unit} are done{stopped}"
