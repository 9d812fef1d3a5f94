"""The schedule of a build: width, further tries, and what becomes of a failure."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from pipelines.builder.schedule import schedule
from pipelines.engines.engine import Engine, GivenUpError, engine
from synth.base.errors import SegueError


@dataclass
class Growing:
    """An engine of threads that may have use for more calls with every one that begins."""

    width: int = 1
    cancelled: threading.Event = field(default_factory=threading.Event)
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(16))

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self.threads.submit(function, *args, **kwargs)

    def cancel(self) -> None:
        self.cancelled.set()


@pytest.fixture(params=["here", "threads"])
def where(request: pytest.FixtureRequest) -> Any:
    if request.param == "threads":
        yield Growing()
    else:
        with engine(0) as here:
            yield here


def run(
    count: int,
    render: Callable[[int], None],
    where: Engine,
    finish: Callable[[int], None] = lambda number: None,
    **settings: Any,
) -> None:
    schedule(range(count), partial(where.submit, render), where, finish, **settings)


def test_every_shard_is_rendered_once_and_what_is_done_is_told(where: Engine) -> None:
    done: list[int] = []
    finished: list[int] = []
    run(20, done.append, where, finished.append)
    assert done == finished == list(range(20))
    assert not where.cancelled.is_set()
    run(0, done.append, where)
    assert len(done) == 20


@pytest.mark.parametrize("most", [None, 6])
def test_as_many_are_under_way_as_the_engine_has_use_for_by_then(most: int | None) -> None:
    where, grown = Growing(), 6
    meeting = threading.Barrier(grown)

    def render(shard: int) -> None:
        if shard or most:
            meeting.wait()  # passes only where so many are under way at once
        where.width = grown

    run(6 if most else 7, render, where, most=most)


def test_first_failure_gives_up_the_rest_and_tells_the_engine(where: Engine) -> None:
    done: list[int] = []

    def render(number: int) -> None:
        if number == 3:
            raise SegueError("broken")
        done.append(number)

    with pytest.raises(SegueError, match="broken"):
        run(100, render, where)
    assert done == [0, 1, 2]
    assert where.cancelled.is_set()


def test_what_a_worker_is_at_is_finished_after_a_failure() -> None:
    where = Growing(width=2)
    failed = threading.Event()
    finished: list[int] = []

    def render(number: int) -> None:
        if number == 0:
            failed.set()
            raise SegueError("broken")
        where.cancelled.wait()

    with pytest.raises(SegueError, match="broken"):
        run(9, render, where, finished.append)
    assert finished == [1]


def test_errors_of_the_file_system_are_tried_again_and_noted(where: Engine) -> None:
    tries: Counter[int] = Counter()
    noted: list[tuple[int, str]] = []

    def render(shard: int) -> None:
        tries[shard] += 1
        if tries[shard] <= shard:
            raise OSError("stale file handle")

    def note(shard: int, error: OSError) -> None:
        noted.append((shard, str(error)))

    run(3, render, where, note=note, delays_s=[0, 0])
    assert tries == {0: 1, 1: 2, 2: 3}
    assert noted == [(number, "stale file handle") for number in (1, 2, 2)]


@pytest.mark.parametrize(
    ("error", "tries"), [(OSError("gone"), 5), (PermissionError("no"), 1), (SegueError("bad"), 1)]
)
def test_tries_are_as_many_as_may_help(where: Engine, error: Exception, tries: int) -> None:
    made: list[int] = []

    def render(shard: int) -> None:
        made.append(shard)
        raise error

    with pytest.raises(type(error), match=str(error)):
        run(1, render, where, delays_s=[0] * 4)
    assert len(made) == tries


def test_failure_does_not_wait_for_another_shards_next_try() -> None:
    where = Growing(width=2)
    waiting = threading.Event()

    def render(shard: int) -> None:
        if shard == 0:
            raise OSError("busy")
        waiting.wait()
        raise SegueError("broken")

    with pytest.raises(SegueError, match="broken"):  # the test's own time limit is shorter
        run(2, render, where, delays_s=[3600], note=lambda shard, error: waiting.set())


def test_what_gave_up_the_others_is_told_in_place_of_that_they_were() -> None:
    where = Growing(width=2)
    given_up = threading.Event()

    def render(shard: int) -> None:
        if shard == 0:
            given_up.set()
            raise GivenUpError("given up")
        given_up.wait()
        raise SegueError("disk full")

    with pytest.raises(SegueError, match="disk full"):
        run(2, render, where)


def test_next_try_is_given_up_where_the_engine_is_told_so() -> None:
    where = Growing()

    def render(shard: int) -> None:
        raise OSError("busy")

    with pytest.raises(SegueError, match="given up"):
        run(1, render, where, delays_s=[3600], note=lambda shard, error: where.cancel())
