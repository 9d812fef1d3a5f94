"""What a worker must show before it works: the client's own versions and code, and its folders.

Imported by Dask's workers; asked again by every call, so that a worker that joins late is too.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import soundfile

import pipelines
import synth
from pipelines.engines.call import OverdueError
from synth.base.errors import SegueError

PACKAGE: Final = "segue-audio"
LIBRARIES: Final = ("numpy", "soundfile", "soxr", "librosa", "pyarrow")
FURTHER: Final = ("scipy", "pyloudnorm", "dask", "distributed")
CODE_LETTERS: Final = 12


@dataclass(frozen=True, slots=True)
class WorkerRefusal:
    """A clear error as a worker's answer: trying again would not fix it.

    Args:
        worker: Where a call is overdue and to be ended, Dask's address; else empty.
    """

    error: SegueError
    worker: str = ""


@dataclass(frozen=True, slots=True)
class Passport:
    """What a worker must agree with.

    Args:
        facts: `facts` of the client.
        probes: Files that the client wrote, and what is in each.
    """

    facts: tuple[tuple[str, str], ...]
    probes: tuple[tuple[Path, str], ...]

    def with_probe(self, path: Path, content: str) -> Passport:
        """The passport with a further file to be seen."""
        return replace(self, probes=(*self.probes, (path, content)))

    def call(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """On a worker: the function's result, or a refusal."""
        # A nanny's worker may by default start no process. Ours end with their parent.
        multiprocessing.current_process().daemon = False
        try:
            if refused := find_fault(self):
                raise SegueError(
                    f"a worker that joined late cannot be used: {refused}",
                    fix="give it the same environment and folders as the others, then run "
                    "the same command again; finished shards are kept",
                )
            return function(*args, **kwargs)
        except OverdueError as error:
            return WorkerRefusal(error, import_module("distributed").get_worker().address)
        except SegueError as error:
            return WorkerRefusal(error)


def find_fault(passport: Passport) -> str:
    """Why this process may not work under a passport; empty if it may."""
    try:
        _verify(passport)
    except SegueError as error:
        return error.message
    return ""


@lru_cache(maxsize=8)
def _verify(passport: Passport) -> None:
    if different := differences(dict(passport.facts), facts()):
        raise SegueError(different)
    for path, content in passport.probes:
        reply = path.with_name(f"{path.name}-{platform.node()}-{os.getpid()}")
        try:
            if path.read_text() != content:
                raise SegueError(f"{path} is a different file there")
            reply.write_text(content)
            reply.unlink(missing_ok=True)
        except OSError as error:
            raise SegueError(f"{type(error).__name__}: {error}") from error


@lru_cache(maxsize=1)
def facts() -> dict[str, str]:
    """Everything that could change a byte: Python, processor family, libraries, our own code."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        **{name: _version(name) for name in FURTHER},
        **library_versions(),
        PACKAGE: _version(PACKAGE),
        "code": _code(),
    }


def differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """What differs, in words; empty if nothing does."""
    return ", ".join(
        f"{name} {theirs.get(name, 'missing')} (here {ours.get(name, 'missing')})"
        for name in sorted(ours.keys() | theirs.keys())
        if ours.get(name) != theirs.get(name)
    )


def library_versions() -> dict[str, str]:
    """Versions of the libraries that make the bytes."""
    return dict(_library_versions())


@lru_cache(maxsize=1)
def _library_versions() -> tuple[tuple[str, str], ...]:
    """Once a process: each is read from a file."""
    found = ((name, version(name)) for name in LIBRARIES)
    return (*found, ("libsndfile", soundfile.__libsndfile_version__))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def _code() -> str:
    """Digest of our packages' source: two checkouts may bear one version."""
    found = hashlib.sha256()
    for package in (synth, pipelines):
        root = Path(package.__path__[0])
        for path in sorted(root.rglob("*.py")):
            found.update(f"{package.__name__}/{path.relative_to(root).as_posix()}\n".encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:CODE_LETTERS]
