"""Settings in files."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError

from synth.errors import SpecError
from train.config.run import TrainConfig
from train.config.section import Section

_MEND: Final = "docs/training.md shows every setting"


def parse_config(values: Any, where: str) -> TrainConfig:
    """Settings from parsed YAML or JSON.

    Args:
        values: Mapping of setting to value.
        where: What errors call it: a file name.

    Raises:
        SpecError: If a setting is unknown, missing or wrong; all faults in one error.
    """
    if not isinstance(values, dict):
        raise SpecError(f"{where}: expected settings, one `name: value` a line")
    try:
        return TrainConfig.model_validate(values)
    except ValidationError as error:
        raise SpecError(f"{where}: {_explained(error)}", mend=_MEND) from error


def _explained(error: ValidationError) -> str:
    faults = error.errors()
    places = [fault["loc"] for fault in faults]
    # What holds a faulty part is told to be faulty too, which says nothing new.
    told = [
        fault
        for fault in faults
        if not any(fault["loc"] == place[: len(fault["loc"])] != place for place in places)
    ]
    return "; ".join(
        f"{'.'.join(map(str, fault['loc'])) or 'settings'}: {_in_words(dict(fault))}"
        for fault in told
    )


def _in_words(fault: dict[str, Any]) -> str:
    match fault["type"]:
        case "extra_forbidden":
            near = difflib.get_close_matches(str(fault["loc"][-1]), sorted(_names(Section)), 1)
            return "no such setting" + "".join(f", did you mean {name}?" for name in near)
        case "union_tag_invalid":
            context = fault["ctx"]
            return f"no such name as {context['tag']!r}, expected one of {context['expected_tags']}"
        case "tuple_type":
            return "expected a list"
        case "missing":
            return "is missing"
        case _:
            return str(fault["msg"]).removeprefix("Value error, ")


def _names(section: type[Section]) -> set[str]:
    """The settings of all sections."""
    names = set(section.model_fields)
    return names.union(*(_names(below) for below in section.__subclasses__()))


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a YAML file, unchecked.

    Raises:
        SpecError: If there is no such file, or it is not YAML.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SpecError(f"{path}: no such file", mend="give a YAML file of settings") from error
    except yaml.YAMLError as error:
        raise SpecError(f"{path}: not YAML: {error}") from error
    if not isinstance(values, dict):
        raise SpecError(f"{path}: expected settings, one `name: value` a line")
    return values
