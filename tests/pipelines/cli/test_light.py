"""Commands answer soon: what is slow to import is imported by what uses it, threads wait idly."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.kit.builds import PLAIN
from tests.kit.cases import cases

SLOW = (
    *("dask", "duckdb", "fsspec", "matplotlib", "numba", "openai", "pandas", "prefect"),
    *("pyarrow.dataset", "scipy.fft", "scipy.signal", "sklearn", "starlette", "torch"),
    *("transformers", "uvicorn"),
)
OFFER = """
import contextlib, io, sys
from pipelines.cli.app import main
from pipelines.cli.commands import COMMANDS, GROUPS
slow = set(sys.argv[1:])
for name in ("", *GROUPS, *COMMANDS):
    sys.argv = ["segue", *name.split(), "--help"]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        main()
    assert "Usage" in said.getvalue(), name
    found = sorted(slow & sys.modules.keys())
    assert not found, f"{name} --help imports {found}"
"""
RUN = """
import contextlib, shlex, sys
from pipelines.cli.app import main
words, *slow = sys.argv[1:]
sys.argv = ["segue", *shlex.split(words)]
with contextlib.suppress(SystemExit):
    main()
found = sorted(set(slow) & sys.modules.keys())
assert not found, f"it imports {found}"
"""


def run(code: str, *arguments: str | Path) -> str:
    paths = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=os.environ | PLAIN | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_help_of_no_command_loads_what_is_slow() -> None:
    run(OFFER, *SLOW, "jaxtyping", "pyarrow", "rich.progress", "scipy")


@pytest.mark.slow
def test_a_build_with_nothing_to_do_loads_nothing_slow(
    tiny_corpus: Path, tiny_file: Callable[..., Path], tmp_path: Path
) -> None:
    out = shutil.copytree(tiny_corpus, tmp_path / "out")
    # pyarrow imports pandas as soon as an array is made, as the rows of a library are.
    slow = {*SLOW, "jinja2", "snowballstemmer", "synth.llm", "synth.recipes.negation"} - {"pandas"}
    words = f"build {tiny_file()} --out {out} --workers 2 --no-prefect"
    assert "0 shards rendered" in run(RUN, words, *sorted(slow))


@cases(
    ("words", "slow"),
    [
        ("sources", ("pyarrow", "synth.recipes", "synth.sources.sounds.esc50", "yaml")),
        ("sources jam", ("pipelines.config.spec", "synth.recipes")),
        ("check", ("pyarrow", "synth.sources")),
    ],
)
def test_what_says_little_loads_little(words: str, slow: Sequence[str]) -> None:
    assert run(RUN, words, *SLOW, *slow)


SHOWS = """
import os, sys
from pipelines.cli.__main__ import main
sys.argv = ["segue", "--version"]
try:
    main()
finally:
    assert "torch" not in sys.modules
    print(os.environ["OMP_WAIT_POLICY"])
"""


@pytest.mark.parametrize(("given", "expected"), [(None, "passive"), ("active", "active")])
def test_threads_wait_without_using_a_processor_unless_the_user_has_them(
    given: str | None, expected: str
) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "OMP_WAIT_POLICY"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    if given is not None:
        environment["OMP_WAIT_POLICY"] = given
    done = subprocess.run(
        [sys.executable, "-c", SHOWS], capture_output=True, text=True, env=environment
    )
    assert done.stdout.splitlines()[-1] == expected, done.stderr
