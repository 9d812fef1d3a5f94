"""`segue text lexicon`."""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import Annotated, Any, TypeAlias

import typer
from rich.table import Table

from pipelines.cli.common.options import JsonOption
from pipelines.cli.common.show import print_json
from synth.base.atomic import write_text
from synth.base.doors import make_console
from synth.base.errors import LexiconError
from synth.labels.lexicon_build import (
    build,
    format_table,
    lexicon_folder,
    make_inflector,
    read_sources,
)

CheckOption: TypeAlias = Annotated[
    bool, typer.Option("--check", help="Write nothing; fail if phrases.csv is not as built.")
]


def lexicon_command(check: CheckOption = False, as_json: JsonOption = False) -> None:
    """Build lexicons/phrases.csv, how each label is said, from the sources beside it.

    Examples: `segue text lexicon`, `segue text lexicon --check`
    """
    folder = lexicon_folder()
    built = build(read_sources(folder), make_inflector())
    text = format_table(built)
    path = folder / "phrases.csv"
    old = path.read_bytes().decode(errors="replace") if path.exists() else ""
    same = old == text
    if check and not same:
        raise LexiconError(
            f"{path} is not what its sources make: {_find_first_difference(old, text)}",
            fix="run: segue text lexicon",
        )
    if not same:
        write_text(path, text)
    labels = {name: len(entries) for name, entries in built.items()}
    categories = Counter(
        entry.families[0].split("/", 1)[0] for entries in built.values() for entry in entries
    )
    done: dict[str, Any] = {
        "path": str(path),
        "written": not same,
        "labels": labels,
        "categories": dict(sorted(categories.items())),
    }
    if as_json:
        print_json(done)
        return
    shown = Table("source", "labels")
    for name, count in labels.items():
        shown.add_row(name, str(count))
    shown.add_row("phrases.csv", str(sum(labels.values())))
    make_console(soft_wrap=False).print(shown)
    print("phrases.csv rebuilt" if not same else "phrases.csv is as its sources make it")


def _find_first_difference(old: str, new: str) -> str:
    """The first line that differs, told for an error message."""
    pairs = zip_longest(old.splitlines(), new.splitlines(), fillvalue="nothing")
    for number, (ours, theirs) in enumerate(pairs, start=1):
        if ours != theirs:
            return f"line {number} is {ours!r}, not {theirs!r}"
    return "its line ends differ"
