"""The text of a new spec, made from the classes that check specs, so that no comment is stale."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from pipelines.spec.new.docstrings import read_meanings, read_purpose
from pipelines.spec.new.library import LibraryFacts, find_innermost
from pipelines.spec.new.recipes import find_start
from pipelines.spec.new.splits import choose_splits
from pipelines.spec.new.values import describe_allowed
from pipelines.spec.spec import Spec
from synth.base.choice import Choice
from synth.sources import source_class

WIDTH: Final = 100
_INDENT: Final = "  "
_BREAK: Final = 70  # YAML's lines are broken after the value that goes beyond
ROOT: Final = "root"


def render_spec(
    name: str,
    corpus: str,
    source: str | None = None,
    given: Mapping[str, Any] | None = None,
    library: LibraryFacts | None = None,
) -> str:
    """The YAML of a spec, every setting of which has a comment of what it means and may be.

    Args:
        name: One of `list_starts`.
        source: A source's name; by default one that comes with Segue and suits the recipe.
        given: The source's settings; by default a folder that has to be changed, if it takes one.
        library: What the folder holds, None where nobody looked: it says what the splits can be.
    """
    start = find_start(name)
    chosen = source or start.source
    if given is None:
        given = {ROOT: f"/data/{chosen}"} if ROOT in source_class(chosen).model_fields else {}
    splits = choose_splits(find_innermost(chosen, given), library)
    own = {
        "corpus": corpus,
        "source": {chosen: given},
        "recipe": {start.recipe: start.settings},
        "audio": start.audio,
        "splits": dict(splits.splits),
    }
    told = read_meanings(Spec)
    if splits.note:
        told["splits"] += f" {splits.note[0].upper()}{splits.note[1:]}."
    lines = [*_wrap_comment(f"{name}: {start.summary}", ""), *_wrap_comment(_HEAD, ""), "#"]
    lines += [*_wrap_comment(_TRAINING.get(start.recipe, _LENGTH), ""), ""]
    for key, field in Spec.model_fields.items():
        lines += [*_render_setting(key, field, told[key], own, ""), ""]
    return "\n".join(lines).rstrip() + "\n"


_HEAD: Final = (
    "Every setting is listed with its default and, in brackets, the allowed values. A line "
    "that is left out means the default. Paths are relative to this file's folder."
)
_LENGTH: Final = (
    "To train Segue's small model, which hears 3.5 s at 16 kHz, set audio.sample_rate: "
    "16000 and audio.length: exact 3.5 s."
)
_TRAINING: Final = {
    "triplets": f"{_LENGTH} Then max_event_s: 2.0 and crossfade_s: 0.5 make two sounds "
    "fit, repeats: 20 gives six labels enough groups, and style: natural reads "
    "as people write. The defaults are the paper's."
}


def _render_block(model: type[BaseModel], given: Mapping[str, Any], indent: str) -> Iterator[str]:
    """The settings of a model."""
    told = read_meanings(model)
    for key, field in model.model_fields.items():
        yield from _render_setting(key, field, told[key], given, indent)


def _render_setting(
    key: str, field: FieldInfo, told: str, given: Mapping[str, Any], indent: str
) -> Iterator[str]:
    """One setting: its comment, and its value below it."""
    nested = _find_model(field)
    if nested is not None and issubclass(nested, Choice):
        chosen = given[key] if key in given else _find_default(field).model_dump()
        yield from _render_choice(key, nested, told, chosen, indent)
        return
    if nested is not None and field.default is not None:
        yield from _wrap_comment(read_purpose(nested), indent)
        yield f"{indent}{key}:"
        yield from _render_block(nested, given.get(key, {}), indent + _INDENT)
        return
    needed = "; required" if field.is_required() else ""
    yield from _wrap_comment(f"{told} [{describe_allowed(field)}{needed}]", indent)
    if nested is not None:
        yield from _render_commented(nested, indent)
    value = given[key] if key in given else _find_default(field)
    plain = to_jsonable_python(value)
    text = yaml.safe_dump(
        {key: plain},
        default_flow_style=None if isinstance(plain, dict | list) else False,
        width=_BREAK,
        sort_keys=False,
        allow_unicode=True,
    )
    yield from textwrap.indent(text.rstrip("\n"), indent).split("\n")


def _render_choice(
    key: str, kind: type[Choice], told: str, chosen: Any, indent: str
) -> Iterator[str]:
    """What is chosen by name, with its settings."""
    ((name, given),) = chosen.items()
    model = kind.find_settings(name)
    yield from _wrap_comment(told, indent)
    yield f"{indent}{key}:"
    yield f"{indent}{_INDENT}{name}:" + " {}" * (not model.model_fields)
    yield from _render_block(model, given, indent + _INDENT * 2)


def _render_commented(model: type[BaseModel], indent: str) -> Iterator[str]:
    """The settings of a part that is not there by default."""
    told = read_meanings(model)
    for key, field in model.model_fields.items():
        default = "required" if field.is_required() else f"default {field.default}"
        yield from _wrap_comment(
            f"- {key}: {told[key]} [{describe_allowed(field)}; {default}]", indent
        )


def _find_model(field: FieldInfo) -> type[BaseModel] | None:
    """The class of a setting that has settings of its own."""
    for each in (field.annotation, *get_args(field.annotation)):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each
    return None


def _find_default(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True)


def _wrap_comment(text: str, indent: str) -> list[str]:
    prefix = f"{indent}# "
    return textwrap.wrap(
        text, WIDTH, initial_indent=prefix, subsequent_indent=prefix, break_on_hyphens=False
    )
