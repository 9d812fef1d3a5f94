"""A small frozen test set."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.corpora import made_once
from tests.kit.frozen_sets import make_sets


@pytest.fixture(scope="session")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one small set; not to be changed."""
    return made_once("frozen-sets", make_sets, tmp_path_factory)
