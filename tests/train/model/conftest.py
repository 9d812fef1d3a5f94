"""Folders of tiny transformers models; not to be changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_models import save_clap, save_hubert


@pytest.fixture(scope="session")
def clap_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_clap(tmp_path_factory.mktemp("clap"))


@pytest.fixture(scope="session")
def fused_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_clap(tmp_path_factory.mktemp("fused"), fused=True)


@pytest.fixture(scope="session")
def hubert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_hubert(tmp_path_factory.mktemp("hubert"))
