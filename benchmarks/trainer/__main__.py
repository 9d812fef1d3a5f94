"""Segue's training step beside that of open_clip and LAION-CLAP, on one device in one run.

Both train the same ClapModel on the same samples in the same order; README.md tells what is
measured. The contenders take turns, each turn in a process of its own, so that neither memory nor
caches of one are left to the next.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import torch
from transformers.utils.logging import disable_progress_bar

from benchmarks.trainer.peer import open_clip_losses
from benchmarks.trainer.setting import Setup, Shapes, make_clap, make_corpus
from benchmarks.trainer.table import report, table
from benchmarks.trainer.turns import apart, take_turns
from train.config.run import Precision

RESULTS: Final = Path(__file__).parents[1] / "results" / "trainer.json"
MOST_WORKERS: Final = 8


class _Help(argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter):
    """Keeps the docstring's lines, and tells defaults."""


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options; what is not said follows the device."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.trainer", description=__doc__, formatter_class=_Help
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), help="cuda where there is one")
    parser.add_argument("--shapes", choices=[*Shapes], type=Shapes, help="tiny on a CPU")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--precision", choices=("bf16", "f32"), help="f32 on a CPU")
    parser.add_argument("--steps", type=int, default=20, help="steps that are measured")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each contender")
    parser.add_argument("--workers", type=int, help="that prepare batches; a core is left free")
    parser.add_argument("--json", type=Path, default=RESULTS, help="where the figures go")
    options = parser.parse_args(arguments)
    options.device = options.device or ("cuda" if apart(torch.cuda.is_available) else "cpu")
    on_gpu = options.device == "cuda"
    options.shapes = options.shapes or (Shapes.HTSAT_TINY if on_gpu else Shapes.TINY)
    options.precision = options.precision or ("bf16" if on_gpu else "f32")
    cores = os.cpu_count() or 1
    options.workers = options.workers or max(min(cores - 1, MOST_WORKERS), 1)
    return options


def main() -> None:
    disable_progress_bar()
    options = parse()
    open_clip_losses()  # missing, it is told before any work
    with tempfile.TemporaryDirectory() as scratch:
        corpus = apart(make_corpus, Path(scratch) / "corpus", options.batch)
        setup = Setup(
            corpus=corpus,
            clap=apart(make_clap, Path(scratch) / "clap", options.shapes, corpus),
            device=options.device,
            precision=Precision.BFLOAT16 if options.precision == "bf16" else Precision.FLOAT32,
            batch=options.batch,
            steps=options.steps,
            workers=options.workers,
        )
        found = report(options, take_turns(setup, options.repeats))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(table(found))


if __name__ == "__main__":
    main()
