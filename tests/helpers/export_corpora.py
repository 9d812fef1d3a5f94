"""Small corpora that exports are tried on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from builds import TINY, merged

from pipelines.builder.build import build
from pipelines.config.spec import Spec
from synth.corpus.corpus import Corpus

WIDE: dict[str, Any] = {
    "corpus": "wide",
    "source": {"foley": {"classes": ["dog", "rain"], "takes": 5}},
    "recipe": {"triplets": {"repeats": 1}},
    "audio": {"sample_rate": 48000, "length": "exact 10 s"},
    "splits": {"train": [1, 2], "val": [3], "test": [4, 5]},
    "shards": {"samples": 3},
}


def built(root: Path, changes: dict[str, Any]) -> Corpus:
    """A corpus of three samples of every ordered pair of four sounds, but for `changes`."""
    spec = Spec.model_validate(merged(TINY, changes))
    build(spec, root, worker_count=0)
    return Corpus.open(root / "data_manifests" / spec.corpus)
