"""A small frozen test set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.kit.builds import segue_here

DESCRIPTION: dict[str, Any] = {
    "task": "order",
    "asks": "Which of two sounds comes first?",
    "edits": ["reorder"],
    "backwards": "flips",
    "spec": {
        "seed": 5,
        "recipe": {"triplets": {"max_event_s": 1.0, "style": "natural"}},
        "audio": {"sample_rate": 16000, "length": "exact 3 s"},
    },
    "sources": {
        "foley": {"settings": {"classes": ["dog", "siren", "wind"], "takes": 4}, "test": 1.0}
    },
}


def make_sets(folder: Path) -> Path:
    """A folder with one small set."""
    (folder / "small-v1.yaml").write_text(yaml.safe_dump(DESCRIPTION), encoding="utf-8")
    ended = segue_here(
        "bench", "build", folder / "small-v1.yaml", "--out", folder, "--workers", "0"
    )
    assert ended.returncode == 0, ended.stderr
    assert "unpublished" in ended.stdout
    return folder
