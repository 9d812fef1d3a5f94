"""`segue new`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from pipelines.cli.common.options import source_completions, start_completions
from pipelines.cli.common.show import print_next, say
from pipelines.cli.common.source import parse_source
from synth.base.command import CommandResult, Given, refuse_given
from synth.base.doors import make_console
from synth.base.errors import SpecError

if TYPE_CHECKING:
    from pipelines.config.new import LibraryFacts


def new_command(
    recipe: Annotated[
        str | None, typer.Argument(metavar="[RECIPE]", autocompletion=start_completions)
    ] = None,
    source: Annotated[str | None, typer.Option(autocompletion=source_completions)] = None,
    out: Annotated[Path | None, typer.Option(dir_okay=False)] = None,
    *,
    given: Given = frozenset(),
) -> CommandResult:
    """Write a spec with every setting explained, or list the recipes.

    The spec uses the library's own splits.

    Examples: `segue new`, `segue new scenes`,
    `segue new triplets --source esc50:/data/ESC-50 --out corpora/esc50.yaml`

    Args:
        recipe: Recipe of the corpus. Without it, the recipes are listed.
        source: A library from `segue sources`, as NAME or NAME:FOLDER. The default is one that
            ships with Segue.
        out: The new file; RECIPE.yaml by default.
    """
    from pipelines.config.new import find_innermost, find_start, inspect_library, render_spec
    from pipelines.config.spec import make_corpus_name
    from synth.sources import source_names
    from synth.sources.own.folder import index_line

    if recipe is None:
        refuse_given(given, {"--source", "--out"}, "needs a recipe; `segue new` lists them")
        return _list_recipes()
    path = out or Path(f"{recipe}.yaml")
    corpus = make_corpus_name(path.stem)
    start = find_start(recipe)
    chosen = source or start.source
    name, named, _ = chosen.partition(":")
    settings, library, index = None, None, ""
    if named or name not in source_names():
        opened = parse_source(chosen)
        library = inspect_library(opened)
        settings = _find_settings(chosen, opened, path.parent)
        index = index_line(opened)
    text = render_spec(recipe, corpus, name, settings, library)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise SpecError(f"{path}: already exists", fix="give another --out") from error
    notes = _find_notes(path, find_innermost(name, settings or {}), library)
    counts = {"clips": library.clips, "listed": library.listed} if library else {}

    def show() -> None:
        say(f"wrote {path}" + (f", {index}" if index else ""))
        if library is not None:
            absent = library.listed - library.clips
            say(
                f"found {library.clips:,} clips"
                + (f" of {len(library.labels):,} labels" if library.labels else "")
                + (f"; {absent:,} listed clips are missing" if absent else "")
            )
        for note in notes:
            say(f"note: {note}")
        print_next("segue", "plan", path)

    facts = {"spec": str(path), "recipe": start.recipe, "source": name, **counts, "notes": notes}
    return CommandResult(facts, show)


def _find_notes(path: Path, source: str, library: LibraryFacts | None) -> list[str]:
    """What the user has to do, or might not expect."""
    from pipelines.config.new import ROOT, choose_splits
    from synth.labels.lexicon import Phrase
    from synth.sources import source_class

    if library is None:
        needs_root = ROOT in source_class(source).model_fields
        return [f"write the library's folder into {path}, as source.{source}.root"] * needs_root
    notes = [note] if (note := choose_splits(source, library).note) else []
    if unlisted := library.unlisted_labels:
        reads = Phrase.of_label(unlisted[0]).clause
        notes.append(
            f"{len(unlisted):,} of the labels are not in Segue's lexicon; {unlisted[0]!r}, for "
            f"example, becomes {reads!r}: word them under `labels` in {path}"
        )
    return notes


def _find_settings(text: str, source: Any, folder: Path) -> dict[str, Any]:
    """The settings of `NAME:ROOT` as a spec in a folder has them.

    Args:
        text: What stands before the root are names of sources, each of which holds the next.
        source: That the text is of.
    """
    from pipelines.config.new import ROOT
    from synth.sources import HELD
    from synth.sources.own.folder import FolderSource

    _, _, root = text.partition(":")
    choice = getattr(source, HELD, None)
    if choice is not None:
        inner = choice.chosen
        return {HELD: {inner.name: _find_settings(root, inner, folder)}} if root else {}
    values: dict[str, Any] = {ROOT: _make_relative(folder, root)} if root else {}
    index = source.find_index() if isinstance(source, FolderSource) else None
    return values if index is None else values | {"index": index}


def _make_relative(folder: Path, root: str) -> str:
    """A path as the spec names it, from the spec's own folder."""
    if Path(root).expanduser().is_absolute() or folder == Path():
        return root
    return Path(os.path.relpath(root, folder)).as_posix()


def _list_recipes() -> CommandResult:
    from pipelines.config.new import summarise_starts

    rows = summarise_starts()

    def show() -> None:
        width = max(map(len, rows))
        for name, about in rows.items():
            make_console().print(f"[bold]{escape(name):<{width}}[/]  {escape(about)}")
        say("\n`segue new RECIPE` writes a spec with every setting explained.")

    return CommandResult(rows, show)
