"""Leases and locks: one writer at a time, none for the dead, and who was paused holds nothing."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import pipelines.store.lease
from pipelines.store.lease import EXPIRY_S, Lease, sole_writer, take_lease, utc_now
from pipelines.store.stage import StagedStore
from synth.base.errors import CorpusError
from synth.base.locks import LOCK_FILE, WAITING, wait_for_lock
from synth.storage import Copies, Remote, Stored
from tests.kit.observers import Phases
from tests.kit.s3_store import S3Refusal, S3Request, S3Store, running_store
from tests.kit.waiting import PATIENCE_S

FOLDER = "data_manifests/tiny/.lease"


@pytest.fixture
def folder(tmp_path: Path) -> Remote:
    return Remote(f"file://{tmp_path}")


def take_at(remote: Remote, holder: str, now: datetime) -> Lease:
    """Take the lease, by a clock that shows this time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipelines.store.lease, "utc_now", lambda: now)
        return take_lease(remote, FOLDER, holder)


@pytest.mark.parametrize("days", [1, -1])
def test_the_stores_clock_alone_counts(folder: Remote, tmp_path: Path, days: int) -> None:
    holder = take_at(folder, "of another time", utc_now() + timedelta(days=days))
    with pytest.raises(CorpusError, match="is building this corpus"):
        take_lease(folder, FOLDER, "ours")
    assert [key.rpartition("/")[2] for key in folder.list(FOLDER)] == ["000001.json"]
    written = (tmp_path / holder.key).stat().st_mtime
    os.utime(tmp_path / holder.key, (written - EXPIRY_S - 1,) * 2)
    assert take_lease(folder, FOLDER, "ours").number == holder.number + 1


@pytest.mark.parametrize("kind", ["folder", pytest.param("remote", marks=pytest.mark.slow)])
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
        monkeypatch.setattr(pipelines.store.lease, "utc_now", utc_now)
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


def test_one_of_two_is_let_in(timeless: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(CorpusError, match="another process is building"), sole_writer(tmp_path):
        pass
    holder.kill()
    holder.wait()
    with sole_writer(tmp_path):
        pass


def test_who_waits_comes_in_turn_and_is_told(tmp_path: Path) -> None:
    events: list[str] = []
    phases = Phases()

    def second() -> None:
        with wait_for_lock(tmp_path / LOCK_FILE, phases):
            events.append("second")

    thread = threading.Thread(target=second)
    with wait_for_lock(tmp_path / LOCK_FILE, Phases()):
        thread.start()
        thread.join(timeout=0.3)
        events.append("first")
    thread.join(timeout=PATIENCE_S)
    assert events == ["first", "second"]
    assert phases.ended == [WAITING]


# Who is paused while he writes, and loses his lease meanwhile, harms nothing of his heir. Each of
# his requests is held up at the door of a real S3 server until another has taken over.


LEASES = "data_manifests/c/.lease"
TAR, MEASURED, RECEIPT = "shards/a.tar", "receipts/a.tar.parquet", "receipts/a.tar.json"
SMALL, IN_PARTS = 100, 17 * 2**20


@pytest.fixture(scope="module")
def server() -> Iterator[S3Store]:
    with running_store() as store:
        yield store


@pytest.fixture
def remote(server: S3Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Remote]:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    yield Remote(f"s3://{server.bucket()}/segue")
    server.door.fault = None


@dataclass(frozen=True)
class SecondMachine:
    """One that renders the shard: as long as any other, and of other bytes."""

    name: str
    stage: Path
    remote: Remote
    size: int

    def take(self) -> StagedStore:
        copies = Copies.open(self.stage, self.remote)
        return StagedStore(self.stage, copies, take_lease(self.remote, LEASES, self.name))

    def certify(self, store: StagedStore) -> None:
        data = self.name.encode()[:1] * self.size
        files = {
            TAR: data,
            MEASURED: self.name.encode(),
            RECEIPT: json.dumps({"sha256": hashlib.sha256(data).hexdigest()}).encode(),
        }
        for key, content in files.items():
            store.copies.path(key).parent.mkdir(parents=True, exist_ok=True)
            store.copies.path(key).write_bytes(content)
        store.certify(*map(store.copies.path, files))


def certified(remote: Remote) -> str:
    """Whose shard it is, by its receipt; "nobody" where there is none. A lie is no answer."""
    told = json.loads(remote.read(RECEIPT) or b"{}").get("sha256")
    data = remote.read(TAR) or b""
    if told is None:
        return "nobody"
    assert hashlib.sha256(data).hexdigest() == told, "the receipt is of another shard"
    return data[:1].decode()


def is_last_put(request: S3Request, key: str) -> bool:
    """Whether a request is the one that lets an object appear."""
    path, _, query = request.path.partition("?")
    if not path.endswith(key):
        return False
    if request.method == "POST":
        return "uploadId" in query
    return request.method == "PUT" and "uploadId" not in query


@pytest.mark.parametrize(
    ("key", "left", "size", "dies"),
    [
        (TAR, False, SMALL, False),
        (MEASURED, False, SMALL, False),
        (RECEIPT, False, SMALL, False),
        (RECEIPT, False, SMALL, True),
        (RECEIPT, True, SMALL, True),
        (TAR, False, IN_PARTS, True),
        (TAR, True, IN_PARTS, False),
    ],
    ids=[
        *("shard", "measurements", "receipt", "receipt, and the heir dies"),
        *("receipt of what lay there, and the heir dies", "parts, and the heir dies"),
        "parts over what lay there",
    ],
)
def test_a_paused_holder_replaces_nothing_and_certifies_nothing(
    server: S3Store, remote: Remote, tmp_path: Path, size: int, key: str, left: bool, dies: bool
) -> None:
    paused, heir = (
        SecondMachine(name, tmp_path / name, remote, size) for name in ("paused", "heir")
    )
    if left:
        remote.write(TAR, b"x" * size)
    ours = paused.take()
    lease = ours.lease.key

    def die(request: S3Request) -> S3Refusal | None:
        """The heir has no time for its receipt."""
        last = is_last_put(request, RECEIPT) and remote.read(MEASURED) == b"heir"
        return S3Refusal(403, "AccessDenied") if dies and last else None

    def hold_up(request: S3Request) -> S3Refusal | None:
        if is_last_put(request, key):
            server.door.fault = die
            remote.remove(lease)  # it has expired
            theirs = heir.take()
            try:
                heir.certify(theirs)
            except Exception:
                assert dies
            server.door.fault = None
        return None

    server.door.fault = hold_up
    with pytest.raises(CorpusError, match="took the lease"):
        paused.certify(ours)
    assert certified(remote) == ("nobody" if dies else "h")
    heir.certify(heir.take())
    assert certified(remote) == "h"
