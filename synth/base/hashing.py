"""SHA-256 of files, as receipts certify it."""

from __future__ import annotations

import hashlib
from io import BufferedReader
from pathlib import Path


def file_sha256(path: Path) -> str:
    """Hex SHA-256 of a file."""
    with path.open("rb") as file:
        return sha256_of(file)


def sha256_of(file: BufferedReader) -> str:
    """Hex SHA-256 of what an open file still holds."""
    return hashlib.file_digest(file, "sha256").hexdigest()
