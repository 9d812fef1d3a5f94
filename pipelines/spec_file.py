"""Read a spec from YAML, with errors that name file, line and key."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

import yaml
from pydantic import BaseModel, ValidationError

from pipelines.ingestion.choice import Choice
from pipelines.spec import Spec
from synth.errors import SpecError

_LISTS: Final = ("enrich", "block")
_PATHS: Final = {"source": "root", "recipe": "expressions"}


def read_spec(path: Path) -> Spec:
    """Read and check a spec; relative paths in it are taken from its folder.

    Raises:
        SpecError: If it cannot be read or carried out; the error names the line and the key.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: not UTF-8: {error}", mend="give a YAML file") from error
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SpecError(f"{path}: not YAML: {error}") from error
    if not isinstance(value, dict) or node is None:
        raise SpecError(f"{path}: expected keys and values", mend="start with `corpus: NAME`")
    _refuse_repeated_keys(node, path)
    try:
        return Spec.model_validate(_with_absolute_paths(value, path.parent))
    except ValidationError as error:
        raise _explained(error, node, path) from error


def _with_absolute_paths(value: dict[str, Any], folder: Path) -> dict[str, Any]:
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
            absolute[part] = {
                name: _absolute(settings, key, folder) for name, settings in chosen.items()
            }
    return absolute


def _absolute(settings: Any, key: str, folder: Path) -> Any:
    if not isinstance(settings, Mapping) or not isinstance(settings.get(key), str | Path):
        return settings
    path = folder / Path(settings[key]).expanduser()
    return {**settings, key: str(path.resolve())}


def _refuse_repeated_keys(node: yaml.Node, path: Path) -> None:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, child in node.value:
            if key.value in seen:
                line = key.start_mark.line + 1
                raise SpecError(f"{path}: line {line}: {key.value!r} is given twice")
            seen.add(key.value)
            _refuse_repeated_keys(child, path)
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _refuse_repeated_keys(child, path)


def _explained(error: ValidationError, node: yaml.Node, path: Path) -> SpecError:
    lines = []
    mends = []
    problems = error.errors()
    lists = {_known_keys(node, each["loc"]) for each in problems if _wants_list(each)}
    for problem in problems:
        keys = [str(part) for part in problem["loc"]]
        if (known_keys := _known_keys(node, problem["loc"])) in lists:
            if not _wants_list(problem):
                continue  # another form that the same value might have had
            keys = list(known_keys)
            others = [
                each["ctx"]["expected"]
                for each in problems
                if each["type"] == "literal_error" and each["loc"][: len(keys)] == tuple(keys)
            ]
            message = " or ".join([f"expected a list, as in [{problem['input']}]", *others])
        else:
            message = _message(problem["type"], problem["msg"])
        lines.append(f"{path}: line {_line(node, keys)}: {'.'.join(keys) or 'spec'}: {message}")
        if problem["type"] == "extra_forbidden":
            known = _fields(Spec, keys[:-1])
            mends += [
                f"did you mean {name!r}?" for name in difflib.get_close_matches(keys[-1], known, 1)
            ] or [f"known keys are {', '.join(known)}"]
    return SpecError("\n".join(lines), mend="; ".join(dict.fromkeys(mends)))


def _wants_list(problem: Mapping[str, Any]) -> bool:
    """Whether a single value was given where a list goes."""
    is_list = problem["type"] in ("list_type", "tuple_type")
    return is_list and isinstance(problem["input"], str | int | float)


def _known_keys(node: yaml.Node, location: Sequence[str | int]) -> tuple[str, ...]:
    """The leading parts of a location that the file holds; forms that a value may have are none."""
    keys: list[str] = []
    for part in map(str, location):
        pairs = node.value if isinstance(node, yaml.MappingNode) else ()
        child = next((pair[1] for pair in pairs if pair[0].value == part), None)
        if child is None:
            break
        keys.append(part)
        node = child
    return tuple(keys)


def _message(kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return "there is no such key"
    return message.removeprefix("Value error, ")


def _line(node: yaml.Node, keys: list[str]) -> int:
    """The 1-based line of the deepest part of `keys` that the file holds."""
    line = node.start_mark.line + 1
    for name in keys:
        if not isinstance(node, yaml.MappingNode):
            break
        child = next((pair for pair in node.value if pair[0].value == name), None)
        if child is None:
            break
        line, node = child[0].start_mark.line + 1, child[1]
    return line


def _fields(model: type[BaseModel], keys: list[str]) -> list[str]:
    """The fields of the model that lies under `keys`."""
    for key in keys:
        if issubclass(model, Choice):
            model = model.settings_of(key)
            continue
        annotation = model.model_fields[key].annotation
        inner = [annotation, *get_args(annotation)]
        model = next(one for one in inner if isinstance(one, type) and issubclass(one, BaseModel))
    return list(model.model_fields)
