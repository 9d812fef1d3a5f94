"""The rules of truth as small pictures, each with verdicts that the judge itself gives.

`<!-- rule: NAME -->` shows the pictures that `docs/hooks/rules.yaml` lists under that name.
"""

from __future__ import annotations

import html
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from synth.scene.activity import Activity, Stretch, Stretches
from synth.scene.scene import Excerpt, parse
from synth.scene.timeline import Join, Placement, Timeline
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing

RULES: Final = Path(__file__).with_name("rules.yaml")
MARKER: Final = re.compile(r"<!-- rule: (\w+) -->")

_SECONDS: Final = 4
_WIDTH: Final = 75  # of a second
_ROW: Final = 24
_LEFT: Final = 18
_MARKS: Final = {"proven": "✓", "refuted": "✗", "open": "?"}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Draw the pictures in the place of each marker."""
    return MARKER.sub(lambda found: draw_rule(found[1]), markdown)


def draw_rule(name: str) -> str:
    """The pictures of a rule in HTML.

    Raises:
        KeyError: If there is no such rule.
        ValueError: If a verdict is not what the judge says.
    """
    return f'<div class="rules">{"".join(map(_draw, read_rules()[name]))}</div>'


@cache
def read_rules() -> dict[str, list[dict[str, Any]]]:
    """The pictures, by the name of their rule."""
    found: dict[str, list[dict[str, Any]]] = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    return found


def check_verdicts(picture: dict[str, Any]) -> None:
    """Check that every verdict of a picture is what the judge says.

    Raises:
        ValueError: Naming the first that is not.
    """
    hearing = Hearing(_timeline(picture), Tolerance(audible=_frames(0.1)))
    for text, said in picture["claims"].items():
        claim = parse(text)
        found = "proven" if hearing.proves(claim) else "open"
        found = "refuted" if hearing.refutes(claim) else found
        if found != said:
            raise ValueError(f"{RULES.name}: {picture['sounds']}: {text} is {found}, not {said}")


def _timeline(picture: dict[str, Any]) -> Timeline:
    placements = []
    for event, (label, told) in enumerate(picture["sounds"].items()):
        activity = _activity(told)
        onset, offset = activity.faint[0].onset, activity.faint[-1].offset
        excerpt = Excerpt(label, 0, offset - onset)
        placements.append(Placement(label, onset, offset, excerpt, event, activity))
    joins = ()
    if "join" in picture:
        joins = (Join(0, 1, 2, placements[1].onset, _frames(picture["join"])),)
    return Timeline(tuple(placements), _frames(_SECONDS), joins)


def _activity(told: Any) -> Activity:
    if isinstance(told, dict):
        return Activity(_stretches(told["clear"]), _stretches(told["faint"]))
    return Activity(_stretches(told), _stretches(told))


def _stretches(told: list[list[float]]) -> Stretches:
    return tuple(Stretch(_frames(onset), _frames(offset)) for onset, offset in told)


def _frames(seconds: float) -> int:
    return round(1000 * seconds)


def _draw(picture: dict[str, Any]) -> str:
    check_verdicts(picture)
    bars = []
    for row, (label, told) in enumerate(picture["sounds"].items()):
        top = row * _ROW + 4
        activity = _activity(told)
        for name, stretches in (("faint", activity.faint), ("clear", activity.clear)):
            for onset, offset in stretches:
                x, width = _LEFT + onset * _WIDTH / 1000, (offset - onset) * _WIDTH / 1000
                bars.append(
                    f'<rect class="{name}" x="{x:g}" y="{top}" width="{width:g}" '
                    f'height="{_ROW - 8}" rx="2"/>'
                )
        bars.append(f'<text x="0" y="{top + 13}">{html.escape(label)}</text>')
    width, height = _LEFT + _SECONDS * _WIDTH, len(picture["sounds"]) * _ROW + 4
    verdicts = "".join(
        f'<li class="{said}">{_MARKS[said]} <code>{html.escape(text)}</code> {said}</li>'
        for text, said in picture["claims"].items()
    )
    told = "; ".join(f"{text} is {said}" for text, said in picture["claims"].items())
    return (
        f'<figure><svg viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{html.escape(told)}">{"".join(bars)}</svg>'
        f"<ul>{verdicts}</ul></figure>"
    )
