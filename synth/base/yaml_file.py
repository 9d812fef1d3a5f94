"""YAML that people write: read safely, each key once, with its place in the file for errors."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

import yaml
from pydantic import BaseModel, RootModel, ValidationError

from synth.base.doors import read_text
from synth.base.errors import SpecError, shorten, suggestion

MOST_LETTERS: Final = 2**20
"""Of a file: reading one takes about a second for every 100,000."""
MOST_NODES: Final = 500_000
"""Values of a file, those that aliases repeat included."""
_MOST_DIGITS: Final = 300
_MERGE: Final = "tag:yaml.org,2002:merge"
_PLAIN: Final = ("null", "bool", "int", "float", "timestamp", "str", "seq", "map")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_MOST_BYTES_OF_NAME: Final = 255
_MOST_BYTES_OF_PATH: Final = 4095
_MEND: Final = (
    "check this line and the one above it: indent with spaces, keys of one level equally; close "
    "brackets and quotes; quote values that contain ': ' or ' #'"
)


class _Loader(yaml.SafeLoader):
    """Knows plain values alone; tells where one stands that its tag does not allow."""

    yaml_constructors = {  # noqa: RUF012
        tag: construct
        for tag, construct in yaml.SafeLoader.yaml_constructors.items()
        if tag is None or tag.rpartition(":")[2] in _PLAIN
    }

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            if node.tag.endswith(":int") and len(node.value) > _MOST_DIGITS:
                raise ValueError("a number of so many digits is not read")
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError) as error:
            kind = node.tag.rpartition(":")[2]
            reason = (
                error if isinstance(error, ValueError) else f"{shorten(node.value)} is no {kind}"
            )
            raise yaml.constructor.ConstructorError(
                None, None, str(reason), node.start_mark
            ) from error


@dataclass(frozen=True)
class YamlFile:
    """What a file holds, None for nothing, and how it is laid out, if it was read from a file."""

    where: str
    value: Any
    root: yaml.Node | None = None

    def place(self, keys: Sequence[str | int] = ()) -> str:
        """`FILE:LINE:COLUMN`, from 1, of the deepest part of `keys` that the file holds.

        The file alone, where it holds none of them.
        """
        mark = self._mark(keys)
        return self.where if mark is None else _place(self.where, mark)

    def order(self, keys: Sequence[str | int]) -> int:
        """Characters of the file before that place."""
        mark = self._mark(keys)
        return 0 if mark is None else mark.index

    def existing_keys(self, keys: Sequence[str | int]) -> tuple[str | int, ...]:
        """The parts of `keys` that the file holds; pydantic's names of a value's forms are none."""
        return tuple(key for key, _ in self._steps(keys)) if self.root else tuple(keys)

    def resolve(self, folder: Path, text: str | Path, keys: Sequence[str | int]) -> Path:
        """The path at `keys`, absolute; a relative one is taken from `folder`."""
        try:
            path = (folder / Path(text).expanduser()).resolve()
            if max(len(os.fsencode(part)) for part in path.parts) > _MOST_BYTES_OF_NAME:
                raise ValueError(f"a name in it is longer than {_MOST_BYTES_OF_NAME} bytes")
            if len(os.fsencode(path)) > _MOST_BYTES_OF_PATH:
                raise ValueError(f"it is longer than {_MOST_BYTES_OF_PATH} bytes")
        except (OSError, ValueError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or error
            name = ".".join(map(str, keys))
            raise SpecError(
                f"{self.place(keys)}: {name}: is not a path: {reason}", fix="give another path"
            ) from error
        return path

    def _mark(self, keys: Sequence[str | int]) -> yaml.Mark | None:
        if not keys and self.root is not None:
            return self.root.start_mark
        return next((mark for _, mark in reversed(list(self._steps(keys)))), None)

    def _steps(self, keys: Sequence[str | int]) -> Iterator[tuple[str | int, yaml.Mark]]:
        """Each key that is found, and its mark."""
        node = self.root
        for key in keys:
            if isinstance(node, yaml.MappingNode):
                pairs = (pair for pair in node.value if pair[0].value == str(key))
                if (pair := next(pairs, None)) is not None:
                    node = pair[1]
                    yield key, pair[0].start_mark
            elif isinstance(node, yaml.SequenceNode) and isinstance(key, int):
                if key >= len(node.value):  # an item that is missing
                    return
                node = node.value[key]
                yield key, node.start_mark


def read_yaml(path: Path) -> YamlFile:
    """The content of a YAML file; an error names the line and the column."""
    try:
        text = read_text(path, refuse=SpecError, fix="give a YAML file, saved as UTF-8")
    except OSError as error:
        raise SpecError(
            f"{path}: cannot be read: {error.strerror}", fix=suggest_file(path)
        ) from error
    return parse_yaml(text, str(path))


def suggest_file(path: Path) -> str:
    """What to give in the place of a YAML file that is not there; "" where no other is near."""
    here = [str(path.with_name(sibling.name)) for sibling in sorted(path.parent.glob("*.y*ml"))]
    return suggestion(str(path), here) if here else ""


def parse_yaml(text: str, where: str) -> YamlFile:
    """The content of YAML; its tags may name nothing but plain values."""
    if len(text) > MOST_LETTERS:
        raise SpecError(
            f"{where}: is larger than {MOST_LETTERS:,} letters", fix="give a smaller file"
        )
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is not None:
            _refuse_repeated_keys(root, where)
            if _count_nodes(root, {}) > MOST_NODES:
                raise yaml.YAMLError("its aliases hold themselves, or too many values")
        value = None if root is None else loader.construct_document(root)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        column = error.position - text.rfind("\n", 0, error.position)
        reason = f"the character {error.character:#x} is not allowed"
        raise SpecError(f"{where}:{line}:{column}: not YAML: {reason}", fix="remove it") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = where if mark is None else _place(where, mark)
        raise SpecError(f"{place}: not YAML: {_describe_problem(error)}", fix=_MEND) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise SpecError(f"{where}: not YAML: {reason}", fix=_MEND) from error
    file = YamlFile(where, value, root)
    faults = [
        f"{file.place(keys)}: {'.'.join(map(str, keys)) or 'the file'}: {fault}"
        for keys, fault in _find_faults(value, ())
    ]
    if faults:
        raise SpecError("\n".join(faults), fix="correct or remove the value")
    return file


def _find_faults(
    value: Any, keys: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The values that no setting can have, each with its keys."""
    match value:
        case dict():
            for key, child in value.items():
                yield from ((keys, fault) for _, fault in _find_faults(key, ()))
                yield from _find_faults(child, (*keys, key))
        case list():
            for index, child in enumerate(value):
                yield from _find_faults(child, (*keys, index))
        case float() if not math.isfinite(value):
            yield keys, f"expected a finite number, got {value}"
        case int() if abs(value) >= 2**64:
            yield keys, "the number is too large"
        case str() if character := _CONTROL.search(value):
            yield keys, f"the character {character[0]!a} is not allowed in a text"


def _describe_problem(error: yaml.MarkedYAMLError) -> str:
    """What is wrong, in one line; what began further above is told with its line."""
    begun = error.context_mark
    context = " ".join((error.context or "").split())
    if context and begun is not None and error.problem_mark is not None:
        context += f" that begins in line {begun.line + 1}"
    return ", ".join(filter(None, [" ".join((error.problem or "").split()), context]))


def _place(where: str, mark: yaml.Mark) -> str:
    return f"{where}:{mark.line + 1}:{mark.column + 1}"


def _count_nodes(node: yaml.Node, counts: dict[int, int]) -> int:
    """Values in a node, and what aliases stand for as often as they do; too many in a circle."""
    if id(node) not in counts:
        counts[id(node)] = MOST_NODES + 1
        children: list[yaml.Node] = []
        if isinstance(node, yaml.MappingNode):
            children = [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            children = node.value
        counts[id(node)] = 1 + sum(_count_nodes(child, counts) for child in children)
    return counts[id(node)]


def _refuse_repeated_keys(root: yaml.Node, where: str) -> None:
    """Check every mapping once; an alias may stand for one many times, or for itself."""
    faults, seen, left = [], set(), [root]
    while left:
        node = left.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            left += reversed(node.value)
        elif isinstance(node, yaml.MappingNode):
            left += [child for _, child in reversed(node.value)]
            faults += _find_repeated(node)
    if faults:
        faults.sort(key=lambda fault: fault[0].index)
        raise SpecError(
            "\n".join(
                f"{_place(where, mark)}: {name!r} is given twice, first in line {first}"
                for mark, name, first in faults
            ),
            fix="keep one of them",
        )


def _find_repeated(node: yaml.MappingNode) -> list[tuple[Any, str, int]]:
    """Mark and name of the keys that a mapping holds already, and the line of the first."""
    lines: dict[str, int] = {}
    keys = []
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
            continue
        if key.value in lines:
            keys.append((key.start_mark, str(key.value), lines[key.value]))
        lines.setdefault(key.value, key.start_mark.line + 1)
    return keys


# What pydantic finds wrong with a file's settings, told a line a fault, each with its place.


_QUOTED: Final = re.compile(r"'([^']*)'")
_KEY: Final = "[key]"
_CHOICES: Final = ("literal_error", "enum")
_SETTINGS: Final = ("dict_type", "model_type", "model_attributes_type")
_TOLD: Final = ("missing", "value_error", "union_tag_invalid", *_CHOICES, *_SETTINGS)

Location = tuple[str | int, ...]
Fault = Mapping[str, Any]


def explain_errors(
    error: ValidationError, file: YamlFile, model: type[BaseModel], fix: str = ""
) -> SpecError:
    """All faults of a file as one error."""
    groups = sorted(_group_by_setting(error, file).items(), key=lambda item: file.order(item[0]))
    lines = [
        f"{file.place(keys)}: {_describe_faults(keys, faults, file, model)}"
        for keys, faults in groups
    ]
    return SpecError("\n".join(lines), fix=fix)


def _group_by_setting(error: ValidationError, file: YamlFile) -> dict[Location, list[Fault]]:
    """The faults by the setting that has them, which may have one for each form it might have.

    What holds a faulty part is told to be faulty too, which says nothing new.
    """
    groups: dict[Location, list[Fault]] = {}
    for fault in error.errors(include_url=False):
        keys = file.existing_keys(fault["loc"]) or fault["loc"][:1]
        if fault["type"] == "missing":
            keys = (*file.existing_keys(fault["loc"][:-1]), fault["loc"][-1])
        groups.setdefault(keys, []).append(fault)
    listed = {keys for keys, faults in groups.items() if any(map(_wants_list, faults))}
    return {
        keys: faults
        for keys, faults in groups.items()
        if keys in listed or not any(keys == key[: len(keys)] != key for key in groups)
    }


def _describe_faults(
    keys: Location, faults: Sequence[Fault], file: YamlFile, model: type[BaseModel]
) -> str:
    first = faults[0]
    if first["type"] == "extra_forbidden":
        location: Location = tuple(first["loc"])[:-1]
        holder = _name(file.existing_keys(location))
        lacks = f"{holder} has no setting" if holder else "unknown setting"
        return f"{lacks} {keys[-1]!r}; {suggestion(str(keys[-1]), fields_at(model, location))}"
    name = _name(keys) or "the file"
    if first["loc"] and first["loc"][-1] == _KEY:
        return f"{name}: {_explain_unknown(first) or first['msg']}"
    if any(map(_wants_list, faults)):
        others = [fault["ctx"]["expected"] for fault in faults if fault["type"] in _CHOICES]
        return f"{name}: " + " or ".join([f"expected a list, as in [{first['input']}]", *others])
    descriptions = list(dict.fromkeys(map(_describe_fault, faults)))
    joined = " or ".join(
        [descriptions[0], *(fault.removeprefix("expected ") for fault in descriptions[1:])]
    )
    return f"{name}: {joined}{_quote_value(first)}"


def _describe_fault(fault: Fault) -> str:
    match fault["type"]:
        case "missing":
            return "is missing"
        case "literal_error" | "enum" if (expected := _explain_unknown(fault)) is not None:
            return expected
        case "union_tag_invalid":
            known = _QUOTED.findall(fault["ctx"]["expected_tags"])
            return f"there is no {fault['ctx']['tag']!r}; {suggestion(fault['ctx']['tag'], known)}"
        case "list_type" | "tuple_type":
            return "expected a list"
        case kind if kind in _SETTINGS:
            return "expected settings, as in {name: value}"
        case "int_type" | "int_parsing" | "int_from_float":
            return "expected a whole number"
        case "float_type" | "float_parsing":
            return "expected a number"
    message = str(fault["msg"])
    if fault["type"] == "value_error":
        return message.removeprefix("Value error, ")
    expected = message.removeprefix("Input ").removeprefix("String ")
    return expected.partition(", unable to parse")[0]


def _quote_value(fault: Fault) -> str:
    """The value itself, where it is short and the words do not tell it."""
    plain = isinstance(fault["input"], str | int | float | None)
    is_told = fault["type"] in _TOLD and not (
        fault["type"] in _CHOICES and _explain_unknown(fault) is None
    )
    return f", got {fault['input']!r}" if plain and not is_told else ""


def _explain_unknown(fault: Fault) -> str | None:
    """What a name that is none of some few might have meant; None of what is no name."""
    known = _QUOTED.findall(fault["ctx"]["expected"]) if "ctx" in fault else []
    name = fault["input"]
    if not known or not isinstance(name, str):
        return None
    return f"there is no {name!r}; {suggestion(name, known)}"


def _wants_list(fault: Fault) -> bool:
    """Whether a single value was given where a list goes."""
    is_list = fault["type"] in ("list_type", "tuple_type")
    return is_list and isinstance(fault["input"], str | int | float)


def _name(keys: Iterable[str | int]) -> str:
    return ".".join(map(str, keys))


def fields_at(model: type[BaseModel], location: Iterable[str | int]) -> tuple[str, ...]:
    """The settings that may stand at a place.

    Args:
        model: Of the whole file. One with a class method `find_settings` holds, below each name,
            the settings that this returns for it.
        location: As pydantic gives it, with the names of a value's forms.
    """
    models: tuple[type[BaseModel], ...] = (model,)
    for part in location:
        models = _models_below(models, str(part))
    return tuple(dict.fromkeys(name for candidate in models for name in candidate.model_fields))


def _models_below(models: tuple[type[BaseModel], ...], part: str) -> tuple[type[BaseModel], ...]:
    below: list[type[BaseModel]] = []
    for model in models:
        if (find_settings := getattr(model, "find_settings", None)) is not None:
            below.append(find_settings(part))
        elif issubclass(model, RootModel):
            below += _models_in(model.model_fields["root"].annotation)
        elif part in model.model_fields:
            below += _models_in(model.model_fields[part].annotation)
    # Otherwise the part is a list's index, or says which of the forms was tried.
    called = (
        model
        for model in models
        if model.__name__ == part
        or any(
            part in map(str, get_args(field.annotation)) for field in model.model_fields.values()
        )
    )
    return tuple(below) or tuple(called) or models


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]
