"""Publish the digests of frozen sets, for maintainers: `make publish PUBLISH="--help"`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pipelines.cli.common.progress_display import show_progress
from pipelines.cli.common.source import apply_settings, parse_source
from pipelines.frozen import ROOT
from pipelines.frozen.description import open_set, shipped_sets
from pipelines.frozen.make import MadeSet, make_set
from synth.base.errors import SegueError
from synth.base.processors import processors


def publish(words: list[str] | None = None) -> list[MadeSet]:
    """Make sets over a library, and write each one's digest into a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="a set, such as order-v3; its file; or all")
    parser.add_argument("--folder", type=Path, required=True, help="where the digests go")
    parser.add_argument("--source", default="foley", help="the library, as NAME:PATH")
    parser.add_argument("--set", action="append", default=[], help="a setting of the library")
    parser.add_argument("--out", type=Path, default=ROOT, help="folder of all sets")
    parser.add_argument("--workers", type=int, default=processors())
    options = parser.parse_args(words)
    sets = list(shipped_sets()) if options.name == "all" else [open_set(options.name)]
    library = apply_settings(parse_source(options.source), options.set)
    with show_progress(False) as observer:
        return [
            make_set(frozen, library, options.out, options.workers, observer, options.folder)
            for frozen in sets
        ]


if __name__ == "__main__":
    try:
        for made in publish():
            print(f"{made.built.name} over {made.built.source}: {made.built.digest}")
    except SegueError as error:
        sys.exit(f"error: {error.message}\nfix:   {error.fix}")
