"""The site asks no other machine for anything: no font, script, style, picture or sound."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

PAGE = re.compile(
    r"""<(?!a\b)\w+[^>]*?\s(?:src|href|srcset|data|poster)=["']?((?:https?:)?//[^"'>\s]+)"""
)
STYLE = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])((?:https?:)?//[^"')]+)""")
HARMLESS = re.compile(r"<link\b[^>]*\brel=[\"']?(?:canonical|alternate)\b[^>]*>")


def on_post_build(config: Any, **_: Any) -> None:
    """Refuse a site that asks.

    Raises:
        PluginError: If a page or a style sheet loads what lies elsewhere.
    """
    found = [f"{path}: {url}" for path, url in requests(Path(config["site_dir"]))]
    if found:
        raise PluginError("the site loads from elsewhere:\n" + "\n".join(found))


def requests(site: Path) -> list[tuple[Path, str]]:
    """What the pages and style sheets of a site load from other machines."""
    pages = [
        (path, url)
        for path in sorted(site.rglob("*.html"))
        for url in PAGE.findall(HARMLESS.sub("", path.read_text(encoding="utf-8")))
    ]
    styles = [
        (path, url)
        for path in sorted(site.rglob("*.css"))
        for url in STYLE.findall(path.read_text(encoding="utf-8"))
    ]
    return pages + styles
