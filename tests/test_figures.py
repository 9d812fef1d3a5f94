"""Every figure that README and docs quote is in the file that it names."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from benchmarks.figures.__main__ import RESULTS, keep, read_jobs
from benchmarks.figures.tally import SHEET, tally
from synth.base.errors import SpecError
from tests.kit.hooks import load_hook

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    *(
        page
        for page in sorted(DOCS.rglob("*.md"))
        # Commands write the pages beside the JSON of an experiment.
        if page.parent.name != "results" or not page.with_suffix(".json").exists()
    ),
]


figures = load_hook("figures")


def told(text: str, root: Path = DOCS) -> list[str]:
    return list(figures.check_page(text, "page.md", root))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = {"command": "segue demo", "bat": {"value": 0.4734, "n": 720}, "ms": [6.96], "ok": True}
    (tmp_path / "a.json").write_text(json.dumps(found), encoding="utf-8")
    (tmp_path / "b.md").write_text("| 1,384 MiB | 71.2 % |\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_figure_of_a_page_is_in_its_source(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert list(figures.check_page(text, str(page.relative_to(ROOT)))) == []


def test_every_source_says_which_command_wrote_it() -> None:
    named = {
        (DOCS / source.partition("#")[0]).resolve()
        for page in PAGES
        for marker in figures.MARKER.finditer(page.read_text(encoding="utf-8"))
        for source in re.split(r",\s*", marker["sources"] or "")
        if source
    }
    assert named
    for source in named:
        text = source.read_text(encoding="utf-8")
        if source.suffix == ".json":
            assert json.loads(text)["command"], source
        else:
            head = "\n".join(text.splitlines()[:10])
            assert re.search(r"segue \w+|python -m benchmarks\.\w+", head), source


RIGHT = [
    "47 % of 720, 47.3 %, 0.473 and 7.0 ms",
    "| 47.3 % | 720 |",
    "1,384 MiB, see [b](b.md#x-12)",
    "`ESC-50` of ESC-10, R@1, T3, order-v3, 16-bit: 71.2 %",
    "    $ segue train --steps 300\n    │ bat │ 47.3 % │ 720 │\n\n    7.0 ms",
    "```\n47.3 %\n\n720\n```",
]
WRONG = {"47.4 %": "47.4", "a\nb 46 %": "46", "6.9 ms": "6.9", "1,385": "1,385", "1": "1"}


def test_a_figure_may_be_rounded_and_a_wrong_digit_is_found(root: Path) -> None:
    assert [
        fault for text in RIGHT for fault in told(f"<!-- figures: a.json, b.md -->\n{text}\n", root)
    ] == []
    for text, wrong in WRONG.items():
        (found,) = told(f"\n<!-- figures: a.json, b.md -->\n{text}\n", root)
        assert found.startswith(f"page.md:3: {wrong} is not in a.json or b.md: quote what is there")


def test_a_row_is_checked_against_the_source_that_it_links_to(root: Path) -> None:
    marker = "<!-- figures: a.json, b.md -->\n"
    assert told(f"{marker}| [b](b.md) | 71.2 % |\n| [a](a.json) | 47.3 % |", root) == []
    (found,) = told(f"{marker}| [b](b.md) | 47.3 % |", root)
    assert "47.3 is not in b.md" in found


def test_a_source_is_narrowed_to_a_part(root: Path) -> None:
    assert told("<!-- figures: a.json#bat/value, b.md#MiB -->\n47.3 % and 71.2 %", root) == []
    (found,) = told("<!-- figures: a.json#bat/value -->\n47.3 % of 720", root)
    assert "720 is not in a.json#bat/value" in found
    assert "a.json#cat has no number" in told("<!-- figures: a.json#cat -->\n47.3 %", root)[0]


def test_what_was_set_is_listed(root: Path) -> None:
    text = "chance 50 %, 47.3 % of 1,000"
    assert told(f"<!-- figures: a.json; given: 50, 1,000 -->\n{text}", root) == []
    assert len(told(f"<!-- figures: a.json; given: 50 -->\n{text}", root)) == 1


def test_a_missing_source_is_named(root: Path) -> None:
    (found,) = told("<!-- figures: none.json -->\n47 %", root)
    assert found.startswith("page.md:2: no file none.json: run the command")


MEASURED = [
    "It reaches 97.0 % there.",
    "It takes 6 ms.",
    "| 255 MB |",
    "    1,400 steps, 511 samples/s",
    "It is 1.32 times as fast.",
    "- a\n- 28.8 s in all",
    "```text\n12 GiB\n```",
]


def test_an_unmarked_measurement_is_found_and_other_numbers_need_no_mark() -> None:
    for text in MEASURED:
        (found,) = told(f"# Page\n\n{text}\n")
        assert "page.md:3:" in found
        assert "looks measured: put <!-- figures: FILE --> before this block" in found
        assert told(f"# Page\n\n<!-- given -->\n{text}\n") == []
    for text in ("24 classes, 3 folds", "`length: exact 10 s`", "```yaml\nl: 10 s\n```", "ESC-50"):
        assert told(text) == []


def test_a_mark_covers_one_block() -> None:
    assert len(told("<!-- given -->\n5 ms\n\n6 ms\n")) == 1
    assert len(told("- 1 ms\n<!-- given -->\n- 5 ms\n")) == 1
    (found,) = told("5 classes\n\n<!-- given -->\n")
    assert "page.md:3: this comment is before no block" in found


def test_a_mark_that_cannot_be_read_is_found() -> None:
    unreadable = ("<!-- figures a.json -->", "<!-- figures: a.json; set: 5 -->", "<!--given-->")
    for mark in (*unreadable, "text <!-- given -->"):
        (found,) = told(f"{mark}\n5 classes\n")
        assert "page.md:1: cannot read a comment" in found


def test_the_site_does_not_show_the_marks() -> None:
    page = "a\n\n<!-- given -->\n- 5 ms\n<!-- figures: a.json; given: 5 -->\n- 6 ms\n"
    assert figures.on_page_markdown(page) == "a\n\n- 5 ms\n- 6 ms\n"


def test_every_job_has_its_result_and_every_result_its_job() -> None:
    jobs = read_jobs()
    assert {path.stem for path in RESULTS.glob("*.json")} == set(jobs)
    for name, job in jobs.items():
        kept = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        assert [step["command"] for step in kept["steps"]] == [step.run for step in job.steps]
        assert kept["files"] == job.files


def test_what_is_told_of_the_judges_is_what_their_sheet_says() -> None:
    with SHEET.open(encoding="utf-8", newline="") as file:
        found = tally(list(csv.DictReader(file)))
    kept = json.loads((RESULTS / "judged.json").read_text(encoding="utf-8"))["steps"][0]["found"]
    assert {key: kept[key] for key in found} == found


def test_a_job_keeps_what_it_names() -> None:
    found = {"a": {"x": {"bat": 1, "n": 2}, "y": {"bat": 3}}, "rows": [{"v": 4}, {"v": 5}]}
    assert keep(found, ["a/*/bat"]) == {"a": {"x": {"bat": 1}, "y": {"bat": 3}}}
    assert keep(found, ["rows/*/v"]) == {"rows": {"0": {"v": 4}, "1": {"v": 5}}}
    with pytest.raises(SpecError, match="a/z: no z"):
        keep(found, ["a/z"])
