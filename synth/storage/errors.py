"""The error of a store."""

from __future__ import annotations

from synth.base.errors import SegueError


class StorageError(SegueError):
    """A store that cannot be reached, read or written, or a URL that names none."""
