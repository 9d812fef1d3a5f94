"""Addresses of endpoints: which are the same, and what of them may be shown."""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, urlsplit

from pipelines.llm.wire.errors import hide_keys
from synth.base.errors import SpecError

_PORTS: Final = {"http": 80, "https": 443}
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_FIX: Final = "write an address such as http://localhost:11434/v1"


def identify_endpoint(url: str) -> str:
    """An endpoint's identity: its address, however it is spelled, without what may hold a key.

    Scheme and host in lower case, no port where it is the usual one, no slash at the end; no user,
    password, query or fragment; nothing in the path that looks like a key. Empty for what is no
    address.
    """
    parts = _split(url)
    return "" if parts is None else _join(parts, _PORTS.get(parts.scheme))


def show_address(url: str) -> str:
    """An address for messages, without what may hold a key; nothing of what is no address."""
    parts = _split(url)
    return "the address given" if parts is None else _join(parts)


def check_address(url: str) -> None:
    """See that requests can be sent to an address."""
    parts = _split(url)
    if parts is None:
        raise SpecError(
            "the endpoint's base_url is not an address (not shown: it may hold a key)",
            fix=_FIX,
        )
    if "@" in parts.netloc:
        raise SpecError(
            "the endpoint's base_url holds a user name or a password",
            fix="put the key into an environment variable and name it in key_variable",
        )
    if parts.scheme not in _PORTS:
        raise SpecError(
            f"the endpoint's base_url {show_address(url)} is not an http address", fix=_FIX
        )


def is_on_this_machine(url: str) -> bool:
    """Whether requests stay on this machine."""
    parts = _split(url)
    return parts is not None and parts.hostname in _LOOPBACK


def _join(parts: SplitResult, usual: int | None = None) -> str:
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, usual) else f":{parts.port}"
    return f"{parts.scheme}://{hide_keys(host)}{port}{hide_keys(parts.path.rstrip('/'))}"


def _split(url: str) -> SplitResult | None:
    """The parts of what is shaped like an address; None of anything else."""
    if not url.isprintable() or " " in url or "://" not in url:
        return None
    try:
        parts = urlsplit(url)
        return parts if parts.scheme and parts.hostname and parts.port != 0 else None
    except ValueError:  # A port, or brackets, that are none.
        return None
