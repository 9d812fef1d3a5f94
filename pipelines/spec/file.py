"""Read a spec from YAML, with errors that name file, line, column and key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from pipelines.spec.spec import Spec
from synth.base.errors import SpecError
from synth.base.yaml_faults import explain_errors
from synth.base.yaml_file import YamlFile, read_yaml, suggest_file
from synth.sources import source_names
from synth.sources.choice import HELD

_LISTS: Final = ("enrich", "block")
_PATHS: Final = {"source": "root", "recipe": "expressions"}


def read_spec(path: Path) -> Spec:
    """Read and check a spec; relative paths in it are taken from its folder.

    Raises:
        SpecError: If it cannot be read or carried out; each fault is told with its line and key.
    """
    if path.is_dir():
        raise SpecError(
            f"{path}: is a folder; expected a spec",
            fix=f"write one with `segue new triplets --source folder:{path}`",
        )
    try:
        return parse_spec(read_yaml(path), path.parent)
    except SpecError as error:
        if path.exists():
            raise
        raise SpecError(error.message, fix=_fix_of(path)) from error


def _fix_of(path: Path) -> str:
    """What to give in the place of a spec that is not there."""
    name, named, _ = str(path).partition(":")
    if named and name in source_names():
        return f"this is a library; write a spec with `segue new RECIPE --source {path}`"
    return suggest_file(path) or "`segue new RECIPE` writes a spec"


def parse_spec(file: YamlFile, folder: Path) -> Spec:
    """A spec from YAML.

    Args:
        file: The YAML.
        folder: That relative paths are taken from.

    Raises:
        SpecError: If it cannot be carried out.
    """
    if not isinstance(file.value, dict):
        raise SpecError(
            f"{file.place()}: expected keys and values",
            fix="start with `corpus: NAME`, or with the output of `segue new RECIPE`",
        )
    try:
        return Spec.model_validate(_resolve_paths(file.value, folder))
    except ValidationError as error:
        raise explain_errors(
            error, file, Spec, "`segue new RECIPE` explains every setting"
        ) from error


def _resolve_paths(value: dict[str, Any], folder: Path) -> dict[str, Any]:
    absolute = dict(value)
    for key in _LISTS:
        if isinstance(value.get(key), list):
            absolute[key] = [
                str((folder / Path(each).expanduser()).resolve()) if isinstance(each, str) else each
                for each in value[key]
            ]
    for part, key in _PATHS.items():
        chosen = value.get(part)
        if isinstance(chosen, Mapping):
            absolute[part] = _resolve_choice(chosen, key, folder)
    return absolute


def _resolve_choice(choice: Mapping[str, Any], key: str, folder: Path) -> dict[str, Any]:
    """A choice with the paths at `key` made absolute, and so those of a choice that it holds."""
    return {name: _resolve_settings(settings, key, folder) for name, settings in choice.items()}


def _resolve_settings(settings: Any, key: str, folder: Path) -> Any:
    if not isinstance(settings, Mapping):
        return settings
    absolute = dict(settings)
    if isinstance(settings.get(key), str | Path):
        absolute[key] = str((folder / Path(settings[key]).expanduser()).resolve())
    if isinstance(settings.get(HELD), Mapping):
        absolute[HELD] = _resolve_choice(settings[HELD], key, folder)
    return absolute
