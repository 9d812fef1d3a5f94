"""Where boxes and arrows stand: each box above all that it imports."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from drawings.order import BOX_GAP, Edge, Node, ordered

FLOOR_GAP: Final = 38
MARGIN: Final = 16
PADDING: Final = 9
WIDEST: Final = 760
"""Of the boxes on one floor; what does not fit goes one floor up."""


@dataclass(frozen=True)
class Box:
    """What is drawn of a box before it has a place."""

    name: str
    width: int
    height: int


@dataclass(frozen=True)
class DrawingLayout:
    """A drawing's measures, in whole pixels."""

    width: int
    height: int
    floors: Sequence[tuple[int, int]]
    """Top and height of each, the highest first."""
    corners: Mapping[str, tuple[int, int]]
    """Left and top of each box."""
    paths: Mapping[Edge, str]


def place(boxes: Sequence[Box], edges: Collection[Edge], upward: Collection[Edge]) -> DrawingLayout:
    """Lay out boxes: edges point down, but for those that are upward."""
    by_name = {box.name: box for box in boxes}
    floor = _floors(by_name, edges)
    rows: list[list[Node]] = [[] for _ in range(max(floor.values()) + 1)]
    for name in sorted(floor):
        rows[floor[name]].append(name)
    chains: dict[Edge, list[Node]] = {}
    for a, b in [*sorted(edges), *sorted(upward)]:
        step = -1 if floor[a] > floor[b] else 1
        passed = range(floor[a] + step, floor[b], step)
        for at in passed:
            rows[at].append((a, b, at))
        chains[a, b] = [a, *((a, b, at) for at in passed), b]
    widths: dict[Node, int] = {node: 0 for row in rows for node in row}
    widths |= {name: box.width for name, box in by_name.items()}
    return _measured(by_name, floor, chains, ordered(rows, chains, widths))


def _floors(boxes: Mapping[str, Box], edges: Collection[Edge]) -> dict[str, int]:
    """Each box as low as it can stand, then raised to where more arrows become shorter."""
    below = {name: {b for a, b in edges if a == name} for name in boxes}
    above = {name: {a for a, b in edges if b == name} for name in boxes}
    floor: dict[str, int] = {}
    alone = [name for name in sorted(boxes) if not below[name] and not above[name]]

    def free(name: str, at: int) -> bool:
        there = [boxes[each].width for each in floor if floor[each] == at and each != name]
        return not there or sum(there) + len(there) * BOX_GAP + boxes[name].width <= WIDEST

    def put(name: str, at: int) -> None:
        while not free(name, at):
            at += 1
        floor[name] = at

    while left := sorted(set(boxes) - set(floor) - set(alone)):
        ready = [name for name in left if below[name] <= set(floor)]
        for name in sorted(ready, key=lambda name: (-len(above[name]), name)):
            put(name, 1 + max((floor[each] for each in below[name]), default=-1))
    for name in sorted(floor, key=lambda name: (-floor[name], name)):
        if len(above[name]) > len(below[name]):
            ceiling = min(floor[each] for each in above[name])
            reach = range(ceiling - 1, floor[name], -1)
            floor[name] = next((at for at in reach if free(name, at)), floor[name])
    for name in alone:
        counts = [
            list(floor.values()).count(at) for at in range(max(floor.values(), default=0) + 1)
        ]
        put(name, counts.index(min(counts)))
    used = sorted(set(floor.values()))
    return {name: used.index(at) for name, at in floor.items()}


def _measured(
    boxes: Mapping[str, Box],
    floor: Mapping[str, int],
    chains: Mapping[Edge, list[Node]],
    middles: Mapping[Node, float],
) -> DrawingLayout:
    left = min(middles[name] - box.width / 2 for name, box in boxes.items())
    left = min(left, *middles.values()) - MARGIN
    right = max(middles[name] + box.width / 2 for name, box in boxes.items())
    right = max(right, *middles.values()) + MARGIN
    top = 2
    floors = []
    for at in range(max(floor.values()), -1, -1):
        tall = max(boxes[name].height for name in floor if floor[name] == at) + 2 * PADDING
        floors.append((top, tall))
        top += tall + FLOOR_GAP
    corners = {}
    for name, box in boxes.items():
        upper, tall = floors[len(floors) - 1 - floor[name]]
        x = round(middles[name] - left - box.width / 2)
        corners[name] = (x, upper + (tall - box.height) // 2)
    ports = _ports(boxes, floor, chains, middles)
    paths = {}
    for edge, chain in chains.items():
        stops = []
        for node in chain:
            if isinstance(node, str):
                y = corners[node][1]
                stops.append((middles[node] - left + ports[node, edge], y, boxes[node].height))
            else:
                stops.append((middles[node] - left, *floors[len(floors) - 1 - node[2]]))
        paths[edge] = _path(stops, downward=floor[edge[0]] > floor[edge[1]])
    return DrawingLayout(round(right - left), top - FLOOR_GAP + 2, floors, corners, paths)


def _ports(
    boxes: Mapping[str, Box],
    floor: Mapping[str, int],
    chains: Mapping[Edge, list[Node]],
    middles: Mapping[Node, float],
) -> dict[tuple[str, Edge], float]:
    """How far beside a box's middle each arrow begins or ends."""
    sides: dict[tuple[str, bool], list[tuple[float, Edge]]] = {}
    for edge, chain in chains.items():
        for end, other, near in ((edge[0], edge[1], chain[1]), (edge[1], edge[0], chain[-2])):
            sides.setdefault((end, floor[other] > floor[end]), []).append((middles[near], edge))
    ports = {}
    for (name, _), found in sides.items():
        step = min(18.0, (boxes[name].width - 24) / max(1, len(found) - 1))
        for at, (_, edge) in enumerate(sorted(found)):
            ports[name, edge] = (at - (len(found) - 1) / 2) * step
    return ports


def _path(stops: Sequence[tuple[float, int, int]], downward: bool) -> str:
    """From box to box, straight through each floor that is passed and curved between them."""
    (x, y, tall), *passed = stops
    at_x, at_y = round(x), y + tall if downward else y
    parts = [f"M{at_x} {at_y}"]
    for to, upper, tall in passed:
        to_x = round(to)
        near, far = (upper, upper + tall) if downward else (upper + tall, upper)
        bend = (at_y + near) // 2
        parts.append(f"C{at_x} {bend} {to_x} {bend} {to_x} {near}" if to_x != at_x else f"V{near}")
        if (to, upper, tall) != passed[-1]:
            parts.append(f"V{far}")
        at_x, at_y = to_x, far
    return "".join(parts)
