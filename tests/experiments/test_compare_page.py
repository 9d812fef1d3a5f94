"""The page that compares models can be read by anybody."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from experiments.frozen.results import compare_page, read_results
from tests.kit.accessible import MODES, check_accessible
from tests.kit.builds import segue_here
from tests.kit.chromium import Reader, launched


@pytest.mark.parametrize("mode", MODES[::3], ids=str)
@pytest.mark.slow
def test_it_is_named_ordered_and_readable(sets: Path, tmp_path: Path, mode: dict[str, Any]) -> None:
    segue_here("bench", "run", "random", "bag-of-words:random", "--sets", sets, "--out", tmp_path)
    with launched() as browser:
        reader = Reader(browser, reduced_motion="reduce", **mode)
        page = reader.open((tmp_path / "compare.html").as_uri())
        page.locator("summary").first.click()
        check_accessible(page)
        reader.close()


@pytest.mark.slow
def test_hundreds_of_models_are_grouped_folded_and_filtered(sets: Path, tmp_path: Path) -> None:
    segue_here("bench", "run", "random", "--sets", sets, "--out", tmp_path)
    (scored,) = read_results(tmp_path)
    names = [
        f"out/experiment-{experiment}/runs/arm-{arm}-{seed}"
        for experiment in "abcde"
        for arm in "abcdefghijklmnopq"
        for seed in range(3)
    ]
    results = [scored.model_copy(update={"model": name}) for name in names]
    page = tmp_path / "many.html"
    page.write_text(compare_page(results).html)
    with launched() as browser:
        for width in (1440, 390):
            view = {"width": width, "height": 900}
            reader = Reader(browser, reduced_motion="reduce", viewport=view)
            shown = reader.open(page.as_uri())
            assert shown.evaluate("document.documentElement.scrollHeight") < 6000
            assert shown.evaluate("document.documentElement.scrollWidth") <= width
            rows = shown.locator("#overview-text ~ .scroll tbody tr[data-name]")
            assert rows.count() == len(names) // 3
            assert rows.first.inner_text().split()[:3] == ["arm-a", "3", "seeds"]
            shown.get_by_label("Show only").fill("experiment-c/runs/arm-b")
            assert rows.locator("visible=true").count() == 1
            shown.get_by_label("Show only").fill("")
            if folder := os.environ.get("SEGUE_SCREENSHOTS_COMPARE"):
                shown.screenshot(path=f"{folder}/compare-{width}.png")
            check_accessible(shown)
            reader.close()
