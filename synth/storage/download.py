"""Downloads that go on where they were broken off, and count only when they are what they must be.

What has come of an object lies beside the stamps of the copies until it is whole; then it is
compared with the hash that was certified for it, and renamed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from synth.base.atomic import translate_disk_errors
from synth.base.hashing import file_sha256
from synth.storage.faults import StorageError
from synth.storage.remote import Remote
from synth.storage.room import CopySpace, Slot
from synth.storage.url import Stored

BLOCK_BYTES: Final = 16 * 2**20
_TRIES: Final = 2


def download(
    remote: Remote,
    slot: Slot,
    stored: Stored,
    sha256: str | None,
    room: CopySpace | None,
    since_ns: int | None = None,
) -> None:
    """Bring an object to its slot, which the caller holds."""
    for attempt in range(1, _TRIES + 1):
        begun = slot.read_promise()
        if begun != (stored.size, stored.stamp) or not stored.stamp:
            slot.give_up()
        if room is not None:
            room.reserve(slot, stored.size, stored.stamp, since_ns)
        else:
            slot.promise(stored.size, stored.stamp)
        part = slot.beside("part")
        _append(remote, slot.key, stored.size, part)
        if _is_whole(remote, slot.key, stored, sha256, part):
            break
        slot.give_up()
        if attempt == _TRIES:
            raise StorageError(
                f"{remote.address(slot.key)}: differs from its receipt"
                if sha256
                else f"{remote.address(slot.key)}: is being written",
                fix="wait for its build to end; if there is none, delete it there and "
                "build it again",
            )
    with translate_disk_errors(slot.path):
        slot.path.parent.mkdir(parents=True, exist_ok=True)
        part.replace(slot.path)
    slot.give_up()


def _append(remote: Remote, key: str, size: int, part: Path) -> None:
    with translate_disk_errors(part), part.open("ab") as file:
        while (start := file.tell()) < size:
            data = remote.read(key, start, min(start + BLOCK_BYTES, size))
            if not data:
                raise StorageError(
                    f"{remote.address(key)}: ends after {start} of {size} bytes",
                    fix="wait for its writer to end, then run the same command again",
                )
            file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _is_whole(remote: Remote, key: str, stored: Stored, sha256: str | None, part: Path) -> bool:
    """Whether what came is one object: the certified one, or one that is still there."""
    if sha256 is not None:
        return file_sha256(part) == sha256
    return stored.size <= BLOCK_BYTES or remote.find(key) == stored
