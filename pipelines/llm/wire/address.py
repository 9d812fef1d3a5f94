"""Addresses of endpoints: which are the same, and what of them may be shown."""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, urlsplit

from pipelines.llm.wire.errors import hide_keys

_PORTS: Final = {"http": 80, "https": 443}


def identify_endpoint(url: str) -> str:
    """An endpoint's identity: its address, however it is spelled, without what may hold a key.

    Scheme and host in lower case, no port where it is the usual one, no slash at the end; no user,
    password, query or fragment; nothing in the path that looks like a key.
    """
    parts = _split(url)
    if parts is None:
        return ""
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, _PORTS.get(parts.scheme)) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}{hide_keys(parts.path.rstrip('/'))}"


def _split(url: str) -> SplitResult | None:
    """The parts of what is shaped like an address; None of anything else."""
    try:
        parts = urlsplit(url.strip())
        shaped = bool(parts.scheme and parts.hostname) and "://" in url
        return parts if shaped and (parts.port is None or parts.port) else None
    except ValueError:  # A port, or brackets, that are none.
        return None
