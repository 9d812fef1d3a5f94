"""A sound library on the command line: `NAME:ROOT`, and its settings: `--set KEY=VALUE`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from pipelines.cli.common.show import say
from synth.base.errors import SpecError, nearest
from synth.storage import format_place

if TYPE_CHECKING:
    from synth.sources import Settings

SetOption: TypeAlias = Annotated[
    list[str] | None, typer.Option("--set", help="A setting of the library, such as subset=large.")
]


def parse_source(text: str) -> Settings:
    """The source of `NAME:ROOT`, or of `NAME` alone where it needs no folder.

    One that takes another's clips is written before it: `treated:esc50:ROOT`.
    """
    from synth.base.choice import check_values
    from synth.sources import HELD, source_class, source_names

    name, separator, root = text.partition(":")
    if name not in source_names() and (Path(text).exists() or root.startswith("//")):
        raise _explain_bare(text)
    kind = source_class(name)
    if separator and not root:
        raise SpecError(f"{text}: expected NAME:ROOT", fix="write it as in esc50:/data/ESC-50")
    settings: dict[str, object] = {}
    if root and HELD in kind.model_fields:
        settings[HELD] = {root.partition(":")[0]: parse_source(root)}
    elif root:
        settings["root"] = Path(root).expanduser().resolve()
    fix = "give NAME:ROOT, as in esc50:/data/ESC-50; `segue sources` lists the settings of a spec"
    return check_values(kind, settings, text, fix)


def _explain_bare(text: str) -> SpecError:
    """What is wrong with a folder, an archive or a URL where NAME:ROOT is expected."""
    from synth.sources import source_names

    path = Path(text)
    if path.is_dir():
        near = nearest(path.resolve().name, source_names()) or "folder"
        fix = f"give {near}:{text}" + ("" if near == "folder" else f", or folder:{text}")
        return SpecError(f"{text}: expected NAME:ROOT, got a folder", fix=fix)
    kind = "a file" if path.exists() else "a URL"
    verb = "unpack" if path.exists() else "download and unpack"
    return SpecError(
        f"{text}: expected NAME:ROOT, got {kind}",
        fix=f"{verb} the library and give its folder, as in esc50:/data/ESC-50",
    )


def apply_settings(source: Settings, changes: Sequence[str]) -> Settings:
    """The source with settings of the form `key=value`, the value as a spec would have it."""
    import yaml

    from synth.base.choice import check_values

    values: dict[str, object] = {}
    for change in changes:
        key, parted, value = change.partition("=")
        if not parted or key not in type(source).model_fields:
            raise SpecError(
                f"--set {change}: expected KEY=VALUE",
                fix=f"the keys are {', '.join(type(source).model_fields)}",
            )
        try:
            values[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise SpecError(
                f"--set {change}: the value is not YAML", fix="put it in quotes"
            ) from error
    fix = "`segue sources NAME` lists its settings"
    return check_values(type(source), source.model_dump() | values, "--set", fix)


def print_index(source: object) -> None:
    """Tell the index of a folder of sounds, which it may have chosen by itself."""
    from synth.sources.own.folder import index_line

    if line := index_line(source):
        say(line)


# Where a command writes.


def resolve_destination(out: Path, stage: Path | None = None) -> Path:
    """The folder to work in for `--out` and `--stage`."""
    from pipelines.store.stage import choose_stage

    refuse_fleeting(out)
    return choose_stage(out, stage)


def refuse_fleeting(out: Path) -> None:
    """Check that what is written outlives the command."""
    from synth.storage.filesystems import is_private

    url = format_place(out)
    if is_private(url):
        raise SpecError(
            f"--out {url}: exists only in this process, and ends with this command",
            fix="give a folder, file:///FOLDER or a store; "
            "`pipelines.builder.build.build(spec, URL, 0)` builds there from Python",
        )
