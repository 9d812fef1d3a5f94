"""The fsspec file systems behind URLs, opened once a process and set of credentials."""

from __future__ import annotations

import inspect
import os
from functools import lru_cache
from typing import Any, Final

from synth.storage.faults import StorageError

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


def require_stamp(filesystem: Any, stamp: str) -> Any:
    """The same S3 file system, whose `put_file` replaces an object of this ETag alone."""
    from fsspec.asyn import sync_wrapper  # type: ignore[import-untyped]

    guarded = object.__new__(type(filesystem))
    guarded.__dict__.update(filesystem.__dict__)
    # Sent with every request that knows it: those that put an object, or end a put in parts.
    guarded.s3_additional_kwargs = {**filesystem.s3_additional_kwargs, "IfMatch": f'"{stamp}"'}
    guarded.put_file = sync_wrapper(guarded._put_file, obj=guarded)
    return guarded


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
        options |= _s3_options(environment)
    elif scheme in LOCAL:
        from synth.storage.whole import WholeFileSystem

        kind = WholeFileSystem
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
    return filesystem


def _list_needed(kind: Any) -> list[str]:
    """The arguments without which a file system cannot be opened; one made in part may complain."""
    _, *parameters = inspect.signature(kind.__init__).parameters.values()
    several = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind not in several
    ]


def _s3_options(environment: tuple[str, ...]) -> dict[str, Any]:
    given = dict(zip(_DECISIVE, environment, strict=True))
    if given["AWS_MAX_ATTEMPTS"] or given["AWS_RETRY_MODE"]:
        return {}
    return {"config_kwargs": {"retries": {"mode": "standard", "total_max_attempts": 5}}}
