"""The schedule of a build: portions, width, further tries, and what becomes of a failure."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from pipelines.builder.schedule import (
    LEAST_S,
    MOST_PORTIONS,
    TARGET_S,
    Portions,
    RenderSettings,
    schedule,
)
from pipelines.engines.engine import engine
from pipelines.engines.executor import Runner
from synth.base.errors import SegueError

AT_ONCE = RenderSettings(retry_delay_s=0)


@dataclass
class Growing:
    """An engine that has use for one call more with every portion that begins."""

    run: Runner
    width: int = 1
    cancelled: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        self.cancelled.set()


@pytest.fixture
def here() -> Growing:
    with engine(0) as it:
        return Growing(it.run)


@pytest.mark.parametrize("shard_s", [0.05, 3.0, 45.0, 400.0])
def test_portions_last_about_a_minute_and_hold_every_shard_once(shard_s: float) -> None:
    total, width = 4000, 4
    portions = Portions(total)
    dealt: list[range] = []
    while portion := portions.take(width):
        dealt.append(portion)
        portions.learn(len(portion), shard_s * len(portion))
    assert [number for portion in dealt for number in portion] == list(range(total))
    assert len(dealt) <= MOST_PORTIONS
    assert len(dealt[0]) == 1
    usual = [len(portion) * shard_s for portion in dealt[1:-1]]
    assert all(seconds <= max(TARGET_S, (total / MOST_PORTIONS + 2) * shard_s) for seconds in usual)
    assert all(seconds >= LEAST_S - shard_s for seconds in usual)


def test_portions_stay_few_before_anything_was_measured() -> None:
    portions = Portions(100_000)
    dealt = []
    while portion := portions.take(64):
        dealt.append(portion)
    assert len(dealt) <= MOST_PORTIONS
    assert dealt[-1].stop == 100_000


def test_nothing_pending_is_no_portion() -> None:
    assert not Portions(0).take(4)


def test_every_shard_is_rendered_once_and_what_is_done_is_told(here: Growing) -> None:
    done: list[int] = []
    shown: list[int] = []
    schedule(range(20), done.append, here, AT_ONCE, show=shown.append)
    assert sorted(done) == list(range(20))
    assert shown == list(range(1, 21))
    assert not here.cancelled.is_set()


def test_as_many_are_under_way_as_the_engine_has_use_for_by_then(here: Growing) -> None:
    grown = 6
    meeting = threading.Barrier(grown)

    def render(shard: int) -> None:
        if shard:
            meeting.wait()  # passes only where so many are under way at once
        here.width = grown

    schedule(range(1 + grown), render, here, AT_ONCE)


def test_first_failure_gives_up_the_rest_and_tells_the_engine(here: Growing) -> None:
    done: list[int] = []

    def render(number: int) -> None:
        if number == 3:
            raise SegueError("broken")
        done.append(number)

    with pytest.raises(SegueError, match="broken"):
        schedule(range(100), render, here, AT_ONCE)
    assert done == [0, 1, 2]
    assert here.cancelled.is_set()


def test_failure_ends_a_portion_before_its_next_shard(here: Growing) -> None:
    """A portion of many shards, as Prefect is given, and one that fails beside it."""
    here.width = 2
    done: list[int] = []
    works: list[Callable[[], float]] = []

    @dataclass
    class Begun:
        work: Callable[[], float]
        outcome: BaseException | float = 0.0

        def result(self) -> float:
            if isinstance(self.outcome, BaseException):
                raise self.outcome
            return self.outcome

        def add_done_callback(self, call: Callable[[Begun], None], /) -> None:
            try:
                self.outcome = self.work()
            except BaseException as error:
                self.outcome = error
            call(self)

        __hash__ = object.__hash__

    def submit(work: Callable[[], float], number: int, portion: range) -> Begun:
        works.append(work)
        return Begun(work)

    def render(number: int) -> None:
        done.append(number)
        if number == 1:
            raise SegueError("broken")

    with pytest.raises(SegueError, match="broken"):
        schedule(range(100), render, here, AT_ONCE, submit)
    rendered = len(done)
    with pytest.raises(SegueError, match="given up"):
        works[0]()
    assert len(done) == rendered


def test_errors_of_the_file_system_are_tried_again_and_noted(here: Growing) -> None:
    tries: Counter[int] = Counter()
    noted: list[tuple[int, str]] = []

    def render(shard: int) -> None:
        tries[shard] += 1
        if tries[shard] <= shard:
            raise OSError("stale file handle")

    def note(shard: int, error: OSError) -> None:
        noted.append((shard, str(error)))

    schedule(range(3), render, here, AT_ONCE, note=note)
    assert tries == {0: 1, 1: 2, 2: 3}
    assert noted == [(1, "stale file handle"), (2, "stale file handle"), (2, "stale file handle")]


def test_error_that_stays_is_raised_after_as_many_tries_as_are_set(here: Growing) -> None:
    tries: list[int] = []

    def render(shard: int) -> None:
        tries.append(shard)
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        schedule([7], render, here, RenderSettings(retries=4, retry_delay_s=0))
    assert len(tries) == 5


def test_clear_error_is_not_tried_again(here: Growing) -> None:
    tries: list[int] = []

    def render(shard: int) -> None:
        tries.append(shard)
        raise SegueError("bad input")

    with pytest.raises(SegueError, match="bad input"):
        schedule([7], render, here, AT_ONCE)
    assert tries == [7]


def test_failure_does_not_wait_for_another_shards_next_try(here: Growing) -> None:
    here.width = 2
    waiting = threading.Event()

    def render(shard: int) -> None:
        if shard == 0:
            raise OSError("busy")
        waiting.wait()
        raise SegueError("broken")

    settings = RenderSettings(retry_delay_s=3600)  # the test's own time limit is shorter
    with pytest.raises(SegueError, match="broken"):
        schedule(range(2), render, here, settings, note=lambda shard, error: waiting.set())


def test_each_delay_is_ten_times_the_one_before() -> None:
    assert RenderSettings().delays_s == [2.0, 20.0]
    assert RenderSettings(retries=0).delays_s == []
