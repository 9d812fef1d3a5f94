"""What is made while the documentation site is built: tables, examples, a look for requests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel, Field

from tests.kit.hooks import load_hook

DOCS = Path(__file__).resolve().parents[1] / "docs"


class Cake(BaseModel):
    """Settings of a cake.

    Args:
        layers: How many
            there are.
        name: Its name.
    """

    layers: int = Field(default=2, ge=1)
    name: str


def test_a_table_tells_meaning_values_and_default_of_each_setting() -> None:
    _, _, layers, name = load_hook("settings").table(Cake).splitlines()
    assert layers.startswith("| `layers` | How many there are. |")
    assert layers.endswith("| `2` |")
    assert name.endswith("| must be given |")


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_every_marker_of_a_page_becomes_a_table(page: Path) -> None:
    settings = load_hook("settings")
    made = settings.on_page_markdown(page.read_text(encoding="utf-8"))
    assert "<!-- settings" not in made
    for row in re.findall(r"^\| `\w+` \| (.*?) \|", made, re.M):
        assert row, f"{page.name}: a setting without a meaning"


def test_an_example_shows_a_whole_group_with_sounds_and_verdicts() -> None:
    examples = load_hook("examples")
    shown = examples.shown("stage-a", "train-00000000", "../")
    assert shown.count("<audio ") == shown.count("<svg ") == 2
    assert 'src="../sounds/stage-a-train-00000000.flac"' in shown
    assert "<b>false</b> combined sound of" in shown
    with pytest.raises(KeyError, match="no group"):
        examples.shown("stage-a", "train-99999999")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<script src="https://cdn.example/x.js"></script>', 1),
        ('<link rel="stylesheet" href="//fonts.example/x.css">', 1),
        ("<img alt='' src=https://example.org/x.png>", 1),
        ('<a href="https://example.org">elsewhere</a>', 0),
        ('<link rel="canonical" href="https://example.org/"><img src="x.png">', 0),
    ],
)
def test_a_site_that_loads_from_elsewhere_is_refused(tmp_path: Path, text: str, found: int) -> None:
    (tmp_path / "index.html").write_text(f"<html>{text}</html>")
    assert len(load_hook("offline").requests(tmp_path)) == found
    (tmp_path / "site.css").write_text(
        "@import 'https://example.org/x.css'; b {background: url(x)}"
    )
    assert len(load_hook("offline").requests(tmp_path)) == found + 1


def test_every_picture_of_a_rule_is_shown_and_says_what_the_judge_says() -> None:
    rules = load_hook("rules")
    page = (DOCS / "truth.md").read_text(encoding="utf-8")
    made = rules.on_page_markdown(page)
    assert "<!-- rule" not in made
    assert made.count("<svg ") == sum(map(len, rules.read_rules().values()))
    (first, *_) = rules.read_rules()["order"]
    with pytest.raises(ValueError, match="is proven, not refuted"):
        rules.check_verdicts(first | {"claims": {"X + Y": "refuted"}})
