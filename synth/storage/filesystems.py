"""The fsspec file systems behind URLs, opened once a process and set of credentials."""

from __future__ import annotations

import errno
import inspect
import os
import secrets
import shutil
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from synth.base.atomic import PARTIAL_SUFFIX, replacing, write_bytes
from synth.storage.faults import StorageError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

S3: Final = ("s3", "s3a")
LOCAL: Final = ("file", "local")
PRIVATE: Final = ("memory",)
"""Kinds of stores that live in one process, and end with it."""
_EXTRAS: Final = {"s3": "segue-audio[s3]", "s3a": "segue-audio[s3]", "gs": "gcsfs", "gcs": "gcsfs"}
_TAKEN: Final = (
    "use s3://, gs://, memory://, file:// or another store of fsspec that needs no settings"
)
_DECISIVE: Final = (
    *("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"),
    *("AWS_MAX_ATTEMPTS", "AWS_RETRY_MODE"),
)


def is_private(url: str) -> bool:
    """Whether a store is seen by the process alone that wrote it."""
    return url.partition("://")[0] in PRIVATE


def filesystem_of(store: str) -> Any:
    """The file system of a store, as `s3://bucket`."""
    return _open_filesystem(store, tuple(os.environ.get(name, "") for name in _DECISIVE))


@lru_cache(maxsize=8)
def _open_filesystem(store: str, environment: tuple[str, ...]) -> Any:
    """The fsspec file system of a store, opened once a process and set of credentials."""
    import fsspec  # type: ignore[import-untyped]

    scheme = store.partition("://")[0]
    options: dict[str, Any] = {"skip_instance_cache": True, "use_listings_cache": False}
    try:
        kind = fsspec.get_filesystem_class(scheme)
    except ImportError as error:
        package = _EXTRAS.get(scheme)
        raise StorageError(
            f"{store}: {scheme} needs a package that is not installed",
            fix=f"pip install '{package}'" if package else str(error),
        ) from error
    except ValueError as error:
        raise StorageError(
            f"{store}: unknown kind of store: {scheme!r}",
            fix=_TAKEN,
        ) from error
    if scheme in S3:
        given = dict(zip(_DECISIVE, environment, strict=True))
        if not (given["AWS_MAX_ATTEMPTS"] or given["AWS_RETRY_MODE"]):
            retries = {"mode": "standard", "total_max_attempts": 5}
            options["config_kwargs"] = {"retries": retries}
        kind = _make_conditional(kind)
    elif scheme in LOCAL:
        kind = _make_whole(kind)
    if needed := _list_needed(kind):
        raise StorageError(
            f"{store}: {scheme} needs more than a URL: {', '.join(needed)}", fix=_TAKEN
        )
    try:
        filesystem = kind(**options)
    except Exception as error:  # each kind has errors of its own
        raise StorageError(f"{store}: {scheme} cannot be opened by its URL", fix=_TAKEN) from error
    if scheme in S3:
        filesystem.retries = 1  # its client repeats requests; twice would multiply
        filesystem.loop.set_exception_handler(_pass_over_lost_connections)
    return filesystem


def _pass_over_lost_connections(loop: AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log no broken connection of a task that nobody waits for: its request tells of it, too."""
    if not isinstance(context.get("exception"), ConnectionError):
        loop.default_exception_handler(context)


def _list_needed(kind: Any) -> list[str]:
    """The arguments without which a file system cannot be opened; one made in part may complain."""
    _, *parameters = inspect.signature(kind.__init__).parameters.values()
    several = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind not in several
    ]


# Kinds of fsspec, mended. They are imported when they are needed, so their heirs are made then.


def _make_conditional(kind: Any) -> Any:
    """S3 whose `put_file` obeys `IfMatch` where a file goes in parts, too."""
    conditions: dict[str, dict[str, str]] = {}

    class ConditionalFileSystem(kind):  # type: ignore[misc]
        async def _call_s3(self, method: str, *defaults: Any, **values: Any) -> Any:
            if method == "complete_multipart_upload":
                values |= conditions.pop(values["UploadId"], {})
            answer = await super()._call_s3(method, *defaults, **values)
            if method == "create_multipart_upload" and "IfMatch" in values:
                conditions[answer["UploadId"]] = {"IfMatch": values["IfMatch"]}
            return answer

    return ConditionalFileSystem


def _make_whole(kind: Any) -> Any:
    """The file system of this machine; what a killed writer leaves is whole, or nothing."""

    class WholeFileSystem(kind):  # type: ignore[misc]
        def cp_file(self, path1: str, path2: str, **kwargs: Any) -> None:
            """Copy a file; `put_file` of fsspec does so by this, too."""
            with replacing(Path(path2)) as partial:
                shutil.copyfile(path1, partial)

        def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
            """Write a file; with the mode "create" one that is not there."""
            if mode == "create":
                _create(Path(path), value)
            else:
                write_bytes(Path(path), value)

    return WholeFileSystem


_NO_LINKS: Final = (errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""What file systems without links answer; there alone a file may appear before it is whole."""


def _create(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}{PARTIAL_SUFFIX}")
    try:
        partial.write_bytes(data)
        try:
            os.link(partial, path)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            with path.open("xb") as file:
                file.write(data)
    finally:
        partial.unlink(missing_ok=True)
