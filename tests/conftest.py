"""Run-time shape and type checks for the whole suite, real data where it is at hand."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Callable, Generator
from dataclasses import is_dataclass
from functools import wraps
from pathlib import Path
from types import FunctionType
from typing import Any

import jaxtyping
import pytest
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook, jaxtyped

REPO = Path(__file__).resolve().parents[1]
SHARED = REPO.parent / "shared"


def modules_with_shapes() -> list[str]:
    """The modules whose signatures tell shapes of arrays.

    The others are left to mypy: checking every small function as it is called takes five times as
    long as the functions themselves.
    """
    sources = (path for package in ("synth", "train") for path in (REPO / package).rglob("*.py"))
    names = (
        path.relative_to(REPO).with_suffix("")
        for path in sources
        if b"jaxtyping" in path.read_bytes()
    )
    return sorted(".".join(name.parts) for name in names)


CHECKED = 10
"""So many calls of each function are checked in each test, and then the 16th, 32nd, 64th and so on.

A build makes tens of thousands, and what one call shows of shapes and types, most others show.
"""
_test = [0]


def checked_at_first(*, typechecker: Any) -> Callable[[Any], Any]:
    """As `jaxtyped`, which it stands for, but for most calls after the first of a test."""
    check = jaxtyped(typechecker=typechecker)

    def decorate(what: Any) -> Any:
        if isinstance(what, FunctionType):
            return seldom(what, check)
        if isinstance(what, type):
            if "__init__" in vars(what) and is_dataclass(what):
                what.__init__ = seldom(vars(what)["__init__"], check)  # type: ignore[misc]
            return what
        return check(what)

    return decorate


def seldom(plain: FunctionType, check: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function with its checks at some of its calls; they are made at the first."""
    checked: Callable[..., Any] | None = None
    test, calls = 0, 0

    @wraps(plain)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal checked, test, calls
        if test != _test[0]:
            test, calls = _test[0], 0
        calls += 1
        if calls > CHECKED and calls & (calls - 1):
            return plain(*args, **kwargs)
        if checked is None:
            checked = check(plain)
        return checked(*args, **kwargs)

    return call


def pytest_runtest_setup() -> None:
    """Check the first calls anew."""
    _test[0] += 1


# Checks the shapes there. An int is a float here, as it is to mypy.
jaxtyping.jaxtyped = checked_at_first  # type: ignore[assignment]
install_import_hook(
    modules_with_shapes(),
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))",
)

# `make peers` alone has the packages that these tests need.
collect_ignore = [] if os.environ.get("SEGUE_PEERS") == "1" else ["peers"]

# Disks are not waited for: no test cuts the power. A file that cannot be synced is still an error.
# What tests start in processes of their own waits.
os.fsync = os.fstat  # type: ignore[assignment]

# A shell that starts the suite in its background makes it deaf to Ctrl-C, and with it the programs
# that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("dev", deadline=None, max_examples=60, suppress_health_check=_SLOW)
settings.register_profile(
    "ci", deadline=None, max_examples=100, derandomize=True, suppress_health_check=_SLOW
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage in what is imported: it stays, and looking takes a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 10, 10)
        gc.enable()


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
