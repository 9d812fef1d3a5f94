"""What each drawing shows, from the import graph."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final

import grimp

from drawings.order import Edge
from pipelines.cli.commands import COMMANDS

ROOT: Final = Path(__file__).resolve().parents[2]
WHOLE: Final = "segue"
"""The drawing of all packages, and the box of the one on top: `import segue`, and the command."""
PACKAGES: Final = ("experiments", "pipelines", "train", "synth", "prompts")
FEWEST: Final = 4
"""A package with fewer modules is not drawn."""
MOST: Final = 12
"""Boxes a drawing has at most; in packages with more modules, some share a box."""
LOADER: Final = "pipelines.cli.app"
"""Loads the commands."""


@dataclass(frozen=True)
class ModuleDrawing:
    """What a drawing shows: `package` is a dotted name, or the whole."""

    package: str
    boxes: Mapping[str, tuple[str, ...]]
    """The children of each box, by the box's name."""
    plain: frozenset[Edge]
    """Import statements, from box to box."""
    called: frozenset[Edge]
    """What is loaded when a command is called, or read as a file."""
    upward: frozenset[Edge]
    """Imports that close a circle."""
    outside: tuple[str, ...]
    """What the package imports that is not its own."""


def drawings() -> Iterator[ModuleDrawing]:
    """All of them, in the order of the page."""
    graph = grimp.build_graph(WHOLE, *PACKAGES, cache_dir=None)
    yield _whole(graph)
    for package in PACKAGES:
        for each in sorted([package, *graph.find_descendants(package)]):
            if len(graph.find_children(each)) >= FEWEST:
                yield _inside(graph, each)


def _whole(graph: grimp.ImportGraph) -> ModuleDrawing:
    plain = Counter(
        (a.partition(".")[0], b.partition(".")[0]) for a, b in _imports(graph, graph.modules)
    )
    called = {(WHOLE, entry.partition(".")[0]) for entry in COMMANDS.values()}
    called |= {(package, read) for package in PACKAGES for read in _files_read(package)}
    return _drawing(WHOLE, (WHOLE, *PACKAGES), plain, called, ())


def _inside(graph: grimp.ImportGraph, package: str) -> ModuleDrawing:
    inner = graph.find_descendants(package)
    plain: Counter[Edge] = Counter()
    outside = set()
    for a, b in _imports(graph, {package, *inner}):
        if b in inner and a in inner:
            plain[_child(package, a), _child(package, b)] += 1
        elif b != package and b not in inner:
            outside.add(_first_apart(package, b))
    called = {
        (_child(package, LOADER), _child(package, module))
        for module in (entry.partition(":")[0] for entry in COMMANDS.values())
        if LOADER in inner and module in inner
    }
    children = sorted(each.rpartition(".")[2] for each in graph.find_children(package))
    return _drawing(package, children, plain, called, sorted(outside))


def _imports(graph: grimp.ImportGraph, modules: Iterable[str]) -> Iterator[Edge]:
    for module in sorted(modules):
        for imported in sorted(graph.find_modules_directly_imported_by(module)):
            yield module, imported


def _child(package: str, module: str) -> str:
    """The name of the child of a package that a module is, or is in."""
    return module[len(package) + 1 :].partition(".")[0]


def _first_apart(package: str, module: str) -> str:
    """A module outside a package by the part that tells them apart, as in `base` or `synth`."""
    own, parts = package.split("."), module.split(".")
    same = next((i for i, (a, b) in enumerate(zip(own, parts, strict=False)) if a != b), len(own))
    return ".".join(parts[min(same, 1) : same + 1])


def _files_read(package: str) -> set[str]:
    """The other packages whose files a package reads: `files("prompts")`."""
    found = set()
    for path in (ROOT / package).rglob("*.py"):
        for name in re.findall(r'\bfiles\("(\w+)"\)', path.read_text(encoding="utf-8")):
            found.add(name)
    return found & set(PACKAGES) - {package}


def _drawing(
    package: str,
    children: Iterable[str],
    imports: Counter[Edge],
    called: set[Edge],
    outside: Iterable[str],
) -> ModuleDrawing:
    plain = {edge for edge in imports if edge[0] != edge[1]}
    upward = _upward(plain, imports)
    plain -= upward
    called = {edge for edge in called if edge[0] != edge[1]} - plain
    box_of = _shared(children, plain | called)
    plain, called, upward = (_between(edges, box_of) for edges in (plain, called, upward))
    return ModuleDrawing(
        package,
        {
            box: tuple(sorted(child for child in box_of if box_of[child] == box))
            for box in sorted(set(box_of.values()))
        },
        frozenset(edge for edge in plain if not _reaches(plain - {edge}, *edge)),
        frozenset(
            # The whole shows all that the command loads.
            edge
            for edge in called
            if package == WHOLE or not _reaches((plain | called) - {edge}, *edge)
        ),
        frozenset(upward - plain - called),
        tuple(outside),
    )


def _upward(edges: set[Edge], imports: Counter[Edge]) -> set[Edge]:
    """The fewest imports without which there is no circle, as nearly as a greedy choice finds."""
    cut: set[Edge] = set()
    while circular := [edge for edge in edges - cut if _reaches(edges - cut, edge[1], edge[0])]:
        cut.add(min(circular, key=lambda edge: (imports[edge], edge)))
    return cut


def _shared(children: Iterable[str], edges: set[Edge]) -> dict[str, str]:
    """The box of each child: those with the most imports and importers in common share one.

    No circle comes of it: boxes that share are not, or only directly, above each other.
    """
    box_of = {child: child for child in children}
    while len(boxes := sorted(set(box_of.values()))) > MOST:
        between = _between(edges, box_of)
        near = {box: _near(between, box) for box in boxes}
        pairs = []
        for a, b in combinations(boxes, 2):
            direct = {(a, b), (b, a)} & between
            if not any(_reaches(between - direct, *edge) for edge in ((a, b), (b, a))):
                size = sum(box in (a, b) for box in box_of.values())
                alike = len(near[a] & near[b]) / max(1, len(near[a] | near[b]))
                pairs.append((bool(direct), size, -alike, a, b))
        *_, a, b = min(pairs)
        members = sorted(child for child, box in box_of.items() if box in (a, b))
        box_of |= dict.fromkeys(members, ", ".join(members))
    return box_of


def _between(edges: set[Edge], box_of: Mapping[str, str]) -> set[Edge]:
    return {(box_of[a], box_of[b]) for a, b in edges if box_of[a] != box_of[b]}


def _near(edges: set[Edge], box: str) -> set[tuple[str, str]]:
    below = {("imports", b) for a, b in edges if a == box}
    return below | {("imported by", a) for a, b in edges if b == box}


def _reaches(edges: set[Edge], start: str, end: str) -> bool:
    seen, left = {start}, [start]
    while left:
        at = left.pop()
        new = {b for a, b in edges if a == at} - seen
        if end in new:
            return True
        seen |= new
        left += new
    return False
