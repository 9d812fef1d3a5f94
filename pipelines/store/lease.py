"""One writer of a corpus at a store: a lease object, which a holder that dies cannot keep.

Every holding is an object of its own, `data_manifests/CORPUS/.lease/NNNNNN.json`, and the one with
the highest number counts. It is made by a conditional request, so that of two machines that take
the lease in the same moment one is let in. The holder writes it again while it lives, if it is
still what it wrote: who was paused meanwhile brings nothing back. How old that is the store's clock
says, and no machine's. Stores that know no conditional request let the last of the two in, and the
other one finds out before it certifies its next shard.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from synth.base.atomic import write_text
from synth.base.errors import CorpusError
from synth.base.locks import LOCK_FILE, hold_lock
from synth.storage import Remote, StorageError, refuse_url
from synth.storage.url import join_keys

BEAT_S: Final = 20.0
EXPIRY_S: Final = 120.0
LEASE_FOLDER: Final = ".lease"
HOLDER_FILE: Final = ".holder"
BUILDING: Final = "is building this corpus"
_TRIES: Final = 5


def utc_now() -> datetime:
    """The time of this machine: what people are told, and what counts where a store tells none."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease that was taken.

    Args:
        folder: Key of the folder of the corpus's leases.
        holder: Who holds it: a stage of a machine.
        token: Tells this holding from any other.
    """

    remote: Remote
    folder: str
    number: int
    holder: str
    token: str

    @property
    def key(self) -> str:
        """Key of its object."""
        return make_key(self.folder, self.number)

    def check(self) -> None:
        """Check that nobody else has taken it; before anything is certified."""
        numbers = _list_numbers(self.remote, self.folder)
        is_last = numbers[-1:] == [self.number]
        if not is_last or _read(self.remote, self.key).get("token") != self.token:
            raise self._make_lost_error()

    def beat(self) -> None:
        """Give a sign of life."""
        before = self.remote.find(self.key)  # first: it is to be still the same in the end
        self.check()
        if before is None or self.remote.write_over(self.key, self.encode(), before) is None:
            raise self._make_lost_error()

    def encode(self) -> bytes:
        """What the object says now."""
        facts = {
            "holder": self.holder,
            "token": self.token,
            "machine": socket.gethostname(),
            "process": os.getpid(),
            "alive": utc_now().isoformat(timespec="seconds"),
        }
        return (json.dumps(facts) + "\n").encode()

    def release(self) -> None:
        """Give it back."""
        self.remote.remove(self.key)

    def _make_lost_error(self) -> CorpusError:
        return CorpusError(
            f"{self.remote.address(self.folder)}: another machine took the lease, as this "
            f"one did not renew it for {EXPIRY_S:g} s",
            fix="wait for the other machine, then run the same command again",
        )


def take_lease(remote: Remote, folder: str, holder: str, doing: str = BUILDING) -> Lease:
    """Take the lease of a corpus.

    Args:
        holder: Takes a lease over from itself; whoever calls knows that its predecessor is dead.
        doing: What another holder is told to be doing.
    """
    for _ in range(_TRIES):
        numbers = refuse_living(remote, folder, holder, doing)
        number = numbers[-1] + 1 if numbers else 1
        lease = Lease(remote, folder, number, holder, secrets.token_hex(8))
        if remote.write_over(lease.key, lease.encode(), None) is not None:
            with suppress(CorpusError):  # a store without conditional requests let another in
                lease.check()
                for old in numbers:
                    remote.remove(make_key(folder, old))
                return lease
    raise CorpusError(
        f"{remote.address(folder)}: others keep taking the lease on this corpus",
        fix="build it on one machine at a time",
    )


@contextmanager
def hold_lease(remote: Remote, folder: str, holder: str, doing: str = BUILDING) -> Iterator[Lease]:
    """Hold the lease, and give signs of life."""
    lease = take_lease(remote, folder, holder, doing)
    ended = threading.Event()
    thread = threading.Thread(
        target=_keep_alive, args=(lease, ended), name="segue-lease", daemon=True
    )
    thread.start()
    reachable = True
    try:
        yield lease
    except StorageError:
        reachable = False  # nobody is made to wait for further attempts: it expires
        raise
    finally:
        ended.set()
        if reachable:
            thread.join()
            with suppress(StorageError, CorpusError):
                lease.check()
                lease.release()


def name_holder(stage: Path) -> str:
    """Who works in a stage: the same after every restart, another one for every other stage."""
    path = stage / HOLDER_FILE
    if not path.is_file():
        write_text(path, secrets.token_hex(8))
    return path.read_text(encoding="utf-8").strip()


def _keep_alive(lease: Lease, ended: threading.Event) -> None:
    """Sign until the end; who has lost the lease is told when he certifies, not here."""
    while not ended.wait(BEAT_S):
        with suppress(StorageError, CorpusError):
            lease.beat()


def refuse_living(remote: Remote, folder: str, holder: str, doing: str) -> list[int]:
    """Check that nobody else holds a lease and lives.

    Returns:
        The numbers of the leases of the dead, and of the holder's own.
    """
    numbers = _list_numbers(remote, folder)
    rival = _read(remote, make_key(folder, numbers[-1])) if numbers else {}
    if not rival or rival.get("holder") == holder:
        return numbers
    age = _measure_age(remote, make_key(folder, numbers[-1]))
    if age is None:
        try:
            age = (utc_now() - datetime.fromisoformat(str(rival["alive"]))).total_seconds()
        except (KeyError, ValueError, TypeError):
            return numbers
    if age < EXPIRY_S:
        raise CorpusError(
            f"{remote.address(folder.rpartition('/')[0])}: {rival.get('machine')} {doing}, process "
            f"{rival.get('process')}; its last sign of life is {age:.0f} s old",
            fix="wait for it, then run the same command again; if it is dead, its lease ends in "
            f"{EXPIRY_S - age:.0f} s",
        )
    return numbers


def _measure_age(remote: Remote, key: str) -> float | None:
    """Age of an object in seconds, by the store's clock; None where it tells no times."""
    probe = f"{key.rpartition('/')[0]}/clock-{secrets.token_hex(8)}"
    remote.write(probe, b"")
    written, now = remote.find(key), remote.find(probe)
    remote.remove(probe)
    if written is None:
        return EXPIRY_S  # it was given back
    if now is None or not written.time_ns or not now.time_ns:
        return None
    return (now.time_ns - written.time_ns) / 10**9


def _list_numbers(remote: Remote, folder: str) -> list[int]:
    names = (key.rpartition("/")[2].partition(".")[0] for key in remote.list(folder))
    return sorted(int(name) for name in names if name.isdigit())


def make_key(folder: str, number: int) -> str:
    """Key of a lease's object."""
    return join_keys(folder, f"{number:06d}.json")


def _read(remote: Remote, key: str) -> dict[str, Any]:
    try:
        holding = json.loads(remote.read(key) or b"")
    except ValueError:
        return {}
    return holding if isinstance(holding, dict) else {}


@contextmanager
def sole_writer(corpus: Path) -> Iterator[None]:
    """Hold the corpus for writing, on this machine.

    Args:
        corpus: The folder that holds its versions' manifests.
    """
    refuse_url(
        corpus,
        "this command works only on folders",
        fix="give a folder; segue build, plan and ingest write to URLs",
    )
    refusal = CorpusError(
        f"{corpus}: another process is building this corpus",
        fix="wait for it, then run the same command again; its work is kept",
    )
    with hold_lock(corpus / LOCK_FILE, refusal):
        yield
