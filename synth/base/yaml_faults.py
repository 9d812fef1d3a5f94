"""What pydantic finds wrong with a file's settings, told a line a fault, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, get_args

from pydantic import BaseModel, RootModel, ValidationError

from synth.base.errors import SpecError
from synth.base.names import suggestion
from synth.base.yaml_file import YamlFile

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
    """All faults of a file as one error.

    Args:
        error: What was found.
        file: The file that was validated.
        model: What it was validated as.
        fix: What to do about it.
    """
    found = sorted(_group_by_setting(error, file).items(), key=lambda each: file.order(each[0]))
    lines = [
        f"{file.place(keys)}: {_describe_faults(keys, faults, file, model)}"
        for keys, faults in found
    ]
    return SpecError("\n".join(lines), fix=fix)


def _group_by_setting(error: ValidationError, file: YamlFile) -> dict[Location, list[Fault]]:
    """The faults by the setting that has them, which may have one for each form it might have.

    What holds a faulty part is told to be faulty too, which says nothing new.
    """
    found: dict[Location, list[Fault]] = {}
    for fault in error.errors(include_url=False):
        keys = file.existing_keys(fault["loc"]) or fault["loc"][:1]
        if fault["type"] == "missing":
            keys = (*file.existing_keys(fault["loc"][:-1]), fault["loc"][-1])
        found.setdefault(keys, []).append(fault)
    listed = {keys for keys, faults in found.items() if any(map(_wants_list, faults))}
    return {
        keys: faults
        for keys, faults in found.items()
        if keys in listed or not any(keys == each[: len(keys)] != each for each in found)
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
        others = [each["ctx"]["expected"] for each in faults if each["type"] in _CHOICES]
        return f"{name}: " + " or ".join([f"expected a list, as in [{first['input']}]", *others])
    told = list(dict.fromkeys(map(_describe_fault, faults)))
    joined = " or ".join([told[0], *(each.removeprefix("expected ") for each in told[1:])])
    return f"{name}: {joined}{_quote_value(first)}"


def _describe_fault(fault: Fault) -> str:
    match fault["type"]:
        case "missing":
            return "is missing"
        case "literal_error" | "enum" if (told := _explain_unknown(fault)) is not None:
            return told
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
    told = message.removeprefix("Input ").removeprefix("String ")
    return told.partition(", unable to parse")[0]


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
    return tuple(dict.fromkeys(name for each in models for name in each.model_fields))


def _models_below(models: tuple[type[BaseModel], ...], part: str) -> tuple[type[BaseModel], ...]:
    found: list[type[BaseModel]] = []
    for model in models:
        if (find_settings := getattr(model, "find_settings", None)) is not None:
            found.append(find_settings(part))
        elif issubclass(model, RootModel):
            found += _models_in(model.model_fields["root"].annotation)
        elif part in model.model_fields:
            found += _models_in(model.model_fields[part].annotation)
    # Otherwise the part is a list's index, or says which of the forms was tried.
    return tuple(found) or tuple(each for each in models if _is_called(each, part)) or models


def _is_called(model: type[BaseModel], part: str) -> bool:
    kinds = [get_args(field.annotation) for field in model.model_fields.values()]
    return model.__name__ == part or any(part in map(str, each) for each in kinds)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for each in get_args(annotation) for model in _models_in(each)]
