"""Python and the packages: whether they are there, and of the versions that are asked for."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from pipelines.checks.doctor.check import CheckState, DoctorCheck

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
    yield _check_python()
    required = [
        each for each in _read_requirements() if each.marker is None or each.marker.evaluate()
    ]
    faults = {each.name: fault for each in required if (fault := _find_fault(each))}
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


def _check_python() -> DoctorCheck:
    asked = metadata.metadata(US)["Requires-Python"] or ""
    version = platform.python_version()
    fits = SpecifierSet(asked).contains(version, prereleases=True)
    fault = "" if fits else f"{version}, but {asked} is required"
    fix = f"create an environment with Python {asked}"
    return DoctorCheck.of("python", version, "every command", fault, fix, CheckState.WRONG)


def _read_requirements() -> list[Requirement]:
    return [Requirement(each) for each in metadata.requires(US) or ()]


def find_version(name: str) -> str | None:
    """The version of an installed package; None if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _find_fault(required: Requirement) -> str:
    """What is wrong with a package; "" for nothing."""
    found = find_version(required.name)
    if found is None:
        return "not installed"
    if not required.specifier.contains(found, prereleases=True):
        return f"{found}, but {required.specifier} is required"
    return ""


def _check_extra(extra: str, needed_for: str) -> DoctorCheck:
    packages = [
        each
        for each in _read_requirements()
        if each.marker is not None
        and each.marker.evaluate({"extra": extra})
        and not each.marker.evaluate({"extra": ""})
    ]
    faults = [f"{each.name}: {fault}" for each in packages if (fault := _find_fault(each))]
    found = ", ".join(f"{each.name} {find_version(each.name)}" for each in packages)
    fix = f"pip install 'segue-audio[{extra}]'"
    return DoctorCheck.of(f"extra {extra}", found, needed_for, "; ".join(faults), fix)


def _check_tested(constraints: str, required: list[Requirement]) -> DoctorCheck:
    """Whether the packages that we name ourselves are of the versions that were tested together."""
    tested = {
        canonicalize_name(name): version
        for line in constraints.splitlines()
        for name, mark, version in (line.partition("=="),)
        if mark
    }
    names = [canonicalize_name(each.name) for each in required]
    others = [
        f"{name} {found} (tested {tested[name]})"
        for name in names
        if (found := find_version(name))
        and name in tested
        and found.partition("+")[0] != tested[name]
    ]
    more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
    return DoctorCheck.of(
        "tested versions",
        "as in constraints.txt",
        "the same output bytes as on other machines",
        ", ".join(others[:_SHOWN]) + more,
        "pip install -c constraints.txt -e .",
    )
