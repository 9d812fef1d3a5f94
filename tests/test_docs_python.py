"""docs/python.md is a notebook: its blocks, run one after the other, print what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests.kit.builds import PLAIN
from tests.kit.corpora import caching  # noqa: F401

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
CELL = re.compile(
    r"^```python\n(.*?)^```\n(?:\n(?:<!-- given -->\n)?```text\n(.*?)^```\n)?", re.M | re.S
)


def test_the_cells_print_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    notebook: dict[str, Any] = {}
    cells = [(code, shown) for code, shown in CELL.findall(PAGE) if shown]
    assert len(cells) == 5
    for code, shown in cells:
        with redirect_stdout(StringIO()) as printed:
            exec(code, notebook)
        assert printed.getvalue() == shown, code


def test_the_script_runs_unguarded(tmp_path: Path) -> None:
    examples = ROOT / "docs" / "examples"
    for name in ("from_python.py", "triplets.yaml"):
        (tmp_path / name).write_text((examples / name).read_text("utf-8"), "utf-8")
    done = subprocess.run(
        [sys.executable, "from_python.py"],
        cwd=tmp_path,
        env=os.environ | PLAIN | {"PYTHONPATH": str(ROOT), "SEGUE_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    shown = re.search(r"\$ python from_python\.py\n((?: {4}\S.*\n)+)", PAGE)
    assert shown is not None, done.stderr
    assert done.stdout == re.sub("^ {4}", "", shown[1], flags=re.M), done.stderr
