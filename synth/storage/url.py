"""URLs where paths are taken: `s3://bucket/prefix`, `gs://...`, `memory://...`, `file://...`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from synth.storage.faults import StorageError

# Two letters at least: `C:/` is a drive.
_URL: Final = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+):/(?P<slashes>/*)(?P<rest>.*)", re.DOTALL)


def is_url(place: Path | str) -> bool:
    """Whether a place is a URL rather than a path of this machine."""
    return _URL.fullmatch(str(place)) is not None


def url_of(place: Path | str) -> str | None:
    """The URL that a place is, without a slash at the end; None where it is a path.

    A `Path` made of `s3://bucket/prefix` holds `s3:/bucket/prefix`, which is understood too, so
    that commands, settings and functions take paths and URLs alike.
    """
    url = _URL.fullmatch(str(place))
    if url is None:
        return None
    scheme, rest = url["scheme"], url["rest"].rstrip("/")
    if "@" in rest.split("/", 1)[0]:
        raise StorageError(
            f"a URL of {scheme} contains a user name or password",
            fix="remove it; credentials come from the environment, such as "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        )
    root = "/" if scheme in ("file", "local") else ""
    return f"{scheme}://{root}{rest}"


def split_url(url: str) -> tuple[str, str]:
    """The store (`s3://bucket`), and the key in it, of what `url_of` gave."""
    scheme, _, rest = url.partition("://")
    bucket, _, key = rest.partition("/")
    return f"{scheme}://{bucket}" if bucket else f"{scheme}:///", key


def join_keys(*parts: str) -> str:
    """Keys joined by single slashes; empty ones vanish."""
    return "/".join(part.strip("/") for part in parts if part.strip("/"))


# `latest`: a file whose text names the folder beside it that is meant.


VERSION_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
"""What a version can be called: never a path."""


def parse_pointer(data: bytes) -> str | None:
    """The folder that a pointer's bytes name; None where they are no plain name."""
    name = data.decode("utf-8", "replace").strip()
    return name if VERSION_NAME.fullmatch(name) else None


# What stores say of their objects, each in words of its own.


_STAMPS: Final = ("ETag", "etag", "md5Hash", "md5", "mtime", "created", "LastModified")
_TIMES: Final = ("LastModified", "mtime", "updated", "last_modified", "created")


@dataclass(frozen=True, slots=True)
class Stored:
    """What a store says of an object.

    Args:
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
