"""Small corpora, and what tests ask of them."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from click.testing import Result
from typer.testing import CliRunner

from pipelines.cli.app import main, present
from tests.kit.waiting import PATIENCE_S

PLAIN = {"COLUMNS": "100", "NO_COLOR": "1"}
"""What output is compared in."""
PROGRESS = re.compile(r"^(?!note:)[\w -]+: (?:under way|[\d,]+ of [\d,]+ ).*\n", re.MULTILINE)

TINY: dict[str, Any] = {
    "corpus": "tiny",
    "seed": 7,
    "source": {"foley": {"classes": ["dog", "rain", "siren", "wind"], "takes": 5}},
    "recipe": {"triplets": {"crossfade_s": 0.25, "max_event_s": 1.0, "repeats": 2}},
    "audio": {"sample_rate": 16000, "length": "exact 2 s"},
    "splits": {"train": [1, 2, 3], "test": [4, 5]},
    "shards": {"samples": 12},
}


UNCERTIFIED = shutil.ignore_patterns("receipt.json")
"""For `shutil.copytree`: a copy whose manifests may be changed."""


def merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`base` with `changes` laid over it, key by key; choices and splits are replaced whole."""
    result = dict(base)
    for key, value in changes.items():
        old = result.get(key)
        nested = isinstance(old, dict) and isinstance(value, dict)
        other_choice = key in ("source", "recipe", "splits") and nested and set(old) != set(value)
        result[key] = merged(old, value) if nested and not other_choice else value
    return result


BESIDE = ("journal.jsonl", "nightly.json", "nightly.md", "shortcuts.json", ".lock")
"""Files that tell of runs or tests, and are no part of what a build promises."""


def product(out: Path) -> dict[str, str]:
    """SHA-256 of every file a build promises byte for byte, by its path below `out`."""
    files = [
        path
        for folder in ("shards", "data_manifests")
        for path in sorted((out / folder).rglob("*"))
        if path.is_file() and path.name not in BESIDE
    ]
    return {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def ingested(corpus: Path, folder: Path) -> Path:
    """A root to build to, whose bank holds the clips of a built corpus: making them takes a second.

    A process of its own has nobody who made them before.
    """
    shutil.copytree(corpus / "banks", folder / "out" / "banks")
    return folder / "out"


def segue(
    *arguments: str | Path, env: Mapping[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own; how far it came is no part of its errors."""
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env=os.environ | PLAIN | dict(env or {}),
        **options,
    )
    done.stderr = PROGRESS.sub("", done.stderr)
    return done


def flip(path: Path, at: int | None = None) -> None:
    """Flip a bit and keep the times, as a bad disk does."""
    times, data = path.stat(), bytearray(path.read_bytes())
    data[len(data) // 2 if at is None else at] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def rewrite_rows(path: Path, change: Callable[[list[dict[str, Any]]], object]) -> Any:
    """Change the rows of a manifest; gives them."""
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    return rows


def invoke(command: Callable[..., Any], *arguments: object, **options: Any) -> Result:
    """Run one command in this process; what ends it is the result's exception."""
    app = typer.Typer()
    app.command()(present(command))
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **options)


def segue_here(
    *arguments: str | Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line in this process, which spares a second of imports."""
    words = ["segue", *map(str, arguments)]
    output, errors, status = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.dict(os.environ, PLAIN | dict(env or {})),
        mock.patch.object(sys, "argv", words),
        mock.patch.object(sys.modules["__main__"], "__package__", ""),  # else of `-m pytest`
        redirect_stdout(output),
        redirect_stderr(errors),
    ):
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
    shown = PROGRESS.sub("", errors.getvalue())
    return subprocess.CompletedProcess(words, status, output.getvalue(), shown)


def ask_segue(*arguments: str | Path, status: int = 0) -> dict[str, Any]:
    """The last line of JSON of a command that ends with a status."""
    ended = segue_here(*arguments, "--json")
    assert ended.returncode == status, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


@contextmanager
def unchanged(out: Path) -> Iterator[None]:
    """Nothing of what builds promise below a folder changes meanwhile."""
    before = product(out)
    yield
    assert product(out) == before
