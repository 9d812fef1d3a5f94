"""Keep an engine busy: as many batches under way as it has use for, and no more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, as_completed, wait
from typing import Final, TypeVar

from pipelines.engines.engine import Engine

T = TypeVar("T")

MAX_THREADS: Final = 1024
WIDTH_POLL_S: Final = 5.0


def render_all(batches: Sequence[T], render: Callable[[T], None], engine: Engine) -> None:
    """Render all, as many at a time as the engine has use for by then; a failure ends it."""
    under_way: set[Future[None]] = set()
    with ThreadPoolExecutor(min(MAX_THREADS, max(1, len(batches)))) as threads:
        try:
            for batch in batches:
                while len(under_way) >= max(1, engine.width):
                    done, under_way = wait(under_way, WIDTH_POLL_S, FIRST_COMPLETED)
                    for future in done:
                        future.result()
                under_way.add(threads.submit(render, batch))
            for future in as_completed(under_way):
                future.result()
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            engine.cancel()
            raise
