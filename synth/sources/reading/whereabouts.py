"""Where a folder that a library lacks may be: what to give in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from synth.base.names import nearest

SHOWN: Final = 3
"""Folders that are offered."""


def suggest_folder(path: Path, fix: str) -> str:
    """The fix for a folder that is not there.

    Args:
        path: The folder, or one that the library's own folder should hold.
        fix: What to say where nothing like it is found.

    Returns:
        That an archive has to be unpacked, a folder of nearly the same name, or the folder one
        level up or down that does hold one of this name.
    """
    lost = next((each for each in (*reversed(path.parents), path) if not each.is_dir()), path)
    if lost.is_file():
        return f"{lost} is a file: unpack it and give the folder" if lost != path else fix
    if lost == path:
        above = path.parent.parent / path.name
        below = sorted(path.parent.glob(f"*/{path.name}/"))
        if found := [above.parent] * above.is_dir() or [each.parent for each in below]:
            return f"did you mean {' or '.join(map(str, found[:SHOWN]))}?"
    near = nearest(lost.name, (each.name for each in lost.parent.glob("*/")))
    return f"did you mean {lost.parent / near}?" if near else fix
