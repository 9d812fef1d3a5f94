"""SHA-256 of files, and receipts: JSON that certifies files, and bears a hash of itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from stat import S_ISREG
from typing import Any, Final, Self

from synth.base.doors import parse_json
from synth.base.errors import CorpusError

_SEAL: Final = "seal"


def file_sha256(path: Path) -> str:
    """Hex SHA-256 of a file."""
    with path.open("rb") as file:
        return sha256_of(file)


def sha256_of(file: BufferedReader) -> str:
    """Hex SHA-256 of what an open file still holds."""
    return hashlib.file_digest(file, "sha256").hexdigest()


class UnsealedError(CorpusError):
    """A receipt of an earlier version, which bears no hash."""


@dataclass(frozen=True, slots=True)
class FileHash:
    """Size in bytes and SHA-256 of a file, as receipts hold them."""

    bytes: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> Self:
        """Those of a file now."""
        return cls(path.stat().st_size, file_sha256(path))

    @classmethod
    def of_text(cls, text: str) -> Self:
        """Those of a file that is still to be written."""
        data = text.encode()
        return cls(len(data), hashlib.sha256(data).hexdigest())

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Those that JSON tells.

        Raises:
            ValueError: If it tells something else.
        """
        match value:
            case {"bytes": int(size), "sha256": str(sha256)}:
                return cls(size, sha256)
        raise ValueError("expected bytes and sha256 of each file")

    def find_fault(self, path: Path, *, by_size: bool = False) -> str:
        """What is other with a file; "" where nothing is.

        Args:
            by_size: Look at its size alone, which costs nothing.
        """
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return "is missing"
        if not S_ISREG(status.st_mode):
            return "is not a regular file"
        if status.st_size != self.bytes:
            return f"has {status.st_size} bytes: its receipt says {self.bytes}"
        return "" if by_size or file_sha256(path) == self.sha256 else "differs from its receipt"


def seal(values: Mapping[str, Any]) -> str:
    """The text of a receipt."""
    return _encode({**values, _SEAL: hashlib.sha256(_encode(values).encode()).hexdigest()})


def unseal(text: bytes, where: str) -> dict[str, Any]:
    """What a receipt says."""
    values = parse_json(text, where)
    if isinstance(values, dict) and _SEAL not in values:
        raise UnsealedError(
            f"{where}: has no hashes, because an older Segue wrote it", fix="build again"
        )
    if not isinstance(values, dict) or seal(
        {name: value for name, value in values.items() if name != _SEAL}
    ) != _encode(values):
        raise CorpusError(f"{where}: is not a receipt, or was changed", fix="build again")
    return values


def _encode(values: Mapping[str, Any]) -> str:
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
