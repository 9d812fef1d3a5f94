"""The values that a setting may have, in words."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Final, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

_INT64: Final = 2**63  # the end of what a seed may be, which nobody needs to read
_PLAIN: Final[dict[Any, str]] = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    str: "text",
    Path: "path",
    NoneType: "null",
}


def describe_allowed(field: FieldInfo) -> str:
    """What a field takes: `number above 0 up to 30, or null`."""
    return _describe_type(field.annotation, field.metadata)


def _describe_type(kind: Any, limits: Iterable[Any] = ()) -> str:
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _describe_type(parts[0], (*parts[1:], *limits))
    if origin is Literal:
        return " or ".join(map(str, parts))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return " or ".join(str(each.value) for each in kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "settings of its own"
    if origin in (tuple, list):
        return _describe_list(parts) + _describe_bounds(limits)
    if origin is dict:
        return f"{{{_describe_type(parts[0])}: {_describe_type(parts[1])}}}" + _describe_bounds(
            limits
        )
    if parts:
        return ", or ".join(
            _describe_type(part, () if part is NoneType else limits) for part in parts
        )
    return _PLAIN.get(kind, "any value") + _describe_bounds(limits)


def _describe_list(parts: tuple[Any, ...]) -> str:
    if len(parts) == 1 or parts[-1] is Ellipsis:
        return f"[{_describe_type(parts[0])}, ...]"
    return f"[{', '.join(map(_describe_type, parts))}]"


def _describe_bounds(limits: Iterable[Any]) -> str:
    """` above 0 up to 30`, of what pydantic notes of a field."""
    found: dict[str, Any] = {}
    for limit in limits:
        for each in limit.metadata if isinstance(limit, FieldInfo) else (limit,):
            found |= {
                name: getattr(each, name)
                for name in ("gt", "ge", "lt", "le", "min_length", "max_length", "pattern")
                if getattr(each, name, None) not in (None, _INT64)
            }
    words = {
        "gt": "above {}",
        "ge": "from {}",
        "lt": "below {}",
        "le": "up to {}",
        "min_length": "of {} or more",
        "max_length": "of {} at most",
        "pattern": "matching {}",
    }
    return "".join(" " + words[name].format(found[name]) for name in words if name in found)
