"""A small frozen test set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.kit.builds import segue_here
from tests.kit.tables import read_data

DESCRIPTION = read_data("sets/order.yaml")
COMPOSED = read_data("sets/composed.yaml")


def make_sets(folder: Path, description: dict[str, Any] = DESCRIPTION) -> Path:
    """A folder with one small set."""
    (folder / "small-v1.yaml").write_text(yaml.safe_dump(description), encoding="utf-8")
    ended = segue_here(
        "bench", "build", folder / "small-v1.yaml", "--out", folder, "--workers", "0"
    )
    assert ended.returncode == 0, ended.stderr
    assert "unpublished" in ended.stdout
    return folder
