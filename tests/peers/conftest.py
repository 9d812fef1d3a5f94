"""Segue beside the programs that read its exports and score by its side.

`make peers` installs them and runs these tests; no other run collects them. There none is skipped:
what could not be installed is left out by name.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import types
from collections.abc import Generator, Iterator
from importlib.machinery import ModuleSpec
from typing import Any
from unittest.mock import MagicMock

import pytest
import soundfile

from synth.corpus.corpus import Corpus
from tests.kit.export_corpora import built, corpus, exported, wide

__all__ = ["corpus", "exported", "wide"]

IMAGES = ("datasets", "transforms", "transforms.functional", "ops", "ops.misc")


def refuse_skips(report: Any) -> Any:
    if report.skipped and os.environ.get("SEGUE_PEERS") == "1":
        report.outcome = "failed"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    return refuse_skips((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    return refuse_skips((yield))


@pytest.fixture(scope="session")
def short(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Samples of a few seconds."""
    return built(tmp_path_factory, {"corpus": "short"})


@pytest.fixture(scope="module")
def no_images() -> Iterator[None]:
    """Something in the place of torchvision, which loaders of sounds import for images alone.

    PyPI's works with no other build of torch than PyPI's, which is gigabytes.
    """
    importlib.import_module("transformers")  # looks for torchvision, and would take this for it
    names = ("torchvision", *(f"torchvision.{module}" for module in IMAGES))
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            stand_in = MagicMock(__spec__=ModuleSpec(name, None), __path__=[])
            patch.setitem(sys.modules, name, stand_in)
        yield


def load_audio(source: Any) -> tuple[Any, int]:
    """What torchaudio's function of this name gives."""
    import torch

    audio, rate = soundfile.read(source, dtype="float32", always_2d=True)
    return torch.from_numpy(audio.T.copy()), rate


@pytest.fixture
def torchaudio(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decodes by soundfile where torchaudio is absent, or finds no FFmpeg."""
    if importlib.util.find_spec("torchaudio") is None:
        importlib.import_module("transformers")  # looks for torchaudio, and would take this for it
        module = types.ModuleType("torchaudio")
        module.__spec__ = ModuleSpec("torchaudio", None)
        monkeypatch.setitem(sys.modules, "torchaudio", module)
        monkeypatch.setattr(module, "load", load_audio, raising=False)
        return
    try:
        importlib.import_module("torchcodec")
    except (ImportError, RuntimeError):
        monkeypatch.setattr(importlib.import_module("torchaudio"), "load", load_audio)
