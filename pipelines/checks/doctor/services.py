"""The servers that are asked over the network: Prefect's, and a language model's."""

from __future__ import annotations

import asyncio
import os
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Final

from pipelines.checks.doctor.check import CheckState, DoctorCheck
from pipelines.checks.doctor.module_output import SilentModuleError, run_module
from pipelines.llm.wire.address import identify_endpoint, is_on_this_machine, show_address
from pipelines.llm.wire.endpoint import Endpoint, EndpointSettings
from pipelines.llm.wire.errors import NO_KEY, AttemptError, hide_keys
from synth.base.errors import SegueError

TIMEOUT_S: Final = 10.0
OPENAI: Final = "https://api.openai.com/v1"
KEY_VARIABLE: Final = "OPENAI_API_KEY"
SETTINGS: Final = "pipelines.flows.address"
_FLOWS: Final = "segue build --prefect, segue night"
_TEXTS: Final = "segue llm; without it rules write the captions"


def check_prefect() -> Iterator[DoctorCheck]:
    """Prefect's server: the configured one answers, or each run starts one of its own."""
    fix = "pip install -c constraints.txt prefect"
    if find_spec("prefect") is None:
        yield DoctorCheck.of("prefect", "", _FLOWS, "not installed", fix)
        return
    try:
        address = run_module(SETTINGS).strip()
    except SilentModuleError as error:
        yield DoctorCheck.of("prefect", "", _FLOWS, f"does not start: {error}", fix)
        return
    yield _check_prefect_server(address)


def _check_prefect_server(address: str) -> DoctorCheck:
    if not address:
        return DoctorCheck.of("prefect", "no server configured: each run starts its own", _FLOWS)
    if not identify_endpoint(address):
        fix = "set PREFECT_API_URL to an address such as http://127.0.0.1:4200/api, or unset it"
        fault = "PREFECT_API_URL is not an address"
        return DoctorCheck.of("prefect", "", _FLOWS, fault, fix, CheckState.WRONG)
    shown = show_address(address)
    try:
        with urllib.request.urlopen(f"{address.rstrip('/')}/health", timeout=TIMEOUT_S):
            return DoctorCheck.of("prefect", f"{shown} answers", _FLOWS)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        fix = "start that server, unset PREFECT_API_URL, or use --no-prefect"
        fault = f"{shown} does not answer: {hide_keys(str(reason))}"
        return DoctorCheck.of("prefect", "", _FLOWS, fault, fix, CheckState.WRONG)


def check_endpoint(endpoint: str | None) -> Iterator[DoctorCheck]:
    """A language model's endpoint: whether it lists its models.

    Args:
        endpoint: Its address; None for OpenAI's, if there is a key for it.
    """
    has_key = bool(os.environ.get(KEY_VARIABLE, "").strip())
    name = "llm endpoint"
    if endpoint is None and not has_key:
        fix = f"export {KEY_VARIABLE}=..., or use --endpoint http://localhost:11434/v1"
        yield DoctorCheck.of(
            name, "", _TEXTS, f"none: no --endpoint, and no key in {KEY_VARIABLE}", fix
        )
        return
    address = endpoint or OPENAI
    if find_spec("openai") is None:
        fix = "pip install -c constraints.txt openai"
        yield DoctorCheck.of(name, "", _TEXTS, "the package openai is not installed", fix)
        return
    key = KEY_VARIABLE if has_key and _is_private(address) else NO_KEY
    shown = show_address(address)
    told = f"with the key in {KEY_VARIABLE}" if key != NO_KEY else "without a key"
    try:
        count = asyncio.run(_count_models(address, key))
    except (SegueError, OSError, ValueError) as error:
        fault = f"{shown} {told}: {error}"
        fix = "start it, or fix the address or key"
        yield DoctorCheck.of(
            name, "", _TEXTS, fault, fix, CheckState.WRONG if endpoint else CheckState.MISSING
        )
        return
    yield DoctorCheck.of(name, f"{shown} {told}: {count} models", _TEXTS)


async def _count_models(address: str, key: str) -> int:
    """How many models an endpoint lists."""
    async with Endpoint(EndpointSettings(address, "", key, TIMEOUT_S)) as open_endpoint:
        try:
            models = open_endpoint.client.models.with_streaming_response
            listed = await open_endpoint.fetch(models.list())
        except AttemptError as fault:
            raise SegueError(f"{fault.kind}: {fault.message}") from None
    return len(listed["data"]) if isinstance(listed.get("data"), list) else 0


def _is_private(address: str) -> bool:
    """Whether nobody on the way can read a key."""
    return address.lower().startswith("https://") or is_on_this_machine(address)
