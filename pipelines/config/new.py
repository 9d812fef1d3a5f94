"""The text of a new spec, made from the classes that check specs, so that no comment is stale."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from pipelines.config.meanings import read_meanings, read_purpose, read_summary
from pipelines.config.spec import SPLITS, Spec
from synth.base.choice import Choice
from synth.base.errors import SegueError, SourceError, SpecError, suggestion
from synth.labels.lexicon import spell_listed
from synth.recipes import recipe_class, recipe_names
from synth.sources import HELD, Settings, Source, open_source, source_class
from synth.sources.reading.files import MISSING, list_refs
from synth.text.label_search import suggest_words

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
        source: A source's name; by default one that comes with Segue and suits the recipe.
        given: The source's settings; by default a folder that has to be changed, if it takes one.
        library: What the folder holds, None where nobody looked: it says what the splits can be.
    """
    start = find_start(name)
    chosen = source or start.source
    if given is None:
        given = {ROOT: f"/data/{chosen}"} if ROOT in source_class(chosen).model_fields else {}
    splits = choose_splits(find_innermost(chosen, given), library)
    values = {
        "corpus": corpus,
        "source": {chosen: given},
        "recipe": {start.recipe: start.settings},
        "audio": start.audio,
        "splits": dict(splits.splits),
    }
    meanings = read_meanings(Spec)
    if splits.note:
        meanings["splits"] += f" {splits.note[0].upper()}{splits.note[1:]}."
    lines = [*_wrap_comment(f"{name}: {start.summary}", ""), *_wrap_comment(_HEAD, ""), "#"]
    lines += [*_wrap_comment(_TRAINING.get(start.recipe, _LENGTH), ""), ""]
    for key, info in Spec.model_fields.items():
        setting = [*_render_setting(key, info, meanings[key], values, "")]
        if key == "labels" and library and library.unlisted_labels:
            setting[-1:] = [f"# {line}" for line in suggest_words(library.unlisted_labels)]
        lines += [*setting, ""]
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
    "moments": "Keep audio.length: natural, as scenes have a length of their own: see length_s. "
    "A model that hears windows of them is tested by `segue eval`, see docs/bench.md.",
    "triplets": f"{_LENGTH} Then repeats: 20 gives six labels enough groups, and style: "
    "natural reads as people write. The defaults are the paper's.",
}


def _render_block(model: type[BaseModel], values: Mapping[str, Any], indent: str) -> Iterator[str]:
    meanings = read_meanings(model)
    for key, info in model.model_fields.items():
        yield from _render_setting(key, info, meanings[key], values, indent)


def _render_setting(
    key: str, field: FieldInfo, meaning: str, values: Mapping[str, Any], indent: str
) -> Iterator[str]:
    """One setting: its comment, and its value below it."""
    nested = _find_model(field)
    if nested is not None and issubclass(nested, Choice):
        chosen = values[key] if key in values else _find_default(field).model_dump()
        yield from _render_choice(key, nested, meaning, chosen, indent)
        return
    if nested is not None and field.default is not None:
        yield from _wrap_comment(read_purpose(nested), indent)
        yield f"{indent}{key}:"
        yield from _render_block(nested, values.get(key, {}), indent + _INDENT)
        return
    needed = "; required" if field.is_required() else ""
    yield from _wrap_comment(f"{meaning} [{describe_allowed(field)}{needed}]", indent)
    if nested is not None:
        yield from _render_commented(nested, indent)
    value = values[key] if key in values else _find_default(field)
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
    key: str, kind: type[Choice], meaning: str, chosen: Any, indent: str
) -> Iterator[str]:
    ((name, settings),) = chosen.items()
    model = kind.find_settings(name)
    yield from _wrap_comment(meaning, indent)
    yield f"{indent}{key}:"
    yield f"{indent}{_INDENT}{name}:" + " {}" * (not model.model_fields)
    yield from _render_block(model, settings, indent + _INDENT * 2)


def _render_commented(model: type[BaseModel], indent: str) -> Iterator[str]:
    """The settings of a part that is not there by default."""
    meanings = read_meanings(model)
    for key, info in model.model_fields.items():
        default = "required" if info.is_required() else f"default {info.default}"
        yield from _wrap_comment(
            f"- {key}: {meanings[key]} [{describe_allowed(info)}; {default}]", indent
        )


def _find_model(field: FieldInfo) -> type[BaseModel] | None:
    """The class of a setting that has settings of its own."""
    kinds = (field.annotation, *get_args(field.annotation))
    for kind in chain(kinds, *map(get_args, kinds)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def _find_default(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True)


def _wrap_comment(text: str, indent: str) -> list[str]:
    prefix = f"{indent}# "
    return textwrap.wrap(
        text, WIDTH, initial_indent=prefix, subsequent_indent=prefix, break_on_hyphens=False
    )


# What a new spec has to know of the library that it is written for: its clips and its splits.


@dataclass(frozen=True, slots=True)
class LibraryFacts:
    """What there is of a sound library. Where its audio is not collected, all that is listed.

    Args:
        splits: Its own splits, or folds, that have a clip; none where a clip is of no split.
    """

    clips: int
    listed: int
    splits: frozenset[str]
    labels: tuple[str, ...]

    @property
    def unlisted_labels(self) -> tuple[str, ...]:
        """Labels that the lexicon has no phrase for."""
        return tuple(label for label in self.labels if spell_listed(label) is None)


def find_innermost(name: str, given: Mapping[str, Any]) -> str:
    """The name of the source whose clips are used in the end."""
    while HELD in given:
        ((name, given),) = given[HELD].items()
    return name


def inspect_library(source: Settings) -> LibraryFacts:
    """List a library, and see which files are there; none is opened."""
    opened = open_source(source)
    refs = list(list_refs(opened))
    present = (
        [ref for ref in refs if opened.stamp(ref) != MISSING]
        if isinstance(opened, Source)
        else refs
    )
    if not present:
        root = getattr(source, "root", opened.name)
        raise SourceError(
            f"{root}: none of its {len(refs):,} listed clips exists, such as {refs[0].location}"
            if refs
            else f"{root}: lists no clips",
            fix=f"also unpack its audio; `segue check {opened.name}:{root}` shows what is missing"
            if refs
            else "add sounds, or give another folder",
        )
    splits = frozenset(ref.split for ref in present)
    return LibraryFacts(
        clips=len(present),
        listed=len(refs),
        splits=splits if "" not in splits else frozenset(),
        labels=tuple(sorted({label for ref in present for label in ref.labels})),
    )


# What `segue new` can write: the recipes, and well-known settings of them under a name.


TAGGED: Final = "jam"
LABELLED: Final = "foley"


@dataclass(frozen=True, slots=True)
class Start:
    """What a new spec starts from.

    Args:
        settings: What differs from the recipe's defaults.
        audio: What differs from the defaults of `audio`.
        about: What it makes; by default what the recipe says of itself.
    """

    recipe: str
    source: str = LABELLED
    settings: Mapping[str, Any] = field(default_factory=dict)
    audio: Mapping[str, Any] = field(default_factory=dict)
    about: str = ""

    @property
    def model(self) -> type[BaseModel]:
        """The recipe's settings."""
        return recipe_class(self.recipe)

    @property
    def summary(self) -> str:
        """What it makes, in one line."""
        return self.about or read_summary(self.model).removeprefix(f"`{self.recipe}`: ")


_KNOWN: Final[Mapping[str, Start]] = {
    "edits": Start("edits", audio={"length": "exact 10 s"}),
    "negation": Start("negation", TAGGED),
    "tag_captions": Start("tag_captions", TAGGED),
    "stage_a": Start(
        "triplets",
        settings={"stage_a": True},
        about="single and combined sounds, for the first stage of training (TeminAL A).",
    ),
}


def list_starts() -> tuple[str, ...]:
    """All that a spec can start from."""
    return tuple(dict.fromkeys((*recipe_names(), *_KNOWN)))


def find_start(name: str) -> Start:
    """What is known under a name."""
    if name not in list_starts():
        raise SpecError(f"no recipe {name!r}", fix=suggestion(name, list_starts()))
    return _KNOWN.get(name, Start(name))


def summarise_starts() -> dict[str, str]:
    """One line for each name; one of a package that is broken spoils no list."""
    summaries = {}
    for name in list_starts():
        try:
            summaries[name] = find_start(name).summary
        except SegueError as error:
            summaries[name] = f"cannot be used: {error.message}"
    return summaries


# The splits of a new spec: the library's own, as far as they are there, or shares.


_SHARES: Final = {"train": 0.7, "val": 0.15, "test": 0.15}
_FIVE_FOLDS: Final = {"train": [1, 2, 3], "val": [4], "test": [5]}
_OWN_SPLITS: Final[Mapping[str, Mapping[str, Sequence[str | int]]]] = {
    "audiocaps": {"train": ["train"], "val": ["val"], "test": ["test"]},
    "audioset_strong": {"train": ["train"], "test": ["eval"]},
    "clotho": {"train": ["development"], "val": ["validation"], "test": ["evaluation"]},
    "esc10": _FIVE_FOLDS,
    "esc50": _FIVE_FOLDS,
    "fma": {"train": ["training"], "val": ["validation"], "test": ["test"]},
    "foley": _FIVE_FOLDS,
    "fsd50k": {"train": ["train"], "val": ["val"], "test": ["eval"]},
    "jam": _FIVE_FOLDS,
    "musiccaps": {"train": ["train"], "test": ["eval"]},
    "urbansound8k": {"train": [*range(1, 9)], "val": [9], "test": [10]},
}


@dataclass(frozen=True, slots=True)
class ChosenSplits:
    """What a new spec has as `splits`.

    Args:
        splits: Folds or splits of the library, or shares.
        note: What the library lacks, and what that means; "" where it is whole.
    """

    splits: Mapping[str, Any]
    note: str = ""


def choose_splits(source: str, library: LibraryFacts | None = None) -> ChosenSplits:
    """The splits of a new spec over a source.

    Args:
        library: What there is of it; None takes it for whole.
    """
    splits = _OWN_SPLITS.get(source)
    if splits is None:
        return _choose_of_unknown(library.splits if library else frozenset())
    published = [name for names in splits.values() for name in names]
    present = [name for name in published if library is None or str(name) in library.splits]
    if len(present) == len(published):
        return ChosenSplits(splits)
    absent = ", ".join(str(name) for name in published if name not in present)
    if not present:
        return ChosenSplits(_SHARES, f"no clip is in split {absent}, so the splits are shares")
    if all(isinstance(name, int) for name in published):
        return _deal_folds(present, absent)
    # Never shares: an evaluation set that stands alone is no training data.
    kept = {split: [name for name in names if name in present] for split, names in splits.items()}
    empty = [split for split, names in kept.items() if not names]
    note = f"no clip is in the library's split {absent}"
    if empty:
        note += f", so there is no {' and no '.join(empty)}; add its clips and name it here"
    return ChosenSplits({split: names for split, names in kept.items() if names}, note)


def _choose_of_unknown(names: Set[str]) -> ChosenSplits:
    """Splits over a library that may have any of its own, such as a folder with an index."""
    if names and names <= set(SPLITS):
        return ChosenSplits({name: [name] for name in SPLITS if name in names})
    named = ", ".join(sorted(names))
    note = f"to use the library's own splits, name them here: {named}" if names else ""
    return ChosenSplits(_SHARES, note)


def _deal_folds(folds: Sequence[str | int], absent: str) -> ChosenSplits:
    """The folds that are there as training, validation and test, in the order of their worth."""
    note = f"no clips of {'fold' if absent.isdigit() else 'folds'} {absent}"
    match folds:
        case [only]:
            # Shares of so few clips would leave splits without a clip of many labels.
            return ChosenSplits(
                {"train": [only]},
                f"{note}, so all of fold {only} is for training; to test, add another fold, "
                "or write shares, such as {train: 0.8, test: 0.2}",
            )
        case [first, last]:
            return ChosenSplits(
                {"train": [first], "test": [last]}, f"{note}, so there is no split val"
            )
        case [*most, val, test]:
            return ChosenSplits(
                {"train": most, "val": [val], "test": [test]},
                f"{note}, so the splits use the others",
            )
    raise AssertionError(folds)


# The values that a setting may have, in words.


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
        return " or ".join(str(member.value) for member in kind)
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
    bounds: dict[str, Any] = {}
    for limit in limits:
        for bound in limit.metadata if isinstance(limit, FieldInfo) else (limit,):
            bounds |= {
                name: getattr(bound, name)
                for name in ("gt", "ge", "lt", "le", "min_length", "max_length", "pattern")
                if getattr(bound, name, None) not in (None, _INT64)
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
    return "".join(" " + words[name].format(bounds[name]) for name in words if name in bounds)
