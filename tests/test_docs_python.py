"""What docs/python.md shows of building and reading from a program works as it says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipelines.builder.build import Summary, build

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_the_program_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "examples"))
    monkeypatch.chdir(tmp_path)
    shutil.copy(DOCS / "examples" / "triplets.yaml", tmp_path)
    import from_python  # type: ignore[import-not-found]

    assert not (tmp_path / "out").exists(), "importing the program builds nothing"

    def here(spec: Any, out: Path, worker_count: int) -> Summary:
        assert worker_count > 0
        return build(spec, out, 0)

    monkeypatch.setattr(from_python, "build", here)
    from_python.main()
    page = (DOCS / "python.md").read_text(encoding="utf-8")
    shown = re.search(r"\$ python from_python\.py\n((?: {4}\S.*\n| {6}\S.*\n)+)", page)
    assert shown is not None
    lines = [line[4:] for line in shown[1].splitlines() if line.strip() != "..."]
    assert capsys.readouterr().out.splitlines()[: len(lines)] == lines
