"""What went wrong at a store: whether it may pass, and one clear line with its fix.

Libraries of stores are recognised by what their errors carry, so that none need be installed.
Messages name the store and the key, never a credential, nor what a store answered.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from synth.base.errors import SegueError

# The error of a store.


class StorageError(SegueError):
    """A store that cannot be reached, read or written, or a URL that names none."""


_PASSING_STATUS: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_PASSING_CODES: Final = frozenset(
    {
        *("InternalError", "OperationAborted", "RequestTimeout", "RequestTimeoutException"),
        *("ServiceUnavailable", "SlowDown", "Throttling", "ThrottlingException"),
        *("TooManyRequests", "RequestLimitExceeded", "IncompleteBody", "BadDigest"),
    }
)
_UNREACHED: Final = ("EndpointConnectionError", "ClientConnectorError", "ProxyConnectionError")
_UNREACHED_TYPES: Final = (ConnectionRefusedError,)
_CUT_OFF: Final = (
    *("HTTPClientError", "ConnectionError", "ClientError", "ClientConnectionError"),
    *("IncompleteReadError", "ResponseStreamingError", "ServerTimeoutError", "ProtocolError"),
)
_NO_CREDENTIALS: Final = frozenset(
    {
        *("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError"),
        *(
            "ProfileNotFound",
            "TokenRetrievalError",
            "SSOTokenLoadError",
            "UnauthorizedSSOTokenError",
        ),
        "DefaultCredentialsError",
    }
)
AGAIN: Final = "then run the same command again; finished work is kept"


def is_passing(error: BaseException) -> bool:
    """Whether the same request may succeed later: the store is busy, or was not reached."""
    status, code = _answer(error)
    if status is not None or code:
        return status in _PASSING_STATUS or code in _PASSING_CODES
    return is_unreached(error) or any(
        isinstance(cause, TimeoutError | ConnectionError | EOFError) or _is_cut_off(cause)
        for cause in _chain(error)
    )


def is_unreached(error: BaseException) -> bool:
    """Whether no store answered at all."""
    return any(
        isinstance(cause, _UNREACHED_TYPES) or _names(cause) & set(_UNREACHED)
        for cause in _chain(error)
    )


def is_taken(error: BaseException) -> bool:
    """Whether an object that was to be created is there already."""
    status, code = _answer(error)
    return isinstance(error, FileExistsError) or status == 412 or code == "PreconditionFailed"


def is_missing(error: BaseException) -> bool:
    """Whether there is no such object, in a store that is there."""
    return isinstance(error, FileNotFoundError) and _answer(error)[1] != "NoSuchBucket"


def to_storage_error(error: BaseException, url: str, action: str) -> StorageError:
    """The error as a user reads it, of what was to be "read" or "written"."""
    status, code = _answer(error)
    store = url.split("/", 3)[2] if url.count("/") > 1 else url
    if any(_names(cause) & _NO_CREDENTIALS for cause in _chain(error)):
        return StorageError(
            f"{url}: cannot be {action} without credentials",
            fix="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
        )
    if code == "NoSuchBucket" or (status == 404 and "written" in action):
        return StorageError(
            f"{url}: no bucket {store!r}{_endpoint()}",
            fix="create the bucket, or fix the URL; AWS_ENDPOINT_URL names the store's endpoint",
        )
    if isinstance(error, PermissionError) or status in (401, 403):
        return StorageError(
            f"{url}: cannot be {action}: access denied{f' ({code})' if code.isalpha() else ''}",
            fix="allow the environment's credentials to list, read, write and delete below "
            "the URL; reading needs only list and read",
        )
    if is_unreached(error):
        return StorageError(
            f"{url}: cannot be {action}: the store cannot be reached{_endpoint()}",
            fix=f"check the network and AWS_ENDPOINT_URL, {AGAIN}",
        )
    if isinstance(error, FileNotFoundError):
        return StorageError(f"{url}: no such file", fix="fix the URL")
    reason = code if code.isalpha() else "" if status else type(error).__name__
    shown = ", ".join(part for part in (reason, f"status {status}" if status else "") if part)
    fix = f"wait until the store recovers, {AGAIN}" if is_passing(error) else AGAIN
    return StorageError(f"{url}: cannot be {action}: {shown}", fix=fix.removeprefix("then "))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, and what it came of."""
    cause: BaseException | None = error
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _names(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


def _is_cut_off(error: BaseException) -> bool:
    library = type(error).__module__.split(".")[0]
    known = library in ("aiohttp", "aiobotocore", "botocore", "urllib3", "requests")
    return known and bool(_names(error) & set(_CUT_OFF))


def _answer(error: BaseException) -> tuple[int | None, str]:
    """Status and error code of the store's answer, where there was one."""
    for cause in _chain(error):
        response: Any = getattr(cause, "response", None)
        if isinstance(response, dict) and "Error" in response:
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            code = str(response["Error"].get("Code", ""))
            return status, code
        status = getattr(cause, "status", None) or getattr(cause, "code", None)
        if isinstance(status, int) and 400 <= status < 600:
            return status, ""
    return None, ""


def find_endpoint() -> str:
    """The address of the S3 store that is asked; "" for Amazon's own."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""


def _endpoint() -> str:
    """Which store was asked, without what may be secret in its address."""
    address = find_endpoint()
    if not address:
        return ""
    parts = urlsplit(address)
    port = f":{parts.port}" if parts.port else ""
    return f" at {parts.scheme}://{parts.hostname}{port}"
