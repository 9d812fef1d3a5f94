"""Who is paused while he writes, and loses his lease meanwhile, harms nothing of his heir.

Each of his requests is held up at the door of a real S3 server until another has taken over.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipelines.store.lease import take_lease
from pipelines.store.stage import StagedStore
from synth.base.errors import CorpusError
from synth.storage import Copies, Remote
from tests.kit.s3_store import S3Refusal, S3Request, S3Store, running_store

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
    assert ours.lease is not None
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
