"""Whether a page in the browser can be used without seeing it well, and without a mouse.

The numbers are those of the WCAG 2.2, level AA.
"""

from __future__ import annotations

from itertools import pairwise
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

# 1.4.3: every text that is seen, against the nearest opaque ground.
FAINT = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const luminance = (rgb) => rgb.slice(0, 3)
    .map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
  const ratio = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const judge = (name, ink, paper) => {
    if (ratio(ink, paper) < 4.5) found.push(`${name}: ${ratio(ink, paper).toFixed(2)}`);
  };
  const colour = (element, kind = "color", part = null) =>
    parse(getComputedStyle(element, part)[kind]);
  for (const element of document.querySelectorAll("body *:not(svg *):not(option)")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const field = element.matches("input:not([type=range]):not([type=checkbox]), select");
    if (!(own || field) || !element.checkVisibility()) continue;
    judge(element.outerHTML.slice(0, 80), colour(element), ground(element));
    if (element.placeholder) {
      judge("placeholder", colour(element, "color", "::placeholder"), ground(element));
    }
  }
  for (const text of document.querySelectorAll("svg text")) {
    if (!text.checkVisibility()) continue;
    judge(text.textContent, colour(text, "fill"), ground(text.ownerSVGElement));
    if (!text.matches(".name")) continue;
    for (const bar of document.querySelectorAll(".timeline .bar")) {
      judge(`${text.textContent} on a bar`, colour(text, "fill"), colour(bar, "fill"));
    }
  }
  return [...new Set(found)];
}"""

_WRONG = """() => {
  const found = [];
  const told = (element) => element.outerHTML.slice(0, 90);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const seen = (selector) => all(selector).filter((each) => each.checkVisibility());
  if (!document.documentElement.lang) found.push("the page has no language");
  if (!document.title) found.push("the page has no title");
  if (seen("main").length !== 1) found.push("there is not one main");
  const home = "header, main, nav, aside, footer, dialog, .skip, [role=status]";
  for (const each of seen("body *")) {
    const own = [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (own && !each.closest(home)) found.push(`outside of the landmarks: ${told(each)}`);
  }
  let before = 0;
  for (const each of seen("h1, h2, h3, h4, h5, h6")) {
    const level = Number(each.tagName[1]);
    if (level > before + 1) found.push(`a level is left out before ${told(each)}`);
    before = level;
  }
  if (seen("h1").length !== 1) found.push("there is not one h1");
  const ids = all("[id]").map((each) => each.id);
  if (new Set(ids).size < ids.length) found.push("an id is used twice");
  for (const name of ["aria-labelledby", "aria-describedby", "aria-controls"]) {
    for (const each of all(`[${name}]`)) {
      const lost = each.getAttribute(name).split(" ").filter((id) => !ids.includes(id));
      if (lost.length) found.push(`${name} leads nowhere: ${told(each)}`);
    }
  }
  for (const each of seen("table")) if (!each.caption) found.push(`no caption: ${told(each)}`);
  for (const each of seen("th")) if (!each.scope) found.push(`no scope: ${told(each)}`);
  for (const each of all("[tabindex]")) {
    if (each.tabIndex > 0) found.push(`out of the order: ${told(each)}`);
  }
  // 2.5.8: 24 pixels, but for links within a sentence.
  for (const each of seen("button, .button, select, input, summary, nav a")) {
    const box = each.getBoundingClientRect();
    const label = each.closest("label")?.getBoundingClientRect();
    if (Math.max(box.height, label?.height ?? 0) < 23.5) found.push(`too small: ${told(each)}`);
  }
  // 1.4.10
  if (document.documentElement.scrollWidth > innerWidth) found.push("scrolls sideways");
  return found;
}"""

_MOVES = """() => [...document.querySelectorAll("*")]
  .filter((each) => {
    const style = getComputedStyle(each);
    return style.scrollBehavior === "smooth"
      || [...style.transitionDuration.split(","), ...style.animationDuration.split(",")]
        .some((each) => parseFloat(each) > 0);
  })
  .map((each) => each.outerHTML.slice(0, 80))"""

_MARK = """() => {
  let at = 0;
  for (const each of document.querySelectorAll("*")) each.dataset.order = at++;
}"""

_FOCUS = """() => {
  const each = document.activeElement;
  if (each === document.body) return null;
  const box = each.getBoundingClientRect();
  const style = getComputedStyle(each);
  const home = each.closest("#results, #sample, header, dialog") ?? document.body;
  return {
    told: each.outerHTML.slice(0, 90),
    order: Number(each.dataset.order),
    home: Number(home.dataset.order),
    top: box.top + scrollY + home.scrollTop,
    bottom: box.bottom + scrollY + home.scrollTop,
    outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1,
    seen: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight,
  };
}"""


def check_accessible(page: Any) -> None:
    """Names, landmarks, headings, tables, sizes, reflow and contrast of what a page shows now.

    Raises:
        AssertionError: If something is wrong; it lists all that is.
    """
    wrong = page.evaluate(_WRONG) + nameless(page) + page.evaluate(FAINT)
    assert not wrong, wrong


def check_still(page: Any) -> None:
    """That nothing moves by itself, for those who asked for that.

    Raises:
        AssertionError: If something does.
    """
    assert page.evaluate("matchMedia('(prefers-reduced-motion: reduce)').matches")
    moving = page.evaluate(_MOVES)
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
    page.evaluate(_MARK)
    stops: list[dict[str, Any]] = []
    for _ in range(most):
        page.keyboard.press("Tab")
        focus = page.evaluate(_FOCUS)
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
