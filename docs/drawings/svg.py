"""A drawing as SVG."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from html import escape
from typing import Final

from drawings.graph import ROOT, WHOLE, ModuleDrawing
from drawings.layout import Box, DrawingLayout, place

FONT: Final = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
STYLE: Final = """
svg{color:#1f2328;fill:currentColor}
.floor{fill-opacity:.045}
.module,.package{stroke:currentColor;stroke-width:1.2;fill-opacity:0}
.package{fill:#00897b;fill-opacity:.14}
.arrow,.between{fill:none;stroke:currentColor;stroke-width:1.2;stroke-opacity:.62}
.between{stroke-opacity:.25}
.name{font-weight:600;text-anchor:middle}
.about,.ground{font-family:system-ui,sans-serif;fill-opacity:.78}
.about{font-size:11px;text-anchor:middle}
.ground{font-size:12px}
@media(prefers-color-scheme:dark){svg{color:#e6edf3}}
"""
TIP: Final = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
    'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 .8 7.5 4 0 7.2z"/></marker>'
)
LETTER: Final = 7.9
"""The width of a bold letter of a name, and some room for fonts that are wider."""
NAME_LINE: Final = 17
ABOUT_LINE: Final = 14
BETWEEN: Final = 9
GROUND_LINE: Final = 17
EDGE: Final = 7


def svg(drawing: ModuleDrawing) -> str:
    """A drawing as a file that stands alone, and follows the reader's light or dark."""
    abouts = {
        name: [_about(drawing.package, member) for member in members]
        for name, members in drawing.boxes.items()
    }
    boxes = [
        _box(name, members, abouts[name], _arrows(drawing, name))
        for name, members in drawing.boxes.items()
    ]
    layout = place(boxes, drawing.plain | drawing.called, drawing.upward)
    ground = _ground(drawing.outside, layout.width)
    height = layout.height + (len(ground) * GROUND_LINE + 6 if ground else 0)
    parts, floors = sum(map(len, drawing.boxes.values())), len(layout.floors)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {layout.width} {height}" '
        f'width="{layout.width}" height="{height}" role="img" aria-labelledby="title desc" '
        f'font-family="{FONT}" font-size="13">',
        f'<title id="title">{drawing.package}: {parts} parts on {floors} floors</title>',
        f'<desc id="desc">{escape(_told(drawing))}</desc>',
        f"<style>{STYLE}</style>",
        f"<defs>{TIP}</defs>",
    ]
    lines += [
        f'<rect class="floor" x="0" y="{top}" width="{layout.width}" height="{tall}" rx="6"/>'
        for top, tall in layout.floors
    ]
    for edge, path in sorted(layout.paths.items()):
        dashes = "" if edge in drawing.plain else ' stroke-dasharray="4 3"'
        lines.append(f'<path class="arrow" d="{path}"{dashes} marker-end="url(#tip)"/>')
    for box in boxes:
        lines += _drawn(box, layout, drawing.boxes[box.name], abouts[box.name])
    lines += [
        f'<text class="ground" x="8" y="{layout.height + 14 + at * GROUND_LINE}">{line}</text>'
        for at, line in enumerate(ground)
    ]
    return "\n".join([*lines, "</svg>", ""])


def _about(package: str, child: str) -> list[str]:
    """The first words of a package's docstring, in lines; none of a module."""
    if package == child == WHOLE:
        said = "The command line"
    else:
        folder = ROOT / ("" if package == WHOLE else package.replace(".", "/")) / child
        if not folder.is_dir():
            return []
        text = (folder / "__init__.py").read_text(encoding="utf-8")
        said = re.split(r"[:;.](?:\s|$)", ast.get_docstring(ast.parse(text)) or "")[0]
        said = said.replace("`", "")
    fewest = len(textwrap.wrap(said, 25))
    return next(
        lines for width in range(12, 26) if len(lines := textwrap.wrap(said, width)) <= fewest
    )


def _arrows(drawing: ModuleDrawing, name: str) -> int:
    """How many arrows meet at one side of a box."""
    edges = drawing.plain | drawing.called | drawing.upward
    return max(sum(edge[end] == name for edge in edges) for end in (0, 1))


def _box(name: str, members: Sequence[str], abouts: Sequence[Sequence[str]], arrows: int) -> Box:
    wide = max(round(LETTER * max(map(len, members))) + 22, 12 * arrows + 20)
    tall = sum(NAME_LINE + ABOUT_LINE * len(about) for about in abouts)
    tall += 2 * EDGE + BETWEEN * (len(members) - 1)
    return Box(name, max(wide, 172 if any(abouts) else 0), tall)


def _drawn(
    box: Box, layout: DrawingLayout, members: Sequence[str], abouts: Sequence[Sequence[str]]
) -> list[str]:
    x, y = layout.corners[box.name]
    middle = x + box.width // 2
    kind = "package" if any(abouts) else "module"
    lines = [
        f'<rect class="{kind}" x="{x}" y="{y}" width="{box.width}" height="{box.height}" rx="5"/>'
    ]
    at = y + EDGE
    for name, about in zip(members, abouts, strict=True):
        if name != members[0]:
            lines.append(f'<path class="between" d="M{x} {at + BETWEEN // 2}h{box.width}"/>')
            at += BETWEEN
        lines.append(f'<text class="name" x="{middle}" y="{at + 13}">{name}</text>')
        at += NAME_LINE
        for words in about:
            lines.append(f'<text class="about" x="{middle}" y="{at + 11}">{escape(words)}</text>')
            at += ABOUT_LINE
    return lines


def _ground(outside: Sequence[str], width: int) -> list[str]:
    """What stands below all floors."""
    said = f"stands on {', '.join(outside)}" if outside else ""
    return textwrap.wrap(said, max(24, width // 7), break_long_words=False)


def _told(drawing: ModuleDrawing) -> str:
    """Every arrow in words."""
    said = []
    for name in drawing.boxes:
        for verb, edges in (
            ("imports", drawing.plain),
            ("reaches without an import statement", drawing.called),
            ("imports against the order", drawing.upward),
        ):
            if below := sorted(b for a, b in edges if a == name):
                said.append(f"{name} {verb} {', '.join(below)}.")
    return " ".join(said) or "None of them imports another."
