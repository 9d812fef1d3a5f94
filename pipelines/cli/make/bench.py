"""`segue bench build` and `segue bench list`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from pipelines.cli.common.options import WorkersOption
from pipelines.cli.common.show import print_next, print_note
from pipelines.cli.common.source import SetOption, apply_settings, parse_source
from pipelines.cli.make.build import choose_worker_count
from pipelines.frozen import ROOT
from synth.base.command import CommandResult
from synth.base.doors import make_console
from synth.base.progress import Observer

if TYPE_CHECKING:
    from pipelines.frozen.make import MadeSet


def bench_build_command(
    name: str,
    source: str = "foley",
    settings: SetOption = None,
    out: Annotated[Path, typer.Option(file_okay=False)] = ROOT,
    workers: WorkersOption = None,
    *,
    observer: Observer,
) -> CommandResult:
    """Build a frozen test set from your copy of a library, byte for byte as published.

    If the digest differs from the published one, the set is refused, and the differences are
    listed. Without a published digest for the source, the set is built and marked as unpublished.
    A killed build resumes.

    Examples: `segue bench build order-v3`,
    `segue bench build all --source esc50:/data/ESC-50`

    Args:
        name: A set such as order-v3, all, or your own YAML file.
        source: Your copy of the library, as NAME:PATH; foley needs no path.
        out: Folder for the sets.
    """
    from pipelines.frozen.description import open_set, shipped_sets
    from pipelines.frozen.make import make_set

    sets = list(shipped_sets()) if name == "all" else [open_set(name)]
    library = apply_settings(parse_source(source), settings or ())
    for test in sets:
        test.make_spec(library)
    count = choose_worker_count(workers)
    built = []
    for test in sets:
        frozen = make_set(test, library, out, count, observer)
        observer.start(test.name, 1, "sets")
        observer.finish(test.name, f"digest {frozen.built.digest[:16]}")
        built.append(frozen)
    return CommandResult(
        {"sets": [frozen.to_json() for frozen in built]}, partial(_print_sets, built, out)
    )


def _print_sets(sets: Sequence[MadeSet], out: Path) -> None:
    from pipelines.frozen.description import locate_corpus

    for frozen in sets:
        built = frozen.built
        state = "as published" if built.published else "unpublished"
        make_console().print(
            f"[bold]{built.name}[/] over {built.source}: {built.samples:,} samples, {state}, "
            f"digest {built.digest[:16]}, text alone {built.text_only.value:.1%}, trivial audio "
            f"{f'{built.trivial.value:.1%}' if built.trivial else '-'} (chance 50 %), "
            f"{frozen.summary.seconds:.1f} s"
        )
        if not built.published:
            print_note(
                f"no digest of {built.name} over {built.source} is published, so "
                "Segue cannot tell whether others score the same set"
            )
    if all(frozen.built.windows for frozen in sets):
        path = locate_corpus(sets[0].built, out)
        print_next("segue", "export", path, "--to", "moments", "--out", "moments")
    else:
        print_next("segue", "bench", "run", "random", "MODEL", "--sets", out)


def bench_list_command() -> CommandResult:
    """List the frozen test sets, what each one asks, and the sources it is published for.

    Example: `segue bench list --json`
    """
    from pipelines.frozen.description import shipped_sets
    from pipelines.frozen.digests import read_published

    sets = list(shipped_sets())
    published = {
        test.name: {
            source: digests and digests.digest
            for source in test.description.sources
            for digests in (read_published(test.digest_file(source)),)
        }
        for test in sets
    }
    rows = [
        {"name": test.name, "asks": test.description.asks, "digests": published[test.name]}
        for test in sets
    ]

    def show() -> None:
        table = Table("set", "asks", "published over", "not published over")
        for test in sets:
            known, unknown = (
                [
                    source
                    for source, digest in published[test.name].items()
                    if bool(digest) is is_known
                ]
                for is_known in (True, False)
            )
            table.add_row(test.name, test.description.asks, ", ".join(known), ", ".join(unknown))
        make_console().print(table)
        print_next("segue", "bench", "build", "all")

    return CommandResult({"sets": rows}, show)
