"""`latest`: a file whose text names the folder beside it that is meant."""

from __future__ import annotations

import re
from typing import Final

VERSION_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
"""What a version can be called: never a path."""


def parse_pointer(data: bytes) -> str | None:
    """The folder that a pointer's bytes name; None where they are no plain name."""
    name = data.decode("utf-8", "replace").strip()
    return name if VERSION_NAME.fullmatch(name) else None
