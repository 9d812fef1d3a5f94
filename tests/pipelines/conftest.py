from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from builds import TINY, merged

from pipelines.spec import Spec


@pytest.fixture
def tiny() -> Callable[..., Spec]:
    """A small corpus's spec, with changes."""
    return lambda **changes: Spec.model_validate(merged(TINY, changes))


@pytest.fixture
def tiny_file(tmp_path: Path) -> Callable[..., Path]:
    """The same as a file."""

    def write(**changes: Any) -> Path:
        path = tmp_path / "tiny.yaml"
        path.write_text(yaml.safe_dump(merged(TINY, changes)))
        return path

    return write


@pytest.fixture(scope="session")
def tiny_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a built tiny corpus; not to be changed."""
    from pipelines.build import build

    out = tmp_path_factory.mktemp("tiny-corpus")
    build(Spec.model_validate(TINY), out, worker_count=0)
    return out
