"""What stores say of their objects, each in words of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

_STAMPS: Final = ("ETag", "etag", "md5Hash", "md5", "mtime", "created", "LastModified")
_TIMES: Final = ("LastModified", "mtime", "updated", "last_modified", "created")


@dataclass(frozen=True, slots=True)
class Stored:
    """What a store says of an object.

    Args:
        size: In bytes.
        stamp: Another one whenever the content is another: the ETag, or what the store has like it.
        time_ns: When it was written, in ns since 1970; 0 where the store does not say.
    """

    size: int
    stamp: str
    time_ns: int = field(default=0, compare=False)


def parse_entry(entry: dict[str, Any]) -> Stored:
    """What an entry of an fsspec listing says."""
    size = int(entry.get("size") or 0)
    stamp = next((_plain(entry[name]) for name in _STAMPS if entry.get(name)), "")
    time = next((_plain(entry[name]) for name in _TIMES if entry.get(name)), 0)
    return Stored(size, str(stamp).strip('"'), round(_seconds(time) * 10**9))


def _plain(value: Any) -> Any:
    return value.timestamp() if isinstance(value, datetime) else value


def _seconds(value: Any) -> float:
    """A time of a store in seconds since 1970: a number, or as ISO 8601."""
    try:
        return float(value)
    except ValueError:
        return datetime.fromisoformat(str(value)).timestamp()
