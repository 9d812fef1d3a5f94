"""Room for copies: how much shards and parts of banks may take here, and which of them go first.

Tables that a trainer makes of large manifests (`made`) count as copies.

All processes of a machine share the room, and none manages it. One lock guards it: what comes in,
what goes and what gets its name does so under the lock, so that who holds it can count. A file's
access time, set whenever it is opened, says when it was used last. An open file stays.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from shutil import disk_usage, rmtree
from typing import Final

from synth.base.atomic import PARTIAL_SUFFIX, format_bytes
from synth.base.errors import SpecError
from synth.base.locks import try_lock, wait_for_lock
from synth.base.progress import UNOBSERVED
from synth.base.rng import digest
from synth.storage.faults import StorageError
from synth.storage.remote import Stored

try:
    import fcntl
except ImportError:  # there, a file that is open cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

BOUNDED: Final = (".tar", ".pcm", ".arrow")
"""Kinds of files that the limit is on; manifests are small, and stay."""
STAMPS: Final = ".stamps"
LIMIT_VARIABLE: Final = "SEGUE_CACHE_LIMIT"
DEFAULT_LIMIT: Final = "64 GB"
NO_LIMIT: Final = "none"
SPARE_BYTES: Final = 10**9
"""Left free on the disk as long as copies can go."""
_UNITS: Final = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_AMOUNT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?b)", re.IGNORECASE)
_PARTS: Final = "parts"
_PART: Final = re.compile(rf"(?P<key>.+)\.{_PARTS}/(?P<size>\d+)-[0-9a-f]{{16}}", re.DOTALL)
_DEAD_S: Final = 86_400
_NEVER_NS: Final = 2**63


class NoRoomError(StorageError):
    """A copy that cannot be kept within the limit."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of one copy, and what is kept about it."""

    root: Path
    key: str

    @property
    def path(self) -> Path:
        """The copy itself."""
        return self.root / self.key

    def beside(self, suffix: str) -> Path:
        """A file that is kept about the copy: its stamp, its lock or a part of it."""
        return self.root / STAMPS / f"{self.key}.{suffix}"

    @property
    def is_bounded(self) -> bool:
        """Whether it is of a kind that the limit is on."""
        return self.path.suffix in BOUNDED

    @property
    def lock(self) -> Path:
        """Held by who changes the copy."""
        return self.beside("lock")

    def part(self, stored: Stored) -> Path:
        """Where what has come of an object lies; its name tells the size that it will have."""
        return self._parts / f"{stored.size}-{digest(stored.stamp)[:16]}"

    def remove_parts(self) -> None:
        """Remove what came of objects; only for the holder of the slot."""
        rmtree(self._parts, ignore_errors=True)

    @property
    def _parts(self) -> Path:
        return self.beside(_PARTS)

    def remove(self) -> bool:
        """Remove the copy, and parts of it, unless somebody uses it; tells whether it is gone."""
        with try_lock(self.lock) as mine:
            if not mine:
                return False
            self.remove_parts()
            try:
                with self.path.open("r+b") as file:
                    if fcntl is not None:
                        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                        self.path.unlink()
                self.path.unlink(missing_ok=True)
            except FileNotFoundError:
                pass
            except OSError:  # it is open, or not ours
                return False
            self.beside("stamp").unlink(missing_ok=True)
            return True


def limit_bytes() -> int | None:
    """What $SEGUE_CACHE_LIMIT allows, 64 GB by default; None for no limit."""
    text = os.environ.get(LIMIT_VARIABLE) or DEFAULT_LIMIT
    if text.strip().lower() == NO_LIMIT:
        return None
    amount = _AMOUNT.fullmatch(text.strip())
    if amount is None:
        raise SpecError(
            f"{LIMIT_VARIABLE}: {text!r} is not an amount of bytes",
            fix=f"give one with its unit, as in '{DEFAULT_LIMIT}', or '{NO_LIMIT}'",
        )
    return int(float(amount[1]) * _UNITS[amount[2].lower()])


@dataclass(frozen=True, slots=True)
class CopySpace:
    """The disk space of all copies below a folder, of so many bytes; None for all there is."""

    root: Path
    limit: int | None

    @contextmanager
    def lock(self, slot: Slot | None = None) -> Iterator[None]:
        """Let nobody else count, add, rename or remove what the limit is on, such as a slot."""
        if self.limit is None or not (slot is None or slot.is_bounded):
            yield
        else:
            with wait_for_lock(self.root / ".room.lock", UNOBSERVED):
                yield

    @contextmanager
    def admit(
        self, slot: Slot, size: int, since_ns: int | None = None, written: int = 0
    ) -> Iterator[None]:
        """Hold the lock with room for a copy, whose slot the caller holds.

        The least recently used copies go for it. In the block the caller creates what counts for
        the copy from then on: its part, or itself.

        Args:
            since_ns: What was used since then stays, too, in ns since 1970.
            written: Bytes of it that lie on the disk already, and need no more room there.
        """
        if not slot.is_bounded:
            yield
            return
        if self.limit is not None and size > self.limit:
            raise NoRoomError(
                f"{slot.path.name}: {format_bytes(size)} are more than the "
                f"{format_bytes(self.limit)} that copies of stores may take here",
                fix=f"raise {LIMIT_VARIABLE}",
            )
        with self.lock():
            if self.limit is None:
                self._total.unlink(missing_ok=True)  # whoever has a limit counts anew
            else:
                total = self._read_total()
                if total is None or total + size > self._compute_limit(total, written):
                    total = self._make_room(slot, size, since_ns, written)
                self._total.write_text(str(total + size), encoding="utf-8")
            yield

    def _make_room(self, own: Slot, size: int, since_ns: int | None, written: int) -> int:
        """Remove the least recently used copies until one of this size fits; what stays."""
        copies = sorted(self._list_copies(own), key=lambda copy: (copy[0], copy[2].key))
        total = sum(held for _, held, _ in copies)
        for used_ns, held, slot in copies:
            if total + size <= self._compute_limit(total, written):
                break
            if since_ns is not None and used_ns >= since_ns:
                break
            if slot.remove():
                total -= held
        allowed = self._compute_limit(total, written)
        if total + size > allowed:
            raise NoRoomError(
                f"{own.path.name}: {format_bytes(size)} do not fit next to the "
                f"{format_bytes(total)} of copies that are in use; "
                f"they may take {format_bytes(max(0, allowed))}",
                fix=f"raise {LIMIT_VARIABLE}, or free disk space",
            )
        return total

    @property
    def _total(self) -> Path:
        """Bytes counted last; never less than there are, but for what is put here by hand."""
        return self.root / ".room"

    def _read_total(self) -> int | None:
        try:
            return int(self._total.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _compute_limit(self, total: int, written: int) -> int:
        """The limit, or less where the disk is short."""
        assert self.limit is not None
        return min(self.limit, total + written + disk_usage(self.root).free - SPARE_BYTES)

    def _list_copies(self, own: Slot) -> Iterator[tuple[int, int, Slot]]:
        """Last use, size and slot of each copy, and of each that is coming but the caller's."""
        for stamps in (*self.root.glob(f"*/{STAMPS}"), *self.root.glob(f"*/*/{STAMPS}")):
            root = stamps.parent
            for path, status in _list_files(root):
                slot = Slot(root, path.relative_to(root).as_posix())
                if slot.is_bounded:
                    yield status.st_atime_ns, status.st_size, slot
            for path, status in _list_files(stamps):
                part = _PART.fullmatch(path.relative_to(stamps).as_posix())
                if part is None or (slot := Slot(root, part["key"])) == own:
                    continue
                with try_lock(slot.lock) as is_left:  # by a reader that died
                    if not is_left:
                        yield _NEVER_NS, int(part["size"]), slot
                    else:
                        yield status.st_mtime_ns, status.st_size, slot


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
    """A copy, opened: it stays until it is closed, and counts as used now; None where it is not."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    try:
        if fcntl is not None:
            with suppress(OSError):  # a disk without locks: there nothing goes, see `Slot.remove`
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
