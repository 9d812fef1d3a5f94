"""A call with a name and a time limit, which runs from the moment a worker begins it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final, Generic, ParamSpec, TypeVar

from synth.base.errors import CorpusError

P = ParamSpec("P")
T = TypeVar("T")

LAST_WORDS_S: Final = 0.5


class OverdueError(CorpusError):
    """A call that did not end in time; a thread of its worker is still at it."""


@dataclass(frozen=True, slots=True)
class Call(Generic[P, T]):
    """A function that is given up when it takes too long, on whatever worker runs it.

    The worker keeps the time, so waiting in the queue of a pool or a cluster costs nothing. Who
    sets a limit tries again by itself: a cluster does not.

    Args:
        limit_s: Longest that it may take.
    """

    function: Callable[P, T]
    label: str
    limit_s: float

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """The function's result."""
        outcome: Future[T] = Future()

        def work() -> None:
            try:
                outcome.set_result(self.function(*args, **kwargs))
            except BaseException as error:
                outcome.set_exception(error)

        deadline = monotonic() + self.limit_s
        threading.Thread(target=work, daemon=True).start()
        while not outcome.done() and (left := deadline - monotonic()) > 0:
            wait([outcome], left)
        if not outcome.done():
            raise OverdueError(
                f"{self.label}: not rendered within {self.limit_s:g} s",
                fix="check whether the file system hangs, then run the same command again; "
                "finished shards are kept",
            )
        return outcome.result()


def label_of(function: Callable[..., Any]) -> str:
    """A function's name for people."""
    return function.label if isinstance(function, Call) else function.__name__


def end_soon() -> None:
    """End this process, and with it an overdue call, once it has answered."""
    timer = threading.Timer(LAST_WORDS_S, os._exit, (1,))
    timer.daemon = True
    timer.start()
