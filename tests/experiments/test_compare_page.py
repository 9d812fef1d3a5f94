"""The page that compares models can be read by anybody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from accessible import MODES, check_accessible
from builds import segue_here
from chromium import Reader, launched


@pytest.mark.parametrize("mode", MODES[::3], ids=str)
def test_it_is_named_ordered_and_readable(sets: Path, tmp_path: Path, mode: dict[str, Any]) -> None:
    segue_here("bench", "run", "random", "bag-of-words:random", "--sets", sets, "--out", tmp_path)
    with launched() as browser:
        reader = Reader(browser, reduced_motion="reduce", **mode)
        page = reader.open((tmp_path / "compare.html").as_uri())
        page.locator("summary").first.click()
        check_accessible(page)
        reader.close()
