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


COMPOSED: dict[str, Any] = {
    "task": "composed retrieval",
    "asks": "Which sound does an instruction make of another?",
    "edits": ["remove", "replace", "quieter"],
    "backwards": "keeps",
    "composed": True,
    "spec": {
        "seed": 5,
        "recipe": {
            "edits": {
                "pairs": 18,
                "choices": 2,
                "changes": ["presence", "replace", "level"],
                "max_event_s": 1.0,
            }
        },
        "audio": {"sample_rate": 16000, "length": "exact 5 s"},
    },
    "sources": {"foley": {"settings": {"takes": 2}, "test": 1.0}},
}


def make_sets(folder: Path, description: dict[str, Any] = DESCRIPTION) -> Path:
    """A folder with one small set."""
    (folder / "small-v1.yaml").write_text(yaml.safe_dump(description), encoding="utf-8")
    ended = segue_here(
        "bench", "build", folder / "small-v1.yaml", "--out", folder, "--workers", "0"
    )
    assert ended.returncode == 0, ended.stderr
    assert "unpublished" in ended.stdout
    return folder
