"""Writes the drawings, and folds them into the page: `make drawings`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from drawings.graph import ROOT, drawings
from drawings.svg import svg

FOLDER: Final = ROOT / "docs" / "assets" / "architecture"
PAGE: Final = ROOT / "docs" / "architecture.md"
END: Final = "<!-- end of drawings -->"


def page(text: str, packages: Iterable[str]) -> str:
    """The architecture page with the drawings folded in where it marks them: a fold a package."""
    drawn = list(packages)

    def folds(found: re.Match[str]) -> str:
        below: dict[str, list[str]] = {}
        for each in drawn:
            if each.startswith(f"{found[1]}."):
                below.setdefault(each.split(".")[1], []).append(each)
        blocks = [_fold(f"{found[1]}.{name}", inner) for name, inner in below.items()]
        return "\n".join([f"<!-- drawings: {found[1]} -->\n", *blocks, END])

    return re.sub(rf"<!-- drawings: (\w+) -->\n.*?{END}", folds, text, flags=re.S)


def _fold(package: str, drawn: Iterable[str]) -> str:
    lines = [f'<details class="drawings" markdown="1"><summary>{package}</summary>', ""]
    for each in drawn:
        if each != package:
            lines += [f"`{each}`", ""]
        picture = f"assets/architecture/{each}.svg"
        lines += [f"![The modules of {each} and what they import]({picture})", ""]
    return "\n".join([*lines, "</details>", ""])


def main() -> None:
    """Write every drawing, remove those of packages that are gone, and fold them into the page."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    made = {drawing.package: svg(drawing) for drawing in drawings()}
    for path in FOLDER.glob("*.svg"):
        if path.stem not in made:
            path.unlink()
    for package, text in made.items():
        (FOLDER / f"{package}.svg").write_text(text, encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), made), encoding="utf-8")


if __name__ == "__main__":
    main()
