"""Whether a page in the browser can be used without seeing it well, and without a mouse.

The numbers are those of the WCAG 2.2, level AA.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

MODES: tuple[dict[str, Any], ...] = tuple(
    {"color_scheme": scheme, "viewport": {"width": width, "height": 844}}
    for scheme in ("light", "dark")
    for width in (1280, 390)
)
"""How a page is looked at: in both colour schemes, in a wide window and in a narrow one."""

NAMED = frozenset(
    {
        *("Audio", "Canvas", "ComboBoxSelect", "button", "checkbox", "combobox", "dialog"),
        *("image", "img", "link", "navigation", "option", "radio", "region", "search"),
        *("searchbox", "slider", "spinbutton", "table", "textbox"),
    }
)
"""Roles, as Chromium tells them, of what must have a name."""

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def ask(page: Any, name: str) -> Any:
    """What a function of `accessible.js` gives on a page."""
    return page.evaluate(f"() => {{ {_SCRIPT} return {name}(); }}")


def check_accessible(page: Any) -> None:
    """Names, landmarks, headings, tables, sizes, reflow and contrast of what a page shows now.

    Raises:
        AssertionError: If something is wrong; it lists all that is.
    """
    wrong = ask(page, "wrong") + nameless(page) + ask(page, "faint")
    assert not wrong, wrong


def check_still(page: Any) -> None:
    """That nothing moves by itself, for those who asked for that.

    Raises:
        AssertionError: If something does.
    """
    assert page.evaluate("matchMedia('(prefers-reduced-motion: reduce)').matches")
    moving = ask(page, "moves")
    assert not moving, moving


def nameless(page: Any) -> list[str]:
    """What the browser tells screen readers without a name, though it must have one."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    return [
        f"{node['role']['value']} {node['nodeId']}"
        for node in nodes
        if not node["ignored"]
        and node["role"]["value"] in NAMED
        and not node.get("name", {}).get("value", "").strip()
    ]


def check_focus(page: Any, most: int = 200) -> list[str]:
    """Go through the page by Tab, from its beginning; the stops, as the beginning of their HTML.

    Raises:
        AssertionError: If a stop is not seen, or comes before one that is read before it.
    """
    ask(page, "mark")
    stops: list[dict[str, Any]] = []
    for _ in range(most):
        page.keyboard.press("Tab")
        focus = ask(page, "focus")
        if focus is None or (stops and focus["order"] == stops[0]["order"]):
            break
        # A player has stops within, which the browser draws.
        if not stops or focus["order"] != stops[-1]["order"]:
            stops.append(focus)
    assert stops
    unseen = [stop["told"] for stop in stops if not stop["outlined"] or not stop["seen"]]
    assert not unseen, unseen
    for before, after in pairwise(stops):
        assert before["order"] <= after["order"], after["told"]
        if before["home"] == after["home"]:
            assert after["bottom"] > before["top"], after["told"]
    return [stop["told"] for stop in stops]
