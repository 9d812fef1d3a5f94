"""How soon every command says something through a pipe, and how long it is silent at most.

`python -m benchmarks.first_output > benchmarks/results/first_output.md`; with `--code FOLDER` of
another checkout; with `--starts` what commands that do little take, and their aims, alone.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from benchmarks.core.contenders import ROOT
from benchmarks.core.table import load, machine, make_parser, markdown
from pipelines.cli.commands import COMMANDS

MOST_S: Final = 90.0
"""How long a command may run before Ctrl-C."""
SERVER_S: Final = 15.0
"""And one that ends by Ctrl-C alone."""
SPEC: Final = """
corpus: small
seed: 7
source: {foley: {classes: [dog, rain, siren, wind], takes: 5}}
recipe: {triplets: {crossfade_s: 0.25, max_event_s: 1.0, repeats: 2}}
audio: {sample_rate: 16000, length: exact 2 s}
splits: {train: [1, 2], val: [3], test: [4, 5]}
shards: {samples: 12}
"""
FILES: Final = {
    "small.yaml": SPEC,
    "captions.csv": "id,caption\n1,a dog barks before rain falls\n2,loud piano music\n",
    "tags.csv": "id,tags\n1,piano\n2,rock\n",
    "tags.json": '["piano", "guitar", "rock", "loud"]',
}
BUILD: Final = "build small.yaml --no-prefect"
STARTS: Final = {"--help": 0.15, "build --help": 0.4, BUILD: 0.5, "check": 1.5, "sources": 0.4}
"""Aims: CPU seconds of the process and of those it waits for; the build has nothing to do."""
TRIES: Final = 7
CORPUS: Final = "data_manifests/small"
CALLS: Final = f"""
sources
new triplets
ingest foley
plan small.yaml
{BUILD}
{BUILD}
check
check {CORPUS}
audit {CORPUS} --blind --trivial
night run small.yaml --out night
night schedule small.yaml --out scheduled --every 1h
night deploy small.yaml --pool nights --no-register
promote {CORPUS} $VERSION
inspect {CORPUS}
sql {CORPUS} 'SELECT count(*) FROM samples'
diff {CORPUS} night/data_manifests/small
report {CORPUS}
browse {CORPUS}
versions {CORPUS}
rebuild {CORPUS}
gc {CORPUS} --keep 1
text probe pte captions.csv --out probe.parquet
text negate captions.csv --vocabulary tags.json --out negated.parquet
text tag-captions tags.csv --out tagged.parquet
text textswap tags.json --out swapped.parquet
llm run paraphrase captions.csv --out said.parquet --model some --local --dry-run
llm stats
llm tasks
train {CORPUS} --steps 20 --out runs/a
train {CORPUS} --steps 10 --head mlp --out runs/b
eval runs/a {CORPUS} --split test
eval runs/b {CORPUS} --split test
compare runs/a runs/b
export {CORPUS} --to hf --out exported
bench list
bench build order-v3
bench run random runs/a --only order-v3
reproduce acba --results results
demo --quick
"""
"""What is called, in an order in which every command finds what it needs."""


@dataclass(frozen=True, slots=True)
class OutputTimes:
    """When a command wrote something, in s from its start, its CPU time, and how it ended."""

    first: float
    silence: float
    whole: float
    cpu: float
    status: str


def measure(words: Sequence[str], code: Path, folder: Path) -> OutputTimes:
    """Run a command with its output in a pipe."""
    most = SERVER_S if "browse" in words or "schedule" in words else MOST_S
    begun, used = time.monotonic(), sum(os.times()[2:4])
    run = subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(code)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    stopping = threading.Timer(most, run.send_signal, [signal.SIGINT])
    stopping.start()
    moments = [0.0]
    assert run.stdout is not None
    while os.read(run.stdout.fileno(), 65536):
        moments.append(time.monotonic() - begun)
    status = str(run.wait()) if stopping.is_alive() else "stopped"
    stopping.cancel()
    moments.append(time.monotonic() - begun)
    silence = max(later - earlier for earlier, later in pairwise(moments))
    return OutputTimes(moments[1], silence, moments[-1], sum(os.times()[2:4]) - used, status)


def print_starts(code: Path, folder: Path) -> None:
    """Print the least CPU time of several tries, of processes whose files are in memory."""
    print("| start | CPU | aim |\n|---|---:|---:|")
    measure(shlex.split(BUILD), code, folder)
    for call, aim in STARTS.items():
        least = min(measure(shlex.split(call), code, folder).cpu for _ in range(TRIES))
        print(f"| `{call}` | {least:.2f} s | {aim:.2f} s |", flush=True)


def main() -> None:
    """Print a table of the commands."""
    parser = make_parser("first_output", __doc__, repeats=1)
    parser.add_argument("--code", type=Path, default=ROOT, help="another checkout")
    parser.add_argument("--starts", action="store_true", help="CPU of starts, beside their aims")
    options = parser.parse_args()
    code = options.code.resolve()
    rows: list[tuple[str, ...]] = []
    uncalled = set(COMMANDS)
    with tempfile.TemporaryDirectory() as name:
        for file, text in FILES.items():
            (Path(name) / file).write_text(text)
        print_starts(code, Path(name))
        if options.starts:
            return
        print()
        for call in CALLS.strip().splitlines():
            print(call, file=sys.stderr, flush=True)
            newest = next(iter(sorted(Path(name, CORPUS).glob("*/"))), Path()).name
            words = shlex.split(call.replace("$VERSION", newest))
            command = max((entry for entry in COMMANDS if call.startswith(entry)), key=len)
            uncalled.discard(command)
            help_ = measure([*command.split(), "--help"], code, Path(name))
            run = measure(words, code, Path(name))
            times = (help_.first, run.first, run.silence, run.whole)
            rows.append((f"`{call}`", *(f"{seconds:.2f} s" for seconds in times), run.status))
    head = "command|its help after|first output after|longest silence|in all|status"
    print(f"{machine()}, load {load()} after\n\n{markdown(head.split('|'), rows)}")
    assert not uncalled, f"not called: {uncalled}"


if __name__ == "__main__":
    main()
