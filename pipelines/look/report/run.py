"""The page of a training run. `train`, which describes the run, is imported only when asked."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Final

from pipelines.look.page import Page, plot, render_page

DESCRIBE: Final = "train.report.run:describe_run"
_PACKAGES: Final = {"report": "pipelines.look.report"}


def run_page(folder: Path) -> Page:
    """The report of a training run, ended or not; equal files give equal pages."""
    module, function = DESCRIBE.split(":")
    describe: Any = getattr(import_module(module), function)
    run = describe(folder)
    plots = [
        plot(each.title, each.points, each.last, each.rule, each.borders) for each in run.curves
    ]
    html = render_page("report/run.html", _PACKAGES, plots=plots, **run.values)
    return Page(run.name, html, run.facts)
