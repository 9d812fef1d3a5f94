"""What takes seconds to make is made once a run, and shared by all workers of pytest-xdist."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from pipelines.builder.build import build
from pipelines.config.spec import Spec


def made_once(
    name: str, make: Callable[[Path], object], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folder of a name, which `make` filled; not to be changed, but a copy may be."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder = base / "shared" / name
    folder.parent.mkdir(exist_ok=True)
    with FileLock(folder.with_name(f"{name}.lock")):
        if not folder.exists():
            begun = folder.with_name(f"{name}.begun")
            shutil.rmtree(begun, ignore_errors=True)
            begun.mkdir()
            make(begun)
            begun.rename(folder)
    return folder


def made_of(kind: str, values: str) -> str:
    """A name for `made_once` of a kind of thing and of all that determines it."""
    return f"{kind}-{hashlib.sha256(values.encode()).hexdigest()[:16]}"


def built(spec: Spec | Mapping[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Root of the corpus of a spec; not to be changed, but `shutil.copytree`'s copy may be."""
    known = Spec.model_validate(spec)
    name = made_of(known.corpus, known.model_dump_json())
    return made_once(name, lambda root: build(known, root, 0), tmp_path_factory)


def manifests(spec: Spec | Mapping[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manifest folder of its corpus; its `latest` names the only version."""
    known = Spec.model_validate(spec)
    return built(known, tmp_path_factory) / "data_manifests" / known.corpus


@pytest.fixture(autouse=True)
def caching(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segue's cache is one of all tests that import this: the sounds of scenes are made once."""
    monkeypatch.setenv("SEGUE_CACHE", str(made_once("cache", lambda _: None, tmp_path_factory)))
