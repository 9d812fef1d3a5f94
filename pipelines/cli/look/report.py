"""`segue report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.common.show import say
from pipelines.look.report import SHOWN
from synth.base.command import CommandResult, Given, refuse_given
from synth.base.progress import Observer, show_waiting
from synth.corpus.kinds import PathKind, expect


def report_command(
    path: Path,
    out: Path | None = None,
    samples: Annotated[int, typer.Option(min=0)] = SHOWN,
    *,
    given: Given = frozenset(),
    observer: Observer,
) -> CommandResult:
    """Write one self-contained HTML file about a build or a training run.

    For a build: counts, balance, durations, levels, licences, the audit, and samples to play. For a
    run: settings, curves, and the results of `segue eval RUN DATA`.

    Examples: `segue report data_manifests/acba`, `segue report runs/acba --out acba.html`

    Args:
        path: Manifest folder or its URL: data_manifests/CORPUS (the latest build) or one of its
            versions; or the folder of a training run.
        out: The HTML file; by default NAME-VERSION-corpus-report.html or RUN-report.html in this
            folder.
        samples: Samples of a corpus to show, drawn evenly.
    """
    from pipelines.look.page import write_page
    from pipelines.look.report.corpus import corpus_page, run_page

    if expect(path, PathKind.CORPUS, PathKind.RUN) is PathKind.RUN:
        refuse_given(given, {"--samples"}, "a training run has no samples")
        with show_waiting("reading the run"):
            page = run_page(path)
    else:
        page = corpus_page(path, samples, observer)
    target = out or Path(f"{page.name}-report.html")
    write_page(page, target)

    def show() -> None:
        say(f"report  {target}\nnext: open it in a browser")

    return CommandResult(
        {"report": str(target), "bytes": len(page.html.encode()), **page.facts}, show
    )
