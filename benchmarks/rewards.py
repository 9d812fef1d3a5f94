"""Rewards: what an export `grpo` pays for the truth, for its rival, and for the text alone.

    segue build rewards.yaml        # recipe: {scenes: {scenes: 1200}}, audio: {sample_rate: 16000}
    segue export data_manifests/rewards --to grpo --out out/grpo
    python -m benchmarks.rewards data_manifests/rewards out/grpo > benchmarks/results/rewards.md

Beside it, what outer labels would pay: prompts about the same scenes, made as if every sound were
heard from the first to the last sample of its excerpt, judged by when it is heard.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.core.table import load, machine, markdown
from synth.base.doors import read_json_lines
from synth.corpus.corpus import Corpus
from synth.derived.questions import Subject
from synth.derived.reward import ABSENT, INTERVAL, MOST_STRETCHES, NONE, SCORED_KINDS, score, wrap
from synth.derived.scoring import ScoredPrompt, find_scored, find_times, say_times
from synth.export.base import RANDOMNESS
from synth.export.items import list_shards
from synth.scene.claim import claim_labels


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
    timeline = subject.timeline
    places = tuple(place._replace(activity=None) for place in timeline.placements)
    return replace(subject, timeline=replace(timeline, placements=places))


def judge(prompt: ScoredPrompt, subject: Subject) -> str | float:
    """Whether the solution of outer labels is true; of times, what they pay for the true ones."""
    (claim,) = prompt.exchange.claims
    if prompt.kind in (INTERVAL, ABSENT) and prompt.exchange.answer != NONE:
        (label,) = claim_labels(claim)
        times = say_times(find_times(subject, label))
        return score(prompt.kind, wrap(times), prompt.exchange.answer)
    if subject.refutes(claim):
        return "refuted"
    return "proven" if subject.proves(claim) else "not proven"


def time_call(row: Mapping[str, Any]) -> float:
    """Microseconds of a call, the least of five."""
    times = []
    for _ in range(5):
        begin = time.perf_counter_ns()
        pay(row, row["solution"])
        times.append((time.perf_counter_ns() - begin) / 1000)
    return min(times)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("export", type=Path)
    parser.add_argument("--most", type=int, default=10_000)
    options = parser.parse_args()
    corpus = Corpus.open(options.corpus)
    lines = (
        row
        for split in corpus.splits
        for _, row in read_json_lines(options.export / f"{split}.jsonl")
    )
    rows = list(islice(lines, options.most // 2 * 2))
    subjects = [shard.subjects() for shard in list_shards(corpus)]
    by_id = {subject.id: subject for part in subjects for subject in part}
    scored = (find_scored([*map(blur, part)], RANDOMNESS).made for part in subjects)
    outer = [prompt for prompts in scored for prompt in prompts][: len(rows)]
    print(f"# Rewards\n\n`python -m benchmarks.rewards`, {machine()}, load {load()}.\n")
    paid, labels = [], []
    for kind in ("all", *SCORED_KINDS):
        chosen = [row for row in rows if kind in ("all", row["kind"])]
        count = len(chosen)
        texts = sum(pay(row, min(row["solution"], row["rival"])) for row in chosen)
        truths = [pay(row, row["solution"]) for row in chosen]
        rivals = [pay(row, row["rival"]) for row in chosen]
        figures = min(truths), max(rivals), texts / count, pay_best_guess(chosen) / count
        paid.append([kind, f"{count:,}", *(f"{figure:.4f}" for figure in figures)])
        verdicts = Counter(
            judge(prompt, by_id[prompt.exchange.samples[0]])
            for prompt in outer
            if kind in ("all", prompt.kind)
        )
        times = [value for value in verdicts.elements() if isinstance(value, float)]
        labels.append(
            [kind, *(f"{verdicts[name]:,}" for name in ("proven", "not proven", "refuted"))]
            + [f"{len(times):,}", f"{sum(times) / max(1, len(times)):.3f}"]
            + [f"{sum(value < limit for value in times):,}" for limit in (0.5, 0.9)]
        )
    print(
        markdown(
            ["kind", "prompts", "truth, least", "rival, most", "text alone", "best guess"], paid
        )
    )
    heads = ["kind", "proven", "not proven", "refuted", "times", "mean reward", "< 0.5", "< 0.9"]
    print("\nOuter labels:\n", markdown(heads, labels), sep="\n")
    calls = [*map(time_call, rows)]
    longest = ", ".join(f"{at}.125-{at}.875" for at in range(MOST_STRETCHES))
    print(
        f"\nMicroseconds a call: mean {sum(calls) / len(calls):.1f}, most {max(calls):.1f}; the "
        f"longest answer that is read {time_call({'kind': INTERVAL, 'solution': longest}):.1f}."
    )


if __name__ == "__main__":
    main()
