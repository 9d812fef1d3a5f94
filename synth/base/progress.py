"""Progress of long work, as it is reported; `progress_display` shows it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

T = TypeVar("T")


@runtime_checkable
class Observer(Protocol):
    """Told of the phases of long work; safe to call from several threads."""

    def start(self, phase: str, total: int, unit: str, done: int | None = None) -> None:
        """A phase begins.

        Args:
            done: How many an earlier run did; None where nothing is kept from one run to the next.
        """
        ...

    def advance(self, phase: str, units: int = 1, note: str = "") -> None:
        """Some units are done; the note says how it goes."""
        ...

    def finish(self, phase: str, note: str = "") -> None:
        """The phase has ended, with all of its units."""
        ...


class Silent:
    """Reports to nobody."""

    def _ignore(self, *_: Any, **__: Any) -> None:
        pass

    start = advance = finish = _ignore


UNOBSERVED: Final = Silent()


def tell_damage(observer: Observer, faults: Sequence[str], what: str) -> None:
    """Tell of damaged files, and what becomes of them, in one line; of none nothing."""
    if faults:
        observer.start("mend", len(faults), "files")
        more = f" and {len(faults) - 1:,} more" if len(faults) > 1 else ""
        observer.finish("mend", f"{what}: {faults[0]}{more}")


def track(items: Sequence[T], observer: Observer, phase: str, unit: str) -> Iterator[T]:
    """The items, a phase of their own: one is done when the next is asked for."""
    observer.start(phase, len(items), unit)
    for item in items:
        yield item
        observer.advance(phase)
    observer.finish(phase)


# A sign of life on a terminal while something loads that has no progress of its own.


@contextmanager
def show_waiting(what: str) -> Iterator[None]:
    """Show a moving line on the standard error while the block runs; nothing off a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield
