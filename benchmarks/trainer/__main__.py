"""Segue's training step beside that of open_clip and LAION-CLAP, on one device in one run.

Both train the same ClapModel on the same samples in the same order; README.md tells what is
measured.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import torch
from transformers.utils.logging import disable_progress_bar

from benchmarks.core import table
from benchmarks.core.contenders import ROOT, Contender, take_turns
from benchmarks.trainer.peer import open_clip_losses
from benchmarks.trainer.setting import Setup, Shapes, make_clap, make_corpus
from benchmarks.trainer.turn import LEARNERS

RESULTS: Final = ROOT / "benchmarks" / "results" / "trainer.json"
MOST_WORKERS: Final = 8
CASE: Final = "train"
MEASURES: Final = ("step_samples_per_s", "samples_per_s", "data_wait", "peak_mib")
SETTINGS: Final = ("device", "shapes", "batch", "precision", "steps", "repeats", "workers")


def parse() -> argparse.Namespace:
    """The options; what is not said follows the device."""
    parser = table.make_parser("trainer", __doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), help="cuda where there is one")
    parser.add_argument("--shapes", choices=[*Shapes], type=Shapes, help="tiny on a CPU")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--precision", choices=("bf16", "f32"), help="f32 on a CPU")
    parser.add_argument("--steps", type=int, default=20, help="steps that are measured")
    parser.add_argument("--workers", type=int, help="that prepare batches; a core is left free")
    options = parser.parse_args()
    options.json = options.json or RESULTS
    if options.quick:
        options.batch, options.steps, options.repeats = 4, 1, 1
    options.device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    on_gpu = options.device == "cuda"
    options.shapes = options.shapes or (Shapes.HTSAT_TINY if on_gpu else Shapes.TINY)
    options.precision = options.precision or ("bf16" if on_gpu else "f32")
    options.workers = options.workers or max(min((os.cpu_count() or 1) - 1, MOST_WORKERS), 1)
    return options


def summarise(turns: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """For each contender the median of every measure, and its speed beside the faster peer's."""
    medians = table.medians(turns)[CASE]
    summary = {name: {measure: medians[name][measure] for measure in MEASURES} for name in LEARNERS}
    for speed, ratio in (("step_samples_per_s", "step_ratio"), ("samples_per_s", "ratio")):
        fastest = max(summary[name][speed] for name in summary if name.startswith("open_clip"))
        for values in summary.values():
            values[ratio] = values[speed] / fastest
    return summary


def describe(report: dict[str, Any]) -> str:
    """The medians in Markdown, speeds with the slowest and the fastest turn."""
    settings = report["settings"]

    def speed(name: str, measure: str) -> str:
        values = [turn[measure] for turn in report["turns"] if turn["contender"] == name]
        return f"{report['medians'][name][measure]:.1f} ({min(values):.0f} to {max(values):.0f})"

    texts = {turn["contender"]: turn["texts"] for turn in report["turns"]}
    rows = (
        (
            name,
            texts[name],
            speed(name, "step_samples_per_s"),
            f"{values['step_ratio']:.2f}",
            speed(name, "samples_per_s"),
            f"{values['ratio']:.2f}",
            f"{values['data_wait']:.0%}",
            f"{values['peak_mib']:,.0f} MiB",
        )
        for name, values in report["medians"].items()
    )
    columns = "Contender|Texts a step|Step only, samples/s|of the faster peer's"
    columns += "|End to end, samples/s|of the faster peer's|Waiting for data|Peak memory"
    return (
        f"{report['device_name']}; shapes {settings['shapes']}, batch {settings['batch']}, "
        f"{settings['precision']}, {settings['steps']} steps x {settings['repeats']} repeats, "
        f"{settings['workers']} workers; {table.list_versions(report['versions'])}\n\n"
        + table.markdown(columns.split("|"), rows)
    )


def main() -> None:
    disable_progress_bar()
    options = parse()
    open_clip_losses()  # missing, it is told before any work
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        corpus = make_corpus(Path(scratch) / "corpus", options.batch)
        setup = Setup(
            corpus=str(corpus),
            clap=str(make_clap(Path(scratch) / "clap", options.shapes, corpus)),
            device=options.device,
            reduced=options.precision == "bf16",
            batch=options.batch,
            steps=options.steps,
            workers=options.workers,
        )
        contenders = [
            Contender(
                CASE, name, "benchmarks.trainer.turn", {"learner": name, "setup": asdict(setup)}
            )
            for name in LEARNERS
        ]
        turns = take_turns(contenders, options.repeats, Path(scratch))
    on_gpu = options.device == "cuda"
    report = {
        "device_name": torch.cuda.get_device_name() if on_gpu else table.machine(),
        "versions": table.versions("torch", "transformers", "open_clip_torch", "segue-audio"),
        "settings": {name: str(getattr(options, name)) for name in SETTINGS},
        "medians": summarise(turns),
        "turns": turns,
    }
    table.write_json(options.json, report)
    print(describe(report))


if __name__ == "__main__":
    main()
