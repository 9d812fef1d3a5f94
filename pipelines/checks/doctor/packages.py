"""Python and the packages: whether they are there, and of the versions that are asked for."""

from __future__ import annotations

import asyncio
import os
import platform
import urllib.request
from collections.abc import Iterator, Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from pipelines.checks.doctor.check import CheckState, DoctorCheck
from pipelines.config.prefect_server import find_server
from pipelines.llm.wire.endpoint import (
    Endpoint,
    EndpointSettings,
    identify_endpoint,
    is_on_this_machine,
    show_address,
)
from pipelines.llm.wire.errors import NO_KEY, AttemptError, hide_keys
from synth.base.errors import SegueError

US: Final = "segue-audio"
CONSTRAINTS: Final = Path(__file__).resolve().parents[3] / "constraints.txt"
_TRAINING: Final = "segue train, eval, demo and the export of models"
NEEDED_FOR: Final[Mapping[str, str]] = {
    "torch": _TRAINING,
    "transformers": _TRAINING,
    "tokenizers": _TRAINING,
    "tensorboard": "segue train (its log)",
    "openai": "segue llm; without it rules write the captions",
    "prefect": "segue build --prefect, segue night",
}
"""What only some commands need; all else is needed by every one."""
EXTRAS: Final[Mapping[str, str]] = {
    "nlp": "segue text probe and negate; without it the embedded tagger is used",
    "hf": "datasets, for decoding the sounds of segue export --to hf",
    "lance": "segue export --to lance",
    "onnx": "segue export --to onnx",
    "browse": "segue browse",
    "s3": "--out s3://...",
    "distributed": "--engine dask://...",
    "localisation": "segue eval --task localisation",
    "lora": "segue train with adapters (LoRA)",
    "wandb": "segue train with a Weights & Biases log",
}
_SHOWN: Final = 4


def check_packages() -> Iterator[DoctorCheck]:
    """Python, what pyproject.toml asks for, its extras, and the versions tested together."""
    expected = metadata.metadata(US)["Requires-Python"] or ""
    version = platform.python_version()
    fits = SpecifierSet(expected).contains(version, prereleases=True)
    fault = "" if fits else f"{version}, but {expected} is required"
    fix = f"create an environment with Python {expected}"
    yield DoctorCheck.of("python", version, "every command", fault, fix, CheckState.WRONG)
    required = [need for need in _read_requirements() if not need.marker or need.marker.evaluate()]
    faults = {need.name: fault for need in required if (fault := _find_fault(need))}
    yield DoctorCheck.of(
        "packages",
        f"{len(required)} as pyproject.toml requires",
        "every command",
        f"{len(faults)} of {len(required)} do not match pyproject.toml" if faults else "",
        "see below, or install all with `make env`",
        CheckState.MISSING if set(faults) <= set(NEEDED_FOR) else CheckState.WRONG,
    )
    for name, fault in faults.items():
        yield DoctorCheck(
            name,
            CheckState.MISSING if name in NEEDED_FOR else CheckState.WRONG,
            fault,
            NEEDED_FOR.get(name, "every command"),
            f"pip install -c constraints.txt {name}",
        )
    for extra in metadata.metadata(US).get_all("Provides-Extra") or ():
        if extra in EXTRAS:
            yield _check_extra(extra, EXTRAS[extra])
    if CONSTRAINTS.is_file():
        yield _check_tested(CONSTRAINTS.read_text(encoding="utf-8"), required)


def _read_requirements() -> list[Requirement]:
    return [Requirement(line) for line in metadata.requires(US) or ()]


def find_version(name: str) -> str | None:
    """The version of an installed package; None if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _find_fault(required: Requirement) -> str:
    """What is wrong with a package; "" for nothing."""
    version = find_version(required.name)
    if version is None:
        return "not installed"
    fits = required.specifier.contains(version, prereleases=True)
    return "" if fits else f"{version}, but {required.specifier} is required"


def _check_extra(extra: str, needed_for: str) -> DoctorCheck:
    packages = [
        need
        for need in _read_requirements()
        if need.marker
        and need.marker.evaluate({"extra": extra})
        and not need.marker.evaluate({"extra": ""})
    ]
    faults = [f"{need.name}: {fault}" for need in packages if (fault := _find_fault(need))]
    versions = ", ".join(f"{need.name} {find_version(need.name)}" for need in packages)
    fix = f"pip install 'segue-audio[{extra}]'"
    return DoctorCheck.of(f"extra {extra}", versions, needed_for, "; ".join(faults), fix)


def _check_tested(constraints: str, required: list[Requirement]) -> DoctorCheck:
    """Whether the packages that we name ourselves are of the versions that were tested together."""
    tested = {
        canonicalize_name(name): version
        for line in constraints.splitlines()
        for name, mark, version in (line.partition("=="),)
        if mark
    }
    names = [canonicalize_name(need.name) for need in required]
    differences = [
        f"{name} {installed} (tested {tested[name]})"
        for name in names
        if (installed := find_version(name))
        and name in tested
        and installed.partition("+")[0] != tested[name]
    ]
    more = f" and {len(differences) - _SHOWN} more" if len(differences) > _SHOWN else ""
    return DoctorCheck.of(
        "tested versions",
        "as in constraints.txt",
        "the same output bytes as on other machines",
        ", ".join(differences[:_SHOWN]) + more,
        "pip install -c constraints.txt -e .",
    )


# The servers that are asked over the network: Prefect's, and a language model's.


ANSWER_TIMEOUT_S: Final = 10.0
OPENAI: Final = "https://api.openai.com/v1"
KEY_VARIABLE: Final = "OPENAI_API_KEY"
_FLOWS: Final = "segue build --prefect, segue night"
_TEXTS: Final = "segue llm; without it rules write the captions"


def check_prefect() -> Iterator[DoctorCheck]:
    """Prefect's server: the configured one answers, or each run starts one of its own."""
    if find_spec("prefect") is None:
        fix = "pip install -c constraints.txt prefect"
        yield DoctorCheck.of("prefect", "", _FLOWS, "not installed", fix)
        return
    try:
        yield _check_prefect_server(find_server())
    except SegueError as error:
        yield DoctorCheck("prefect", CheckState.WRONG, error.message, _FLOWS, error.fix)


def _check_prefect_server(address: str) -> DoctorCheck:
    fault = fix = ""
    result = "no server configured: each run starts its own"
    if address and not identify_endpoint(address):
        fault = "PREFECT_API_URL is not an address"
        fix = "set PREFECT_API_URL to an address such as http://127.0.0.1:4200/api, or unset it"
    elif address:
        name = show_address(address)
        result = f"{name} answers"
        try:
            urllib.request.urlopen(
                f"{address.rstrip('/')}/health", timeout=ANSWER_TIMEOUT_S
            ).close()
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            fault = f"{name} does not answer: {hide_keys(str(reason))}"
            fix = "start that server, unset PREFECT_API_URL, or use --no-prefect"
    return DoctorCheck.of("prefect", result, _FLOWS, fault, fix, CheckState.WRONG)


def check_endpoint(endpoint: str | None) -> Iterator[DoctorCheck]:
    """A language model's endpoint: whether it lists its models.

    Args:
        endpoint: Its address; None for OpenAI's, if there is a key for it.
    """
    has_key = bool(os.environ.get(KEY_VARIABLE, "").strip())
    result = fault = fix = ""
    state = CheckState.MISSING
    if endpoint is None and not has_key:
        fault = f"none: no --endpoint, and no key in {KEY_VARIABLE}"
        fix = f"export {KEY_VARIABLE}=..., or use --endpoint http://localhost:11434/v1"
    elif find_spec("openai") is None:
        fault, fix = "the package openai is not installed", "pip install -c constraints.txt openai"
    else:
        address = endpoint or OPENAI
        key = KEY_VARIABLE if has_key and _is_private(address) else NO_KEY
        means = f"with the key in {KEY_VARIABLE}" if key != NO_KEY else "without a key"
        name = f"{show_address(address)} {means}"
        try:
            result = f"{name}: {asyncio.run(_count_models(address, key))} models"
        except (SegueError, OSError, ValueError) as error:
            fault, fix = f"{name}: {error}", "start it, or fix the address or key"
            state = CheckState.WRONG if endpoint else CheckState.MISSING
    yield DoctorCheck.of("llm endpoint", result, _TEXTS, fault, fix, state)


async def _count_models(address: str, key: str) -> int:
    async with Endpoint(EndpointSettings(address, "", key, ANSWER_TIMEOUT_S)) as open_endpoint:
        try:
            models = open_endpoint.client.models.with_streaming_response
            listed = await open_endpoint.fetch(models.list())
        except AttemptError as fault:
            raise SegueError(f"{fault.kind}: {fault.message}") from None
    return len(listed["data"]) if isinstance(listed.get("data"), list) else 0


def _is_private(address: str) -> bool:
    """Whether nobody on the way can read a key."""
    return address.lower().startswith("https://") or is_on_this_machine(address)
