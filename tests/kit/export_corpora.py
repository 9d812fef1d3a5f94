"""Small corpora that exports are tried on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.export import export_corpus
from synth.corpus.corpus import Corpus
from tests.kit.builds import TINY, merged
from tests.kit.corpora import made_of, made_once, manifests

WIDE: dict[str, Any] = {
    "corpus": "wide",
    "source": {"foley": {"classes": ["dog", "rain"], "takes": 5}},
    "recipe": {"triplets": {"repeats": 1}},
    "audio": {"sample_rate": 48000, "length": "exact 10 s"},
    "splits": {"train": [1, 2], "val": [3], "test": [4, 5]},
    "shards": {"samples": 3},
}


def built(tmp_path_factory: pytest.TempPathFactory, changes: dict[str, Any]) -> Corpus:
    """A corpus of three samples of every ordered pair of four sounds, but for `changes`."""
    return Corpus.open(manifests(merged(TINY, changes), tmp_path_factory))


Exported = Callable[[Corpus, str], Path]
"""The folder of a corpus's export in a format."""


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A small corpus at 16 kHz."""
    return built(tmp_path_factory, {})


@pytest.fixture(scope="session")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A smaller one of 10 s samples at 48 kHz, with a split `val`."""
    return built(tmp_path_factory, WIDE)


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """The folder of a corpus's export, made once."""
    return export_once(tmp_path_factory)


def export_once(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """Makes each export when it is first asked for."""

    def folder(corpus: Corpus, name: str) -> Path:
        return made_once(
            made_of(f"{corpus.name}-{name}", str(corpus.folder)),
            lambda out: export_corpus(corpus, name, out, allow_long=name == "laion"),
            tmp_path_factory,
        )

    return folder
