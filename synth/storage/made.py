"""Files made on this machine from others, once: they share the room of copies, and go like them."""

from __future__ import annotations

import errno
from collections.abc import Callable
from glob import escape
from io import BufferedReader
from pathlib import Path
from typing import Final

from synth.base.atomic import PARTIAL_SUFFIX, replacing
from synth.base.errors import SpecError
from synth.storage.copies import CACHE_VARIABLE, CORPORA, cache_folder
from synth.storage.room import CopySpace, limit_bytes, open_held
from synth.storage.slot import Slot

_MADE: Final = "made"
_REFUSED: Final = (errno.EACCES, errno.EPERM, errno.EROFS)


def open_made(name: str, make: Callable[[Path], None]) -> BufferedReader:
    """Open a file of the cache; where it is not there, one process makes it and others wait.

    Args:
        name: Of the file; tells all that it is made of, and is of a kind that the limit is on.
        make: Writes it to a path; tells by an error of its own what it cannot read.

    Returns:
        The file; it stays as long as it is open.
    """
    root = cache_folder() / CORPORA
    slot = Slot(root / _MADE, name)
    found = open_held(slot.path)
    if found is not None:
        return found
    try:
        with slot.hold():
            found = open_held(slot.path)
            if found is not None:
                return found
            # Of killed makers: who holds the slot is the only one.
            for left in slot.path.parent.glob(f".{escape(name)}.*{PARTIAL_SUFFIX}"):
                left.unlink()
            with replacing(slot.path) as partial:
                make(partial)
                size = partial.stat().st_size
                CopySpace(root, limit_bytes()).reserve(slot, size, "", written=size)
                # Held before it has its name, so that it cannot go at once.
                found = open_held(partial)
            slot.give_up()
    except OSError as error:
        if error.errno not in _REFUSED:
            raise
        raise SpecError(
            f"{root}: is not writable",
            fix=f"name a folder of your own in ${CACHE_VARIABLE}",
        ) from error
    assert found is not None
    return found
