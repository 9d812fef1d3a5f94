from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builds import TINY, merged

from pipelines.build.build import build
from pipelines.export.corpus import export_corpus
from pipelines.spec.spec import Spec
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
    spec = Spec.model_validate(merged(TINY, changes))
    build(spec, root, worker_count=0)
    return Corpus.open(root / "data_manifests" / spec.corpus)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A small corpus at 16 kHz."""
    return built(tmp_path_factory.mktemp("export-tiny"), {})


@pytest.fixture(scope="session")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A smaller one of 10 s samples at 48 kHz, with a split `val`."""
    return built(tmp_path_factory.mktemp("export-wide"), WIDE)


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Corpus, str], Path]:
    """The folder of a corpus's export, made once."""
    made: dict[tuple[str, str], Path] = {}

    def folder(corpus: Corpus, name: str) -> Path:
        if (corpus.name, name) not in made:
            out = tmp_path_factory.mktemp(f"{corpus.name}-{name}")
            export_corpus(corpus, name, out)
            made[corpus.name, name] = out
        return made[corpus.name, name]

    return folder
