"""Settings in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from synth.errors import SpecError
from train.config.run import TrainConfig


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
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'settings'}: {fault['msg']}"
            for fault in error.errors()
        )
        raise SpecError(f"{where}: {faults}") from error


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a YAML file, unchecked.

    Raises:
        SpecError: If there is no such file, or it is not YAML.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SpecError(f"{path}: no such file") from error
    except yaml.YAMLError as error:
        raise SpecError(f"{path}: not YAML: {error}") from error
    if not isinstance(values, dict):
        raise SpecError(f"{path}: expected settings, one `name: value` a line")
    return values
