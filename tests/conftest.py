"""Run-time shape and type checks for the whole suite, real data where it is at hand."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

# Checks every array's shape and every argument's type. An int is a float here, as it is to mypy.
install_import_hook(
    ["synth", "train"],
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))",
)

REPO = Path(__file__).resolve().parents[1]
SHARED = REPO.parent / "shared"

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("dev", deadline=None, max_examples=60, suppress_health_check=_SLOW)
settings.register_profile(
    "ci", deadline=None, max_examples=100, derandomize=True, suppress_health_check=_SLOW
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def missing(reason: str) -> None:
    """Skip a test whose part is not on this machine; in CI it must be, so there it fails."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """Finds `../shared/data/NAME`."""

    def find(name: str) -> Path:
        path = SHARED / "data" / name
        if not path.exists():
            missing(f"real data ../shared/data/{name} is not here")
        return path

    return find


@pytest.fixture
def ffmpeg() -> None:
    """Needs ffmpeg."""
    if shutil.which("ffmpeg") is None:
        missing("ffmpeg is not installed")
