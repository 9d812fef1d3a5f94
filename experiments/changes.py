"""One table of what experiments gave before and give now: `python -m experiments.changes`.

It compares what an experiment's claims rest on. Pages that only one folder has, or that are equal
in both, are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from experiments.harness.estimate import Cell
from experiments.harness.experiment import Experiment
from experiments.harness.runner import SOME
from experiments.registry import find_experiment
from synth.base.atomic import write_text
from synth.base.doors import read_json
from synth.base.errors import SegueError
from train.bench.verdicts import format_value

HEADER: Final = """\
# Before and now

    {command}

What the claims of each experiment rest on: mean over the seeds, and 95 % interval. Corpora and
captions differ between the two, and so do the tests that are made of them.

| page | measure | arm | before | now |
|---|---|---|---:|---:|
"""


def compare(before: Path, now: Path) -> Iterator[tuple[str, ...]]:
    """The rows of the table: page, measure, arm, the value before and that of now.

    Args:
        before: Folder of older results, as `segue reproduce` wrote them.
        now: Folder of newer ones. A page that `before` lacks, or has alike, is left out.
    """
    both = [(_find_page(path.stem, before), path) for path in sorted(now.glob("*.json"))]
    pages = [(earlier, page) for earlier, page in both if earlier is not None]
    if not pages:
        raise SegueError(
            f"{before} and {now} have no page in common", fix="give two folders of results"
        )
    for earlier, page in pages:
        old, new = _read(earlier), _read(page)
        if old == new:
            continue
        experiment = find_experiment(new["experiment"], new["scale"])
        for measure, metric, arm in _list_cells(experiment, new["metrics"]):
            found = [each["metrics"].get(arm, {}).get(metric) for each in (old, new)]
            if any(found):
                told = (_tell(metric, each) for each in found)
                yield (page.stem, measure, arm, *told)


def _find_page(name: str, folder: Path) -> Path | None:
    """The page of that name, or that of some arms of it."""
    paths = (folder / f"{each}.json" for each in (name, f"{name}-{SOME}"))
    return next((path for path in paths if path.is_file()), None)


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = read_json(path)
        _ = found["experiment"], found["scale"], found["metrics"]
    except (TypeError, KeyError) as error:
        raise SegueError(
            f"{path}: no results of an experiment", fix="give folders of `segue reproduce`"
        ) from error
    return found


def _list_cells(experiment: Experiment, arms: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Title, metric and arm of what claims are about, in the order of the table.

    Arms that exist only over another library have no claims here: all judged metrics of theirs are
    compared.
    """
    cells = {cell for claim in experiment.claims for cell in claim.cells}
    judged, known = {cell.metric for cell in cells}, {arm.name for arm in experiment.arms}
    for line in experiment.lines:
        for arm in arms if line.metric in judged else ():
            if arm not in known or Cell(arm, line.metric) in cells:
                yield line.title, line.metric, arm


def _tell(metric: str, found: dict[str, float] | None) -> str:
    if found is None:
        return "-"
    value, low, high = (format_value(metric, found[key]) for key in ("value", "low", "high"))
    return f"{value} ({low.removesuffix(' %')} to {high.removesuffix(' %')})"


def render(before: Path, now: Path, command: str) -> str:
    """The page in Markdown."""
    rows = ("| " + " | ".join(row) + " |\n" for row in compare(before, now))
    return HEADER.format(command=command) + "".join(rows)


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path, help="folder of older results")
    parser.add_argument("--now", type=Path, default=Path("docs/results"), help="of newer ones")
    parser.add_argument("--revision", required=True, help="where the older ones are from")
    given = parser.parse_args()
    unpack = f"git archive {given.revision} docs/results | tar -x -C before"
    again = f"python -m experiments.changes before/docs/results --revision {given.revision}"
    told = "\n    ".join(("mkdir before", unpack, again))
    write_text(given.now / "changes.md", render(given.before, given.now, told))


if __name__ == "__main__":
    main()
