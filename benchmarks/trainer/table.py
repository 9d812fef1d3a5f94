"""The figures as JSON and as a table in Markdown."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from statistics import median
from typing import Any

from benchmarks.trainer.measure import Turn, device_name
from benchmarks.trainer.turns import CONTENDERS, PEERS, apart


def summary(turns: Sequence[Turn]) -> dict[str, dict[str, float]]:
    """For each contender the median of every measure, and its speed beside the faster peer's."""
    measures = ("step_samples_per_s", "samples_per_s", "data_wait", "peak_mib")
    found = {
        name: {
            measure: median(getattr(turn, measure) for turn in turns if turn.contender == name)
            for measure in measures
        }
        for name in CONTENDERS
    }
    for speed, ratio in (("step_samples_per_s", "step_ratio"), ("samples_per_s", "ratio")):
        fastest = max(found[name][speed] for name in PEERS)
        for values in found.values():
            values[ratio] = values[speed] / fastest
    return found


def report(options: argparse.Namespace, turns: Sequence[Turn]) -> dict[str, Any]:
    """All that the JSON holds."""
    packages = ("torch", "transformers", "open_clip_torch", "segue-audio")
    settings = ("device", "shapes", "batch", "precision", "steps", "repeats", "workers")
    return {
        "device_name": apart(device_name, options.device),
        "versions": {"python": platform.python_version()} | {p: version(p) for p in packages},
        "settings": {name: str(getattr(options, name)) for name in settings},
        "medians": summary(turns),
        "turns": [asdict(turn) for turn in turns],
    }


def spread(turns: Sequence[dict[str, Any]], name: str, measure: str) -> str:
    """From the least to the most that the turns of a contender gave."""
    values = [turn[measure] for turn in turns if turn["contender"] == name]
    return f"{min(values):.0f} to {max(values):.0f}"


def table(found: dict[str, Any]) -> str:
    """The medians in Markdown, speeds with the slowest and the fastest turn."""
    settings, turns = found["settings"], found["turns"]
    texts = {turn["contender"]: turn["texts"] for turn in turns}
    lines = [
        f"{found['device_name']}; shapes {settings['shapes']}, batch {settings['batch']}, "
        f"{settings['precision']}, {settings['steps']} steps x {settings['repeats']} repeats, "
        f"{settings['workers']} workers; "
        + ", ".join(f"{name} {number}" for name, number in found["versions"].items()),
        "",
        "| Contender | Texts a step | Step only, samples/s | of the faster peer's "
        "| End to end, samples/s | of the faster peer's | Waiting for data | Peak memory |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, values in found["medians"].items():
        cells = (
            name,
            texts[name],
            f"{values['step_samples_per_s']:.1f} ({spread(turns, name, 'step_samples_per_s')})",
            f"{values['step_ratio']:.2f}",
            f"{values['samples_per_s']:.1f} ({spread(turns, name, 'samples_per_s')})",
            f"{values['ratio']:.2f}",
            f"{values['data_wait']:.0%}",
            f"{values['peak_mib']:,.0f} MiB",
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)
