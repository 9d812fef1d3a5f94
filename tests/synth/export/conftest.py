from __future__ import annotations

import pytest

from synth.corpus.corpus import Corpus
from tests.kit.export_corpora import WIDE, Exported, built, export_once


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
