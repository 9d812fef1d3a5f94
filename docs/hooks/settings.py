"""Tables of settings, made from the models that read them: `<!-- settings: module:Class -->`."""

from __future__ import annotations

import json
import re
from importlib import import_module
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from pipelines.config.meanings import read_meanings
from pipelines.config.new import describe_allowed

MARKER = re.compile(r"<!-- settings: ([\w.]+):(\w+) -->")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put a table in the place of each marker."""
    return MARKER.sub(lambda found: table(getattr(import_module(found[1]), found[2])), markdown)


def table(model: type[BaseModel]) -> str:
    """The settings of a model in Markdown."""
    told = read_meanings(model)
    rows = (
        f"| `{name}` | {told[name]} | {describe_allowed(field)} | {_default(field)} |"
        for name, field in model.model_fields.items()
    )
    return "\n".join(("| setting | what it is | takes | default |", "|---|---|---|---|", *rows))


def _default(field: FieldInfo) -> str:
    """A setting's default as a spec spells it."""
    if field.is_required():
        return "must be given"
    value = to_jsonable_python(field.get_default(call_default_factory=True))
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"
