"""`segue diff`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console

from pipelines.cli.common.options import CorpusArgument
from pipelines.cli.common.show import say
from synth.base.command import CommandResult
from synth.base.doors import make_console

if TYPE_CHECKING:
    from pipelines.look.comparison import (
        ChangeGroup,
        Comparison,
        TableChanges,
        ValueChange,
    )

_SHOWN_LETTERS = 12


def diff_command(first: CorpusArgument, second: CorpusArgument) -> CommandResult:
    """Show why and how two corpora, or two versions of one, differ.

    Example: `segue diff data_manifests/acba/OLD data_manifests/acba/NEW`
    """
    from pipelines.look.comparison import compare  # DuckDB takes a while

    with make_console(stderr=True, soft_wrap=False).status("comparing"):
        comparison = compare(first, second)
    return CommandResult(comparison.to_json(), partial(_print, comparison))


def _print(comparison: Comparison) -> None:
    console = make_console(markup=False)
    for letter, side in (("A", comparison.a), ("B", comparison.b)):
        facts = side.to_json()
        state = "" if side.rendered else "  (planned, not built)"
        say(f"{letter}  {facts['corpus']} {facts['version']}{state}  {facts['manifests']}")
    if comparison.same:
        say("\nno differences")
        return
    console.print("\nwhy", style="bold")
    _print_changes(console, "settings", comparison.settings)
    _print_rows(console, "clips", comparison.clips)
    _print_changes(console, "algorithms", comparison.algorithms)
    _print_changes(console, "libraries", comparison.libraries)
    if comparison.unknown:
        console.print(f"  not known: {comparison.unknown}", style="yellow")
    console.print("\nwhat", style="bold")
    _print_rows(console, "samples", comparison.samples)
    if comparison.clips.kinds and comparison.samples.kinds:
        say(f"    {comparison.hear_a_changed_clip:,} of the changed samples use a changed clip")
    if comparison.hear_a_moved_clip:
        say(f"    {comparison.hear_a_moved_clip:,} of B use a clip that is in another split of A")
    _print_rows(console, "shards", comparison.shards)


def _print_changes(console: Console, name: str, changes: Sequence[ValueChange]) -> None:
    console.print(f"  {name}" if changes else f"  {name}: the same")
    for change in changes:
        say(f"    {change.name}: {_format_value(change.a)} -> {_format_value(change.b)}")


def _format_value(value: Any) -> str:
    """A value; of a hash the first letters."""
    from synth.corpus.schema import canonical_json

    if value is None:
        return "nothing"
    is_hash = isinstance(value, str) and len(value) == 64
    return value[:_SHOWN_LETTERS] if is_hash else canonical_json(value)


def _print_rows(console: Console, name: str, rows: TableChanges) -> None:
    if not rows.kinds:
        say(f"  {name}: the same, {rows.b:,}")
        return
    counts = ", ".join(
        [f"{rows.same:,} the same", *(f"{kind.count:,} {kind.name}" for kind in rows.kinds)]
    )
    size = f"{rows.b:,}" if rows.a == rows.b else f"{rows.a:,} -> {rows.b:,}"
    say(f"  {name} ({size}): {counts}")
    for kind in rows.kinds:
        say(f"    {_format_group(kind)}")
        for reason in kind.reasons:
            say(f"      {_format_group(reason)}")
        if kind.more_reasons:
            say(f"      {kind.more_reasons:,} more reasons")


def _format_group(kind: ChangeGroup) -> str:
    more = ", ..." if kind.count > len(kind.first) else ""
    return f"{kind.name}: {kind.count:,} ({', '.join(kind.first)}{more})"
