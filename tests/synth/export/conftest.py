from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from export_corpora import WIDE, built

from pipelines.export import export_corpus
from synth.corpus.corpus import Corpus


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
