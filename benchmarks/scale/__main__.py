"""What grows with the rows of a plan: planning, a render worker, a trainer's step; and engines.

    python -m benchmarks.scale > benchmarks/results/scale.md
    python -m benchmarks.scale --only plan --rows 100000 1000000

What 10 million rows take is the line through the two largest sizes that were run. Linux only:
memory is what /proc tells.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.core import table
from benchmarks.core.contenders import take_turns
from benchmarks.scale.planning import list_engines, list_plans
from benchmarks.scale.training import BATCH, WARM_STEPS, list_trainings

ROWS: Final = {"plan": [100_000, 1_000_000, 3_000_000], "train": [100_000, 1_000_000, 10_000_000]}
WANTED: Final = 10_000_000
LEAST: Final = 1_000_000
AIM_MIB: Final = 2048
TRAINED: Final = {
    "start_s": "start, s",
    "order_ms": "order, ms",
    "batch_ms": "batch, ms",
    "step_ms": "step, ms",
    "slowest_ms": "slowest step, ms",
    "RssAnon": "own memory, MiB",
    "peak_anon_mib": "peak",
    "RssFile": "pages of files, MiB",
    "Pss": "PSS, MiB",
    "peak_rss_mib": "peak RSS, MiB",
}
PLANNED: Final = {
    "cpu_ms": "CPU a row, ms",
    "wall_s": "wall, s",
    "peak_anon_mib": "own memory at most, MiB",
    "peak_rss_mib": "peak RSS, MiB",
}


def describe(medians: table.Medians, measures: dict[str, str], what: str) -> str:
    rows = (
        [case, name, *(f"{values[key]:,.{2 if values[key] < 10 else 0}f}" for key in measures)]
        for case, by_name in medians.items()
        for name, values in by_name.items()
    )
    return table.markdown(["Planned rows", what, *measures.values()], rows, text=2)


def extrapolate(medians: table.Medians) -> Iterator[table.Aim]:
    """The peak at `WANTED` rows, by the line through the two largest sizes."""
    sizes = [(int(case.replace(",", "")), by_name) for case, by_name in medians.items()]
    sizes = [size for size in sizes if size[0] >= LEAST]  # below, mapped pages are not all touched
    if len(sizes) > 1:
        (few, small), (many, large) = sorted(sizes, key=lambda size: size[0])[-2:]
        for name in large:
            least, most = (by_name[name]["peak_rss_mib"] for by_name in (small, large))
            slope = max(0.0, (most - least) / (many - few))
            aim = f"{name}: peak at {WANTED:,} rows, MiB"
            yield table.Aim(aim, most + slope * (WANTED - many), AIM_MIB, at_most=True)


def main() -> None:
    """Build, take turns, and print the tables."""
    parser = table.make_parser("scale", __doc__, repeats=1)
    only = ("plan", "train", "engine")
    parser.add_argument("--only", nargs="+", choices=only, default=only)
    parser.add_argument("--rows", type=int, nargs="+", help="other numbers of rows")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--samples", type=int, default=6_000, help="that engines render")
    options = parser.parse_args()
    rows = dict.fromkeys(ROWS, options.rows or [2_000, 20_000]) if options.quick else ROWS
    rows = rows | dict.fromkeys(ROWS, options.rows) if options.rows else rows
    steps = 2 * WARM_STEPS if options.quick else options.steps
    parts = [f"`python -m benchmarks.scale`\n\n{table.machine()}, load {table.load()} before"]
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary:
        out, scratch = options.folder or Path(temporary), Path(temporary)
        if "plan" in options.only:
            results += (turns := take_turns([*list_plans(out, rows["plan"])], 1, scratch))
            medians = table.medians(turns)
            parts += [describe(medians, PLANNED, "Process")]
            parts += [table.aim_table(aim.to_json() for aim in extrapolate(medians))]
        if "train" in options.only:
            turns = []
            for contender in list_trainings(out, rows["train"], options.ranks, steps):
                turns += take_turns([contender], 1, scratch)
            results, medians = results + turns, table.medians(turns)
            parts += [f"Batches of {BATCH}, {steps} steps"]
            parts += [describe(medians, TRAINED, "Ranks, rows laid out before")]
            parts += [table.aim_table(aim.to_json() for aim in extrapolate(medians))]
        if "engine" in options.only:
            samples = 120 if options.quick else options.samples
            results += (turns := take_turns([*list_engines(samples)], options.repeats, scratch))
            cells = (
                (name, f"{values['wall_s']:.1f} s", f"{values['cpu_s']:.1f} s")
                for name, values in table.medians(turns)["engine"].items()
            )
            parts += [f"{samples:,} samples, planned and rendered"]
            parts += [table.markdown(("Engine, workers", "wall", "CPU in all"), cells)]
    print("\n\n".join(parts))
    table.write_json(options.json, results)


if __name__ == "__main__":
    main()
