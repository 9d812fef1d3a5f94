"""Settings in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from synth.base.errors import SpecError
from synth.base.yaml_file import YamlFile, explain_errors, read_yaml
from train.config.run import TrainConfig

_MEND: Final = "docs/training.md shows every setting"


def parse_config(values: Any, where: str | YamlFile) -> TrainConfig:
    """Settings from parsed YAML or JSON.

    Args:
        where: The file that they are from, or what errors call it.
    """
    file = YamlFile(where, values) if isinstance(where, str) else where
    if not isinstance(values, dict):
        raise _no_settings(file)
    try:
        return TrainConfig.model_validate(values)
    except ValidationError as error:
        raise explain_errors(error, file, TrainConfig, _MEND) from error


def read_settings(path: Path) -> tuple[dict[str, Any], YamlFile]:
    """The settings in a YAML file, unchecked, and the file as `parse_config` takes it."""
    file = read_yaml(path)
    if not isinstance(file.value, dict):
        raise _no_settings(file)
    return file.value, file


def _no_settings(file: YamlFile) -> SpecError:
    return SpecError(f"{file.place()}: expected settings, one `name: value` per line", fix=_MEND)
