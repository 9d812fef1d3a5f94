"""Room for copies: how much shards and parts of banks may take here, and which of them go first.

Tables that a trainer makes of large manifests (`made`) count as copies.

The room is shared by all processes of a machine, and nobody runs it. A file's access time, set
whenever it is opened, says when it was used last. Who has a file open holds a shared lock on it,
which the system takes back from the dead; a file goes only from under an exclusive one.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from shutil import disk_usage
from typing import Final

from filelock import FileLock, Timeout

from synth.base.atomic import PARTIAL_SUFFIX, format_bytes
from synth.base.doors import read_json
from synth.base.errors import SegueError, SpecError
from synth.storage.faults import StorageError

# The place of one copy: where it lies, who holds it for changing it, and what is coming to it.


BOUNDED: Final = (".tar", ".pcm", ".arrow")
"""Kinds of files that the limit is on; manifests are small, and stay."""
STAMPS: Final = ".stamps"


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of one copy."""

    root: Path
    key: str

    @property
    def path(self) -> Path:
        """The copy itself."""
        return self.root / self.key

    def beside(self, suffix: str) -> Path:
        """A file that is kept about the copy: its stamp, lock, part or promise."""
        return self.root / STAMPS / f"{self.key}.{suffix}"

    @property
    def is_bounded(self) -> bool:
        """Whether it is of a kind that the limit is on."""
        return self.path.suffix in BOUNDED

    @contextmanager
    def hold(self, *, wait: bool = True) -> Iterator[bool]:
        """Hold the copy for changing it; tells whether it is held, where nobody is waited for."""
        lock = self.beside("lock")
        lock.parent.mkdir(parents=True, exist_ok=True)
        own = FileLock(lock, thread_local=False)
        try:
            own.acquire(blocking=wait)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            own.release()

    def read_promise(self) -> tuple[int, str]:
        """Size and stamp of the object that is coming, or was when its reader died; 0 for none."""
        try:
            told = read_json(self.beside("coming"))
            return int(told["size"]), str(told["stamp"])
        except (OSError, SegueError, ValueError, KeyError, TypeError):
            return 0, ""

    def promise(self, size: int, stamp: str) -> None:
        """Say what is coming; for who holds the slot."""
        path = self.beside("coming")
        path.write_text(json.dumps({"size": size, "stamp": stamp}), encoding="utf-8")

    def give_up(self) -> None:
        """Remove what came of an object, and the promise; for who holds the slot."""
        self.beside("part").unlink(missing_ok=True)
        self.beside("coming").unlink(missing_ok=True)


try:
    import fcntl
except ImportError:  # there, a file that is open cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

LIMIT_VARIABLE: Final = "SEGUE_CACHE_LIMIT"
DEFAULT_LIMIT: Final = "64 GB"
NO_LIMIT: Final = "none"
SPARE_BYTES: Final = 10**9
"""Left free on the disk as long as copies can go."""
_UNITS: Final = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_AMOUNT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?b)", re.IGNORECASE)
_TOTAL: Final = ".room"
_DEAD_S: Final = 86_400


class NoRoomError(StorageError):
    """A copy that cannot be kept within the limit."""


def limit_bytes() -> int | None:
    """What $SEGUE_CACHE_LIMIT allows, 64 GB by default; None for no limit."""
    text = os.environ.get(LIMIT_VARIABLE) or DEFAULT_LIMIT
    if text.strip().lower() == NO_LIMIT:
        return None
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        raise SpecError(
            f"{LIMIT_VARIABLE}: {text!r} is not an amount of bytes",
            fix=f"give one with its unit, as in '{DEFAULT_LIMIT}', or '{NO_LIMIT}'",
        )
    return int(float(found[1]) * _UNITS[found[2].lower()])


@dataclass(frozen=True, slots=True)
class CopySpace:
    """The disk space of all copies below a folder.

    Args:
        limit: Bytes; None for as much as there is.
    """

    root: Path
    limit: int | None

    def reserve(
        self, slot: Slot, size: int, stamp: str, since_ns: int | None = None, written: int = 0
    ) -> None:
        """Have room for a copy, whose slot the caller holds; the least recently used go for it.

        Args:
            since_ns: What was used since then stays, too, in ns since 1970.
            written: Bytes of it that lie on the disk already, and need no more room there.
        """
        if self.limit is None:
            slot.promise(size, stamp)
            return
        if size > self.limit:
            raise NoRoomError(
                f"{slot.path.name}: {format_bytes(size)} are more than the "
                f"{format_bytes(self.limit)} that copies of stores may take here",
                fix=f"raise {LIMIT_VARIABLE}",
            )
        with FileLock(self.root / f"{_TOTAL}.lock", thread_local=False):
            total = self._total()
            if total is None or total + size > self._compute_limit(total, written):
                total = self._sweep(slot, size, since_ns, written)
            allowed = self._compute_limit(total, written)
            fits = total + size <= allowed
            if fits:
                slot.promise(size, stamp)
                total += size
            (self.root / _TOTAL).write_text(str(total), encoding="utf-8")
        if not fits:
            raise NoRoomError(
                f"{slot.path.name}: {format_bytes(size)} find no room beside the "
                f"{format_bytes(total)} of copies that are in use; "
                f"they may take {format_bytes(max(0, allowed))}",
                fix=f"raise {LIMIT_VARIABLE}, or free disk space",
            )

    def _compute_limit(self, total: int, written: int) -> int:
        """The limit, or less where the disk is short."""
        assert self.limit is not None
        return min(self.limit, total + written + disk_usage(self.root).free - SPARE_BYTES)

    def _total(self) -> int | None:
        """What was counted last: never less than there is, but for what is put here by hand."""
        try:
            return int((self.root / _TOTAL).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _sweep(self, own: Slot, size: int, since_ns: int | None, written: int) -> int:
        """Count what is here, and remove of it what must go. Returns the bytes that stay."""
        found = sorted(self._find_slots(own), key=lambda each: (each[0], each[2].key))
        total = sum(each[1] for each in found)
        for used_ns, there, slot in found:
            if total + size <= self._compute_limit(total, written):
                break
            if since_ns is not None and used_ns >= since_ns:
                break
            if _remove(slot):
                total -= there
        return total

    def _find_slots(self, own: Slot) -> Iterator[tuple[int, int, Slot]]:
        """Last use, size and slot of what is here or is coming; what comes was used in future."""
        for root in self._stores():
            # What is coming is looked for first: thus what arrives meanwhile is seen twice, not
            # never. A copy that is no older than the promise of it is what was promised.
            coming = dict(self._find_coming(root, own))
            for path, status in _list_files(root):
                slot = Slot(root, path.relative_to(root).as_posix())
                if slot.is_bounded:
                    promised_ns = coming[slot][0] if slot in coming else 2**63
                    if status.st_mtime_ns >= promised_ns:
                        del coming[slot]
                    yield status.st_atime_ns, status.st_size, slot
            for slot, (_, used_ns, size) in coming.items():
                yield used_ns, size, slot

    def _find_coming(self, root: Path, own: Slot) -> Iterator[tuple[Slot, tuple[int, int, int]]]:
        """Slots of a store to which something is coming: since when, its last use and its size."""
        stamps = root / STAMPS
        for path, status in _list_files(stamps):
            slot = Slot(root, path.relative_to(stamps).with_suffix("").as_posix())
            if path.suffix != ".coming" or slot == own:
                continue
            used_ns, size = 2**63, slot.read_promise()[0]
            with slot.hold(wait=False) as dead:
                if dead:
                    try:
                        part = slot.beside("part").stat()
                    except FileNotFoundError:
                        continue
                    used_ns, size = part.st_mtime_ns, part.st_size
            yield slot, (status.st_mtime_ns, used_ns, size)

    def _stores(self) -> list[Path]:
        """The folders of copies: they have stamps."""
        found = [*self.root.glob(f"*/{STAMPS}"), *self.root.glob(f"*/*/{STAMPS}")]
        return sorted(path.parent for path in found)


def _list_files(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The files below a folder, but for its hidden folders; parts of the dead go."""
    for parent, folders, names in os.walk(root):
        if Path(parent) == root:
            folders[:] = [name for name in folders if name[0] != "."]
        for name in names:
            path = Path(parent, name)
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            if path.suffix == PARTIAL_SUFFIX and time.time() - status.st_mtime > _DEAD_S:
                path.unlink(missing_ok=True)
            else:
                yield path, status


def open_held(path: Path) -> BufferedReader | None:
    """A copy, opened for reading: it stays here until it is closed, and counts as used now.

    Returns:
        The file; None where it is not here, or not any more.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    try:
        if fcntl is not None:
            with suppress(OSError):  # a disk without locks: there nothing goes, see `_remove`
                fcntl.flock(file.fileno(), fcntl.LOCK_SH)
        status = os.fstat(file.fileno())
        if not status.st_nlink:
            file.close()
            return None
        with suppress(OSError):  # a cache that belongs to somebody else
            os.utime(path, ns=(time.time_ns(), status.st_mtime_ns))
    except BaseException:
        file.close()
        raise
    return file


def _remove(slot: Slot) -> bool:
    """Remove a copy, or what came of it, unless somebody is at it."""
    with slot.hold(wait=False) as mine:
        if not mine:
            return False
        slot.give_up()
        try:
            with slot.path.open("r+b") as file:
                if fcntl is not None:
                    fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                    slot.path.unlink()
            slot.path.unlink(missing_ok=True)
        except FileNotFoundError:
            pass
        except OSError:  # it is open, or not ours
            return False
        slot.beside("stamp").unlink(missing_ok=True)
        return True
