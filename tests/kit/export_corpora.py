"""Small corpora that exports are tried on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.builder.build import build
from pipelines.config.spec import Spec
from pipelines.export import export_corpus
from synth.corpus.corpus import Corpus
from tests.kit.builds import TINY, merged

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


Exported = Callable[[Corpus, str], Path]
"""The folder of a corpus's export in a format."""


def export_once(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """Makes each export when it is first asked for."""
    made: dict[tuple[str, str], Path] = {}

    def folder(corpus: Corpus, name: str) -> Path:
        if (corpus.name, name) not in made:
            made[corpus.name, name] = tmp_path_factory.mktemp(f"{corpus.name}-{name}")
            export_corpus(corpus, name, made[corpus.name, name], allow_long=name == "laion")
        return made[corpus.name, name]

    return folder
