"""URLs where paths are taken: `s3://bucket/prefix`, `gs://...`, `memory://...`, `file://...`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from synth.base.errors import SpecError
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


def format_place(place: Path | str) -> str:
    """A place as the user knows it: a `Path` has lost a slash of a URL."""
    return url_of(place) or str(place)


def resolve_place(place: Path) -> str:
    """A place as it is called from any folder: the URL, or the whole path."""
    return url_of(place) or place.resolve().as_posix()


def may_be_folder(place: Path) -> bool:
    """Whether a place is a folder; a URL is taken for one, since that costs a request."""
    return is_url(place) or place.is_dir()


def refuse_url(place: Path, why: str, fix: str, option: str = "") -> None:
    """Check that a place, as an option names it, is a path of this machine."""
    if (url := url_of(place)) is not None:
        raise SpecError(f"{option} {url}: {why}".lstrip(), fix=fix)


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
