"""Leases and locks: one writer at a time, none for the dead, and who was paused holds nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import pipelines.store.lease
from pipelines.store.lease import EXPIRY_S, Lease, sole_writer, take_lease, utc_now, wait_for_turn
from synth.base.errors import CorpusError
from synth.storage import Remote, Stored
from tests.kit.s3_store import running_store
from tests.kit.waiting import PATIENCE_S

FOLDER = "data_manifests/tiny/.lease"


@pytest.fixture
def folder(tmp_path: Path) -> Remote:
    return Remote(f"file://{tmp_path}")


@pytest.fixture(scope="module")
def bucket() -> Iterator[Remote]:
    with running_store() as store, pytest.MonkeyPatch.context() as environment:
        for name, value in store.environment().items():
            environment.setenv(name, value)
        yield Remote(f"s3://{store.bucket()}/segue")


def take_at(remote: Remote, holder: str, now: datetime) -> Lease:
    """Take the lease, by a clock that shows this time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipelines.store.lease, "utc_now", lambda: now)
        return take_lease(remote, FOLDER, holder)


@pytest.mark.parametrize("days", [1, -1])
def test_the_stores_clock_counts_and_not_that_of_a_holder_a_day_off(
    folder: Remote, tmp_path: Path, days: int
) -> None:
    holder = take_at(folder, "of another time", utc_now() + timedelta(days=days))
    with pytest.raises(CorpusError, match="is building this corpus"):
        take_lease(folder, FOLDER, "ours")
    assert [key.rpartition("/")[2] for key in folder.list(FOLDER)] == ["000001.json"]
    written = (tmp_path / holder.key).stat().st_mtime
    os.utime(tmp_path / holder.key, (written - EXPIRY_S - 1,) * 2)
    assert take_lease(folder, FOLDER, "ours").number == holder.number + 1


@pytest.mark.parametrize("kind", ["folder", pytest.param("bucket", marks=pytest.mark.slow)])
@pytest.mark.parametrize("stays", [False, True])
def test_a_holder_that_was_paused_in_a_sign_of_life_brings_nothing_back(
    kind: str, stays: bool, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It found its lease there; then another took it over, and gave it back or not."""
    remote: Remote = request.getfixturevalue(kind)
    where = f"{FOLDER}-{stays}"
    paused = take_lease(remote, where, "paused")
    others: list[Lease] = []

    def pause() -> datetime:
        monkeypatch.undo()
        remote.remove(paused.key)  # it had expired
        others.append(take_lease(remote, where, "another"))
        if not stays:
            others[0].release()
        return utc_now()

    monkeypatch.setattr(pipelines.store.lease, "utc_now", pause)
    with pytest.raises(CorpusError, match="another machine took the lease"):
        paused.beat()
    with pytest.raises(CorpusError, match="another machine took the lease"):
        paused.check()
    if stays:
        others[0].check()
    else:
        assert not remote.list(where)


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def timeless(folder: Remote, monkeypatch: pytest.MonkeyPatch) -> Remote:
    """A store that tells no times: the machines' own clocks count."""
    monkeypatch.setattr("pipelines.store.lease._measure_age", lambda *_: None)
    return folder


def taken(remote: Remote, holder: str, after_s: float = 0) -> Lease:
    return take_at(remote, holder, NOON + timedelta(seconds=after_s))


def test_a_lease_is_kept_by_signs_of_life_and_lost_without(timeless: Remote) -> None:
    first = taken(timeless, "a")
    with pytest.raises(CorpusError, match="is building this corpus, process"):
        taken(timeless, "b", EXPIRY_S - 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipelines.store.lease, "utc_now", lambda: NOON + timedelta(seconds=100))
        first.beat()
    with pytest.raises(CorpusError, match="is building this corpus, process"):
        taken(timeless, "b", EXPIRY_S + 60)
    first.check()
    second = taken(timeless, "b", EXPIRY_S + 100)
    for act in (first.check, first.beat):
        with pytest.raises(CorpusError, match="another machine took the lease"):
            act()
    second.check()
    again = taken(timeless, "b", EXPIRY_S + 101)  # after a restart in the same stage
    again.check()
    with pytest.raises(CorpusError, match=r"took the lease, as .* not renew it for \d+ s"):
        second.check()
    again.release()
    taken(timeless, "c", EXPIRY_S + 102).check()


def test_of_two_that_take_a_free_lease_at_once_one_is_let_in(
    timeless: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one comes between the look and the taking."""
    write_over = Remote.write_over
    rival: list[Lease] = []

    def slow(self: Remote, key: str, data: bytes, found: None) -> Stored | None:
        monkeypatch.setattr(Remote, "write_over", write_over)
        rival.append(taken(timeless, "b"))
        return self.write_over(key, data, found)

    monkeypatch.setattr(Remote, "write_over", slow)
    with pytest.raises(CorpusError, match="is building this corpus"):
        taken(timeless, "a", 1)
    rival[0].check()


HOLD = """
import sys
from pathlib import Path
from pipelines.store.lease import sole_writer
with sole_writer(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_a_killed_holder_keeps_nothing(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(CorpusError, match="another process is building"), sole_writer(tmp_path):
        pass
    holder.kill()
    holder.wait()
    with sole_writer(tmp_path):
        pass


def test_who_waits_comes_in_turn(tmp_path: Path) -> None:
    events: list[str] = []

    def second() -> None:
        with wait_for_turn(tmp_path):
            events.append("second")

    thread = threading.Thread(target=second)
    with wait_for_turn(tmp_path):
        thread.start()
        thread.join(timeout=0.3)
        events.append("first")
    thread.join(timeout=PATIENCE_S)
    assert events == ["first", "second"]
