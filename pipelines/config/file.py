"""Read a spec from YAML, with errors that name file, line, column and key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from pipelines.config.spec import Spec
from synth.base.errors import PlanError, SpecError
from synth.base.yaml_file import YamlFile, explain_errors, read_yaml, suggest_file
from synth.sources import HELD, source_names

_LISTS: Final = ("enrich", "block")
_PATHS: Final = {"source": "root", "recipe": "expressions"}
_SETTING: Final = re.compile(r"\b(?:recipe|audio|truth)(?:\.\w+)+")


def read_spec(path: Path) -> Spec:
    """Read and check a spec; relative paths in it are taken from its folder."""
    if path.is_dir():
        raise SpecError(
            f"{path}: expected a spec, got a folder",
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
    """A spec from YAML, whose relative paths are taken from a folder."""
    if not isinstance(file.value, dict):
        raise SpecError(
            f"{file.place()}: expected keys and values",
            fix="start with `corpus: NAME`, or with the output of `segue new RECIPE`",
        )
    try:
        spec = Spec.model_validate(_resolve_paths(file, folder))
        spec.make_recipe().check(spec.setting, tuple(spec.splits))
    except ValidationError as error:
        raise explain_errors(
            error, file, Spec, "`segue new RECIPE` explains every setting"
        ) from error
    except PlanError as error:
        named = _SETTING.search(error.message)
        keys = named[0].split(".") if named else ["recipe"]
        raise PlanError(f"{file.place(keys)}: {error.message}", fix=error.fix) from error
    return spec


def _resolve_paths(file: YamlFile, folder: Path) -> dict[str, Any]:
    absolute = dict(file.value)
    for key in _LISTS:
        if isinstance(absolute.get(key), list):
            absolute[key] = [
                str(file.resolve(folder, path, (key, index))) if isinstance(path, str) else path
                for index, path in enumerate(absolute[key])
            ]

    def resolve_choice(choice: Any, key: str, keys: tuple[str | int, ...]) -> Any:
        """A choice with the paths at `key` made absolute, and so those of one that it holds."""
        if not isinstance(choice, Mapping):
            return choice
        changed = dict(choice)
        for name, settings in choice.items():
            if isinstance(settings, Mapping):
                place = (*keys, name)
                changed[name] = dict(settings)
                if isinstance(path := settings.get(key), str | Path):
                    changed[name][key] = str(file.resolve(folder, path, (*place, key)))
                if HELD in settings:
                    changed[name][HELD] = resolve_choice(settings[HELD], key, (*place, HELD))
        return changed

    for part, key in _PATHS.items():
        if part in absolute:
            absolute[part] = resolve_choice(absolute[part], key, (part,))
    return absolute
