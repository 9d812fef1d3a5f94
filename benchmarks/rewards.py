"""Rewards: what an export `grpo` pays for the truth, for its rival, and for the text alone.

    python -m benchmarks.rewards MANIFEST EXPORT [--most 10000]

Beside it, what would be paid for the truth with outer labels: of the same scenes, but with every
sound heard from the first to the last sample of its excerpt.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.core.table import markdown
from pipelines.checks.exported import read_lines
from synth.corpus.corpus import Corpus
from synth.derived.questions import Subject
from synth.derived.reward import ABSENT, INTERVAL, MOST_CHARACTERS, score, wrap
from synth.derived.scoring import SCORED_KINDS, find_times, say_times
from synth.export.items import list_shards
from synth.scene.claim import claim_from_text, claim_labels


def pay(row: Mapping[str, Any], answer: str) -> float:
    """The reward of an answer, some thoughts before it."""
    return score(row["kind"], f"<think>Well.</think> {wrap(answer)}", row["solution"])


def pay_best_guess(rows: Sequence[Mapping[str, Any]]) -> float:
    """All rewards of who reads the text alone, and gives the answer to it that pays most here."""
    by_text = defaultdict(list)
    for row in rows:
        by_text[row["proof"]["prompt"]].append(row)
    return sum(
        max(sum(pay(row, answer) for row in alike) for answer in {row["solution"] for row in alike})
        for alike in by_text.values()
    )


def blur(subject: Subject) -> Subject:
    """The same sample with outer labels."""
    heard = subject.heard
    places = tuple(replace(place, activity=None) for place in heard.placements)
    return replace(subject, heard=replace(heard, placements=places))


def judge(row: Mapping[str, Any], subject: Subject) -> str | float:
    """What outer labels make of the truth: its verdict, or of times its reward."""
    claim = claim_from_text(row["proof"]["claims"][0])
    if row["kind"] in (INTERVAL, ABSENT) and row["solution"] != "none":
        (label,) = claim_labels(claim)
        return score(row["kind"], wrap(row["solution"]), say_times(find_times(subject, label)))
    if subject.refutes(claim):
        return "refuted"
    return "proven" if subject.proves(claim) else "not proven"


def measure_calls(rows: Sequence[Mapping[str, Any]]) -> Iterator[float]:
    """Microseconds of each call."""
    for row in rows:
        begin = time.perf_counter_ns()
        pay(row, row["solution"])
        yield (time.perf_counter_ns() - begin) / 1000


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("export", type=Path)
    parser.add_argument("--most", type=int, default=10_000)
    given = parser.parse_args()
    corpus = Corpus.open(given.corpus)
    lines = (
        row for split in corpus.splits for _, row in read_lines(given.export / f"{split}.jsonl")
    )
    rows = list(islice(lines, given.most // 2 * 2))
    outer = {at.id: blur(at) for shard in list_shards(corpus) for at in shard.subjects()}
    paid, labels = [], []
    for kind in ("all", *SCORED_KINDS):
        own = [row for row in rows if kind in ("all", row["kind"])]
        count = len(own)
        texts = sum(pay(row, min(row["solution"], row["rival"])) for row in own)
        truths = [pay(row, row["solution"]) for row in own]
        rivals = [pay(row, row["rival"]) for row in own]
        figures = min(truths), max(rivals), texts / count, pay_best_guess(own) / count
        paid.append([kind, f"{count:,}", *(f"{figure:.4f}" for figure in figures)])
        verdicts = Counter(judge(row, outer[row["samples"][0]]) for row in own)
        times = [value for value in verdicts.elements() if isinstance(value, float)]
        labels.append(
            [kind, *(f"{verdicts[name]:,}" for name in ("proven", "not proven", "refuted"))]
            + [f"{len(times):,}", f"{sum(times) / max(1, len(times)):.3f}"]
            + [f"{sum(value < most for value in times):,}" for most in (0.5, 0.9)]
        )
    print(
        table(["kind", "prompts", "truth, least", "rival, most", "text alone", "best guess"], paid)
    )
    heads = ["kind", "proven", "not proven", "refuted", "times", "mean reward", "< 0.5", "< 0.9"]
    print("\nThe truth under outer labels:\n", markdown(heads, labels), sep="\n")
    calls = sorted(measure_calls(rows))
    hostile = {"kind": INTERVAL, "solution": max((row["solution"] for row in rows), key=len)}
    worst = list(measure_calls([hostile | {"solution": "1-2," * (MOST_CHARACTERS // 4)}] * 1000))
    print(
        f"\nmicroseconds a call: mean {sum(calls) / len(calls):.1f}, 99.9 % "
        f"{calls[len(calls) * 999 // 1000]:.1f}, most {calls[-1]:.1f}; longest solution "
        f"{min(measure_calls([hostile] * 1000)):.1f}, hostile {min(worst):.1f}"
    )


if __name__ == "__main__":
    main()
