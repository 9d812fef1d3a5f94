"""The table of `triplets` and its claims: ZSTE's tasks, with the paper's values."""

from __future__ import annotations

from typing import Final

from experiments.harness.claims import (
    Cell,
    Claim,
    claim_alike,
    claim_at_least,
    claim_better,
    claim_near,
)
from experiments.harness.experiment import Line

ON_SINGLES, ON_PAIRS = "single", "pairs"
"""Exams: on single sounds, and on two sounds joined or overlaid."""
ORDER = "order"
"""Exam of Ghosh et al.'s CompA-order, made of the same two sounds."""
GROUP = f"{ORDER}.compa_all_group"

CLAP, B, AB = "no post-training", "B", "A then B"
B_ZERO, AB_ZERO = "B, alpha 0", "A then B, alpha 0"
MIXED, SCATTERED = "A with B", "A then B, groups apart"
IN_PAPER: Final = (CLAP, B_ZERO, B, AB_ZERO, AB)
"""CLAP of table V, and the rows of table IV in which all alpha are 0 or all are 1."""


def _make_line(metric: str, title: str, *percent: float) -> Line:
    paper = zip(IN_PAPER, percent, strict=True) if percent else ()
    return Line(metric, title, {arm: value / 100 for arm, value in paper})


def _name_pairs_metric(task: str) -> str:
    return f"{ON_PAIRS}.zste_{task}"


T1: Final = f"{ON_SINGLES}.zste_t1"
T2A, T2B, T2C, T2D = map(_name_pairs_metric, ("t2a", "t2b", "t2c", "t2d"))
T3, T3_BEFORE, T3_WHILE = map(_name_pairs_metric, ("t3", "t3_before", "t3_while"))
T4, T4_BEFORE, T4_WHILE = map(_name_pairs_metric, ("t4", "t4_before", "t4_while"))
T5A, T5A_HALF, T5B, T5B_HALF = map(
    _name_pairs_metric, ("t5a", "t5a_half_credit", "t5b", "t5b_half_credit")
)

LINES: Final = (
    _make_line(T1, "T1: the class of a single sound", 81.22, 78.77, 76.14, 77.34, 75.11),
    _make_line(T2A, "T2A: both classes of joined sounds", 9.59, 10.11, 12.20, 38.45, 46.78),
    _make_line(T2B, "T2B: at least one of them", 81.00, 77.60, 83.61, 80.90, 86.12),
    _make_line(T2C, "T2C: both classes of overlaid sounds", 9.39, 8.46, 11.44, 49.87, 62.34),
    _make_line(T2D, "T2D: at least one of them", 80.00, 78.01, 83.20, 79.67, 85.45),
    _make_line(T3, "T3: before, reversed or while"),
    _make_line(T3_BEFORE, "T3A: of joined sounds", 33.27, 32.67, 51.30, 34.22, 54.56),
    _make_line(T3_WHILE, "T3B: of overlaid sounds", 34.29, 31.57, 22.83, 33.12, 56.78),
    _make_line(T4, "T4: T3 among prompts of absent classes"),
    _make_line(T4_BEFORE, "T4A: of joined sounds", 2.40, 3.50, 41.10, 34.50, 46.23),
    _make_line(T4_WHILE, "T4B: of overlaid sounds", 1.98, 1.12, 9.18, 32.15, 44.89),
    _make_line(
        T5A, "T5A: which is first and which second, strict", 26.00, 26.01, 31.21, 27.34, 32.45
    ),
    _make_line(T5A_HALF, "T5A, half credit"),
    _make_line(T5B, "T5B: simultaneous, both orders, strict", 0.00, 1.10, 15.80, 2.01, 18.34),
    _make_line(T5B_HALF, "T5B, half credit"),
    _make_line(GROUP, "ours: CompA-order of the same sounds, group score"),
)


def _claim_above(task: str, arm: str, other: str, metric: str, numbers: str) -> Claim:
    """That `arm` is above `other` on a task."""
    return claim_better(
        f"{task}: {arm} is above {other} ({numbers})", Cell(arm, metric), Cell(other, metric)
    )


CLAIMS: Final = (
    _claim_above("T2A", AB, B, T2A, "47 and 12 %"),
    _claim_above("T2C", AB, B, T2C, "62 and 11 %"),
    _claim_above("T3A", AB, B, T3_BEFORE, "55 and 51 %"),
    _claim_above("T3B", AB, B, T3_WHILE, "57 and 23 %"),
    _claim_above("T4A", AB, B, T4_BEFORE, "46 and 41 %"),
    _claim_above("T4B", AB, B, T4_WHILE, "45 and 9 %"),
    _claim_above("T3A", AB, AB_ZERO, T3_BEFORE, "55 and 34 %"),
    _claim_above("T3B", AB, AB_ZERO, T3_WHILE, "57 and 33 %"),
    _claim_above("T4A", AB, AB_ZERO, T4_BEFORE, "46 and 35 %"),
    _claim_above("T4B", AB, AB_ZERO, T4_WHILE, "45 and 32 %"),
    _claim_above("T3A", B, B_ZERO, T3_BEFORE, "51 and 33 %"),
    claim_near(
        "T3A: without post-training at chance (33 %)", Cell(CLAP, T3_BEFORE), 1 / 3, within=0.1
    ),
    claim_alike("T1: kept by A then B (75 and 81 %)", Cell(AB, T1), Cell(CLAP, T1), within=0.1),
    _claim_above("ours, T3", AB, MIXED, T3, "what stages add"),
    _claim_above("ours, T3", AB, SCATTERED, T3, "what minimal pairs in a batch add"),
    _claim_above("ours, T4", AB, SCATTERED, T4, "what minimal pairs in a batch add"),
    claim_at_least("our aim: T3 of A then B is 90 % or more", Cell(AB, T3), 0.9),
    claim_at_least(
        "our aim: CompA-order's group score of A then B is 90 % or more", Cell(AB, GROUP), 0.9
    ),
)
