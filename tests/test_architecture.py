"""The drawings are those of today's imports, and the walkthroughs name code that exists."""

from __future__ import annotations

import ast
import importlib
import re
from collections import Counter
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
FOLDER = ROOT / "docs" / "assets" / "architecture"
FIVE = ("segue", "synth", "pipelines", "train", "experiments")
STALE = "the imports have changed: run `make drawings` and commit what it writes"
_CLASS = re.compile(r"^ *class (\w+)[(:]", re.MULTILINE)
_WORD = re.compile(r"^\| [a-z ]+ \|.*\| `([\w.]+)\.(\w+)` \|$", re.MULTILINE)
_STEP = re.compile(r"`([\w/]+\.py):([\w.]+)`")

graph = importlib.import_module("drawings.graph")
"""`docs/drawings/graph.py`."""


@cache
def made() -> dict[str, str]:
    from drawings.svg import svg

    return {drawing.package: svg(drawing) for drawing in graph.drawings()}


def test_every_committed_drawing_is_that_of_the_imports() -> None:
    committed = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.svg")}
    stale = [name for name in {*committed, *made()} if committed.get(name) != made().get(name)]
    assert not stale, f"{', '.join(sorted(stale))}: {STALE}"


def _list_classes(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.name for node in nodes if isinstance(node, ast.ClassDef)}


def test_no_class_name_stands_in_two_modules() -> None:
    modules: dict[str, set[Path]] = {}
    for folder in (*FIVE, "benchmarks", "docs", "prompts", "tests"):
        for path in (ROOT / folder).rglob("*.py"):
            for name in _CLASS.findall(path.read_text(encoding="utf-8")):
                modules.setdefault(name, set()).add(path)
    shared = {name: places for name, places in modules.items() if len(places) > 1}
    for name, places in shared.items():  # without code in strings
        modules[name] = {path for path in places if name in _list_classes(path)}
    shared = {name: modules[name] for name in shared if len(modules[name]) > 1}
    assert not shared, "one name means one thing: rename one of each"


def test_every_word_of_the_table_is_a_class() -> None:
    words = _WORD.findall(PAGE.read_text(encoding="utf-8"))
    assert 30 <= len(words) <= 35
    for module, name in words:
        assert name in _list_classes(ROOT / f"{module.replace('.', '/')}.py"), name


def test_every_package_with_more_than_three_modules_is_drawn() -> None:
    imports = grimp.build_graph(*graph.PACKAGES, cache_dir=None)
    wanted = {name for name in imports.modules if len(imports.find_children(name)) > 3}
    assert {*FIVE, *wanted} == set(made())


def test_a_drawing_has_at_most_a_dozen_boxes_and_every_module_in_one_of_them() -> None:
    imports = grimp.build_graph(*graph.PACKAGES, cache_dir=None)
    for drawing in graph.drawings():
        assert len(drawing.boxes) <= 12
        if drawing.package == graph.WHOLE:
            continue
        shown = [f"{drawing.package}.{name}" for box in drawing.boxes.values() for name in box]
        assert sorted(shown) == sorted(imports.find_children(drawing.package))


def test_a_drawing_tells_what_it_shows_to_who_cannot_see_it() -> None:
    for name, text in made().items():
        root = ElementTree.fromstring(text)
        title, about = (
            root.find(f"{{http://www.w3.org/2000/svg}}{tag}") for tag in ("title", "desc")
        )
        assert title is not None
        assert about is not None
        assert (title.text or "").startswith(name)
        assert about.text
        assert root.get("aria-labelledby") == "title desc"


def test_the_page_shows_every_drawing() -> None:
    from drawings.__main__ import page

    text = PAGE.read_text(encoding="utf-8")
    assert page(text, made()) == text, STALE
    assert sorted(re.findall(r"assets/architecture/([\w.]+)\.svg", text)) == sorted(made())
    visible = re.sub(r"<details.*?</details>", "", text, flags=re.S)
    assert re.findall(r"assets/architecture/([\w.]+)\.svg", visible) == list(FIVE)


STEPS = _STEP.findall(PAGE.read_text(encoding="utf-8"))


def test_the_page_has_both_walkthroughs() -> None:
    assert len(STEPS) > 30


@pytest.mark.parametrize(("path", "name"), sorted(set(STEPS)))
def test_a_step_of_a_walkthrough_is_there(path: str, name: str) -> None:
    assert (ROOT / path).is_file(), f"docs/architecture.md names {path}, which does not exist"
    found: ast.AST = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    for part in name.split("."):
        inside = {
            each.name: each
            for each in ast.iter_child_nodes(found)
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        }
        assert part in inside, f"docs/architecture.md names {path}:{name}, which does not exist"
        found = inside[part]
    assert not isinstance(found, ast.ClassDef), f"{path}:{name} is no function"


def test_no_imports_form_a_cycle() -> None:
    assert {each.package: each.upward for each in graph.drawings() if each.upward} == {}


@pytest.mark.parametrize(
    ("edges", "upward"),
    [
        ({("a", "b"): 1, ("b", "c"): 1}, set()),
        ({("a", "b"): 3, ("b", "a"): 1}, {("b", "a")}),
        ({("a", "b"): 2, ("b", "c"): 2, ("c", "a"): 1}, {("c", "a")}),
    ],
)
def test_the_lightest_import_of_a_circle_points_up(
    edges: dict[tuple[str, str], int], upward: set[tuple[str, str]]
) -> None:
    drawing = graph._drawing("p", "abc", Counter(edges), set(), ())
    assert drawing.upward == upward


def test_arrows_that_follow_from_others_are_left_out_and_no_box_stands_below_its_imports() -> None:
    from drawings.layout import Box, place

    drawing = graph._drawing("p", "abc", Counter([("a", "b"), ("b", "c"), ("a", "c")]), set(), ())
    assert drawing.plain == {("a", "b"), ("b", "c")}
    layout = place([Box(name, 60, 30) for name in "abc"], drawing.plain, ())
    tops = [layout.corners[name][1] for name in "abc"]
    assert tops == sorted(tops)
    assert len(layout.floors) == 3


def test_no_folder_of_tests_is_left_out(pytestconfig: pytest.Config) -> None:
    """By itself pytest passes over every folder that is called "build"."""
    patterns = pytestconfig.getini("norecursedirs")
    folders = {path.parent.name for path in (ROOT / "tests").rglob("test_*.py")}
    assert not [name for name in folders if any(fnmatch(name, each) for each in patterns)]
