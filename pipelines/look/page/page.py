"""Writing a page: templates with their text escaped, and a file that replaces only its like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined
from numpy.typing import NDArray

from synth.base.atomic import write_text
from synth.base.doors import open_regular
from synth.base.errors import SpecError
from synth.storage import refuse_url

_SIGN: Final = b'<meta name="generator" content="segue report">'
_HEAD: Final = 2000


@dataclass(frozen=True, slots=True)
class Page:
    """A page that stands alone.

    Args:
        name: What it is of, in letters that a file's name may have.
        facts: What a program wants to know of it, as JSON values.
    """

    name: str
    html: str
    facts: Mapping[str, Any]


def render_page(template: str, packages: Mapping[str, str], **values: Any) -> str:
    """A page from a template; equal values give equal text.

    Args:
        template: `PREFIX/NAME` of the template, which extends `page/base.html`.
        packages: Packages with a folder `templates`, by the prefix that their templates go by.
        **values: What the template shows; every text is escaped.
    """
    rooms = {"page": "pipelines.look.page", **packages}
    environment = Environment(
        loader=PrefixLoader({prefix: PackageLoader(name) for prefix, name in rooms.items()}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(values)


def write_page(page: Page, out: Path) -> None:
    """Write a page to a file; an older report there is replaced."""
    refuse_url(out, "a report is written to a file", fix="give a file's name", option="--out")
    if out.is_dir():
        raise SpecError(f"--out {out}: this is a folder", fix=f"give {out / page.name}.html")
    if out.exists():
        with open_regular(out, refuse=SpecError) as file:
            if _SIGN not in file.read(_HEAD):
                raise SpecError(
                    f"--out {out}: exists and is not a report of Segue",
                    fix="choose another --out, or remove the file",
                )
    write_text(out, page.html)


# Axes: round numbers for ticks, and from a value to its place in a drawing.


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark of an axis: its text, and its place in the drawing's units."""

    text: str
    place: float


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values laid over a stretch of a drawing.

    Args:
        low: Value at `start`.
        high: Value at `end`, above `low`.
        start: Place of the lowest value, in the drawing's units.
        end: Place of the highest, which may lie before `start`, as on an axis that points up.
    """

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """Where a value lies, rounded to a tenth of a unit."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, most: int) -> tuple[Tick, ...]:
        """Round numbers within the range, `most` steps or fewer apart."""
        values = find_round_numbers(self.low, self.high, most)
        inside = values[(values >= self.low) & (values <= self.high)]
        return tuple(Tick(spoken(value), self.place(value)) for value in inside.tolist())


def find_round_numbers(low: float, high: float, most: int) -> NDArray[np.float64]:
    """Round numbers in `most` equal steps or fewer, the first and last around a range."""
    from matplotlib.ticker import MaxNLocator  # takes a while to import

    if low == high:
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    numbers = MaxNLocator(most, steps=[1, 2, 5, 10]).tick_values(low, high)
    return np.round(numbers, 12)  # else a value on the border of two bins may miss its own


def spoken(value: float) -> str:
    """A value of an axis, or of a summary, with four digits that count."""
    if value == 0:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


# Figures of a page: histograms and curves, as places in a drawing; a template writes the SVG.


MOST_BINS: Final = 24
_HISTOGRAM: Final = (440.0, 150.0)
_PLOT: Final = (440.0, 210.0)
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 8.0, 12.0, 24.0
_BY_COLUMN: Final = 2


@dataclass(frozen=True, slots=True)
class Bin:
    """A bar of a histogram.

    Args:
        high: One past the highest; the last bar counts it, too.
    """

    low: float
    high: float
    count: int
    left: float
    width: float
    top: float
    height: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many values lie where.

    Args:
        bins: The bars; none where all values are equal.
    """

    title: str
    unit: str
    count: int
    low: float
    median: float
    high: float
    bins: tuple[Bin, ...]
    values: tuple[Tick, ...]
    counts: tuple[Tick, ...]
    width: float
    height: float

    @property
    def summary(self) -> str:
        """The figure in a sentence."""
        if not self.bins:
            return f"{self.count:,}, all {spoken(self.low)} {self.unit}"
        return (
            f"{self.count:,}, from {spoken(self.low)} to {spoken(self.high)} {self.unit}, "
            f"median {spoken(self.median)} {self.unit}"
        )


def histogram(title: str, unit: str, values: NDArray[np.float64]) -> Histogram:
    """Count values in at most `MOST_BINS` bins between round numbers.

    Args:
        values: Finite, one at least.
    """
    width, height = _HISTOGRAM
    low, high = float(values.min()), float(values.max())
    stats = len(values), low, float(np.median(values)), high
    # What differs by a rounding error alone is one value.
    if spoken(low) == spoken(high):
        return Histogram(title, unit, *stats, (), (), (), width, height)
    edges = find_round_numbers(low, high, MOST_BINS - 2)
    # What lies outside by a rounding error is counted, too.
    counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
    start, end, step = float(edges[0]), float(edges[-1]), float(edges[1] - edges[0])
    across = Axis(start, end, _LEFT, width - _RIGHT)
    up = Axis(
        0.0, float(find_round_numbers(0.0, float(counts.max()), 3)[-1]), height - _BOTTOM, _TOP
    )
    bins = tuple(
        Bin(
            low=start + place * step,
            high=start + (place + 1) * step,
            count=int(count),
            left=across.place(start + place * step),
            width=round(max(step / (end - start) * (across.end - across.start) - 1, 1), 1),
            top=up.place(float(count)),
            height=round(up.start - up.place(float(count)), 1),
        )
        for place, count in enumerate(counts)
        if count
    )
    return Histogram(title, unit, *stats, bins, across.ticks(6), up.ticks(3), width, height)


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves over steps.

    Args:
        curves: Name of each, and its points as the text that SVG takes.
        rule: Name and place of a level to compare with; None for none.
        borders: Places where one stage gives way to the next.
    """

    title: str
    curves: tuple[tuple[str, str], ...]
    rule: Tick | None
    borders: tuple[float, ...]
    steps: tuple[Tick, ...]
    values: tuple[Tick, ...]
    summary: str
    width: float
    height: float

    @property
    def sides(self) -> tuple[float, float, float, float]:
        """Left, right, upper and lower side of what the axes enclose."""
        return _LEFT, self.width - _RIGHT, _TOP, self.height - _BOTTOM


Points = Sequence[tuple[int, float]]
"""Steps and values, by step."""


def plot(
    title: str,
    curves: Mapping[str, Points],
    last: int,
    rule: tuple[str, float] | None = None,
    borders: Sequence[int] = (),
) -> Plot:
    """Draw curves over the steps from 0 to `last`.

    Args:
        curves: By name, each with one point at least.
        last: Last step of the axis, above 0.
    """
    width, height = _PLOT
    values = [value for points in curves.values() for _, value in points]
    values += [rule[1]] if rule else []
    across = Axis(0.0, float(last), _LEFT, width - _RIGHT)
    around = find_round_numbers(min(values), max(values), 5)
    up = Axis(float(around[0]), float(around[-1]), height - _BOTTOM, _TOP)
    return Plot(
        title=title,
        curves=tuple(
            (name, " ".join(f"{x:g},{y:g}" for x, y in _thin_points(points, across, up)))
            for name, points in curves.items()
        ),
        rule=Tick(f"{rule[0]} {spoken(rule[1])}", up.place(rule[1])) if rule else None,
        borders=tuple(across.place(step) for step in borders),
        steps=across.ticks(5),
        values=up.ticks(5),
        summary=", ".join(
            f"{name} from {spoken(points[0][1])} at step {points[0][0]:,} to "
            f"{spoken(points[-1][1])} at step {points[-1][0]:,}"
            for name, points in curves.items()
        ),
        width=width,
        height=height,
    )


def _thin_points(points: Points, across: Axis, up: Axis) -> list[tuple[float, float]]:
    """Places of the points; of many in one column of the drawing only those that can be seen."""
    placed = [(across.place(step), up.place(value)) for step, value in points]
    if len(placed) <= _BY_COLUMN * (across.end - across.start):
        return placed
    chosen: set[int] = set()
    for _, column in groupby(range(len(placed)), lambda at: int(_BY_COLUMN * placed[at][0])):
        numbers = list(column)
        lowest, highest = (edge(numbers, key=lambda at: placed[at][1]) for edge in (min, max))
        chosen.update((numbers[0], lowest, highest, numbers[-1]))
    return [placed[at] for at in sorted(chosen)]
