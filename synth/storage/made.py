"""Files made on this machine from others, once: they share the room of copies, and go like them."""

from __future__ import annotations

from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import Final

from synth.base.atomic import replacing
from synth.base.errors import SpecError
from synth.storage.copies import CACHE_VARIABLE, CORPORA, cache_folder
from synth.storage.room import CopySpace, Slot, limit_bytes, open_held

_MADE: Final = "made"


def open_made(name: str, make: Callable[[Path], None]) -> BufferedReader:
    """Open a file of the cache; where it is not there, one process makes it and others wait.

    Args:
        name: Of the file; tells all that it is made of, and is of a kind that the limit is on.
        make: Writes it to a path.

    Returns:
        The file; it stays as long as it is open.

    Raises:
        NoRoomError: If there is no room for it.
        SpecError: If nothing can be written to the cache.
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
            with replacing(slot.path) as partial:
                make(partial)
                CopySpace(root, limit_bytes()).reserve(slot, partial.stat().st_size, "")
                # Held before it has its name, so that it cannot go at once.
                found = open_held(partial)
            slot.give_up()
    except PermissionError as error:
        raise SpecError(
            f"{root}: nothing can be written there",
            fix=f"name a folder of your own in ${CACHE_VARIABLE}",
        ) from error
    assert found is not None
    return found
