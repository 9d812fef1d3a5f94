"""The order of boxes and bends on each floor, and where their middles stand."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import fsum
from typing import Final

BOX_GAP: Final = 22
BEND_GAP: Final = 12
STARTS: Final = 24
SWEEPS: Final = 10

Edge = tuple[str, str]
Node = str | tuple[str, str, int]
"""A box, or a bend: where an arrow passes a floor."""
Link = tuple[Node, Node]


def ordered(
    rows: list[list[Node]], chains: Mapping[Edge, list[Node]], widths: Mapping[Node, int]
) -> dict[Node, float]:
    """The middles of all nodes, with the fewest crossings and the straightest arrows found."""
    links = [link for chain in chains.values() for link in pairwise(chain)]
    beside: dict[Node, list[Node]] = {node: [] for row in rows for node in row}
    for a, b in links:
        beside[a].append(b)
        beside[b].append(a)
    found = []
    for start in range(STARTS):
        order = [linked for row in rows if (linked := [node for node in row if beside[node]])]
        shuffle = random.Random(start).shuffle  # the same on every machine
        for row in order if start else []:
            shuffle(row)
        for sweep in range(SWEEPS):
            _sweep(order, beside, downward=bool(sweep % 2))
        _swap(order, links)
        middles = _middles(order, beside, widths)
        bent = round(fsum(abs(middles[a] - middles[b]) for a, b in links))
        found.append((_crossings(order, links), bent, start, middles))
    middles = min(found, key=lambda each: each[:3])[3]
    for row in rows:
        middles |= _beside([node for node in row if not beside[node]], row, middles, widths)
    return middles


def _beside(
    alone: Sequence[Node],
    row: Sequence[Node],
    middles: Mapping[Node, float],
    widths: Mapping[Node, int],
) -> dict[Node, float]:
    """Boxes without an arrow, in their row's order, at the right of those that have one."""
    ends = [middles[node] + widths[node] / 2 for node in row if node in middles]
    total = sum(widths[node] for node in alone) + BOX_GAP * (len(alone) - 1)
    right = max(ends) + BOX_GAP if ends else -total / 2
    placed = {}
    for node in alone:
        placed[node] = right + widths[node] / 2
        right += widths[node] + BOX_GAP
    return placed


def _sweep(order: list[list[Node]], beside: Mapping[Node, list[Node]], downward: bool) -> None:
    """Sort each floor by where its neighbours on the one before it are."""
    at = {node: i for row in order for i, node in enumerate(row)}
    floors = order[::-1] if downward else order
    for before, row in pairwise(floors):
        means = {}
        for node in row:
            near = [at[each] for each in beside[node] if each in before]
            means[node] = fsum(near) / len(near) if near else at[node]
        row.sort(key=means.__getitem__)
        at.update({node: i for i, node in enumerate(row)})


def _swap(order: list[list[Node]], links: Sequence[Link]) -> None:
    """Exchange neighbours as long as that saves crossings."""
    fewest = _crossings(order, links)
    better = True
    while better:
        better = False
        for row in order:
            for i in range(len(row) - 1):
                row[i], row[i + 1] = row[i + 1], row[i]
                crossings = _crossings(order, links)
                if crossings < fewest:
                    fewest, better = crossings, True
                else:
                    row[i], row[i + 1] = row[i + 1], row[i]


def _crossings(order: list[list[Node]], links: Sequence[Link]) -> int:
    at = {node: (floor, i) for floor, row in enumerate(order) for i, node in enumerate(row)}
    between: dict[int, list[tuple[int, int]]] = {}
    for a, b in links:
        (low, i), (_, j) = sorted((at[a], at[b]))
        between.setdefault(low, []).append((i, j))
    return sum(
        (i - k) * (j - m) < 0
        for pairs in between.values()
        for n, (i, j) in enumerate(pairs)
        for k, m in pairs[:n]
    )


def _middles(
    order: list[list[Node]], beside: Mapping[Node, list[Node]], widths: Mapping[Node, int]
) -> dict[Node, float]:
    """Each node as near to the middle of its neighbours as the others on its floor allow."""
    middles: dict[Node, float] = {}
    for row in order:
        middles |= _apart(row, dict.fromkeys(row, 0.0), widths)
    for turn in range(24):
        for row in order if turn % 2 else order[::-1]:
            wanted = {}
            for node in row:
                near = [middles[each] for each in beside[node]]
                wanted[node] = fsum(near) / len(near) if near else middles[node]
            middles |= _apart(row, wanted, widths)
    return middles


def _apart(
    row: Sequence[Node], wanted: Mapping[Node, float], widths: Mapping[Node, int]
) -> dict[Node, float]:
    """The places nearest to what is wanted, by least squares, where nothing overlaps."""
    offsets = [0.0]
    for a, b in pairwise(row):
        gap = BOX_GAP if isinstance(a, str) and isinstance(b, str) else BEND_GAP
        offsets.append(offsets[-1] + widths[a] / 2 + gap + widths[b] / 2)
    blocks: list[list[float]] = []
    for node, offset in zip(row, offsets, strict=True):
        blocks.append([wanted[node] - offset])
        while len(blocks) > 1 and _mean(blocks[-2]) > _mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    places = [_mean(block) for block in blocks for _ in block]
    return {node: p + offset for node, p, offset in zip(row, places, offsets, strict=True)}


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)
