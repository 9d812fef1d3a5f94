r"""Runs documented commands again, and keeps the figures that README and docs quote.

    python -m benchmarks.figures ../shared/data                  # all jobs of jobs.yaml
    python -m benchmarks.figures ../shared/data demo tutorial    # some

Each job runs in an empty folder, where `data` is the folder of libraries and `$SEGUE` this
repository, and writes `benchmarks/results/figures/JOB.json`: commands, what they found, versions.
Only what the job names is kept, so that a wrong figure is not right by chance.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import Field

from benchmarks.core.table import versions
from synth.base.choice import StrictModel
from synth.base.errors import SpecError

ROOT: Final = Path(__file__).resolve().parents[2]
JOBS: Final = Path(__file__).with_name("jobs.yaml")
RESULTS: Final = ROOT / "benchmarks" / "results" / "figures"


class FigureCommand(StrictModel):
    """A command, and what is kept of the last line that it prints, which is JSON.

    Args:
        keep: Paths into the JSON, such as `bat/value`; `*` stands for any key. Without, what it
            prints is not read.
        status: The exit status it must have.
    """

    run: str
    keep: tuple[str, ...] = ()
    status: int = 0


class FigureJob(StrictModel):
    """Commands that share a folder, and the files that they need there."""

    steps: tuple[FigureCommand, ...]
    files: dict[str, str] = Field(default_factory=dict)


def read_jobs() -> dict[str, FigureJob]:
    """The jobs by name."""
    listed = yaml.safe_load(JOBS.read_text(encoding="utf-8"))
    return {name: FigureJob.model_validate(job) for name, job in listed.items()}


def keep(value: Any, paths: Sequence[str]) -> Any:
    """The parts of a JSON value that `paths` name.

    Raises:
        SpecError: If a path leads nowhere.
    """
    kept: dict[str, Any] = {}
    for path in paths:
        _keep(value, path.split("/"), kept, path)
    return kept


def _keep(value: Any, path: Sequence[str], kept: dict[str, Any], name: str) -> None:
    first, *rest = path
    values = value if isinstance(value, dict) else dict(enumerate(value))
    keys = [key for key in values if first in ("*", str(key))]
    if not keys:
        fix = f"it has {', '.join(map(str, values))}: correct the path in {JOBS.name}"
        raise SpecError(f"{name}: no {first}", fix=fix)
    for key in keys:
        if rest:
            _keep(values[key], rest, kept.setdefault(str(key), {}), name)
        else:
            kept[str(key)] = values[key]


def run(job: FigureJob, data: Path, folder: Path) -> list[dict[str, Any]]:
    """What each step of a job found.

    Raises:
        RuntimeError: If a command ends with another status than the job says.
    """
    (folder / "data").symlink_to(data.resolve())
    for name, text in job.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    # One thread adds up in one order, so a training run gives the same figures again.
    env = {"PATH": path, "PYTHONPATH": str(ROOT), "SEGUE": str(ROOT), "OMP_NUM_THREADS": "1"}
    entries = []
    for step in job.steps:
        print(f"$ {step.run}", flush=True)
        command = f"{step.run} --json" if step.run.startswith("segue") else step.run
        process = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=os.environ | env,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if process.returncode != step.status:
            raise RuntimeError(f"{step.run}: status {process.returncode}\n{process.stdout[-2000:]}")
        entry: dict[str, Any] = {"command": step.run}
        if step.keep:
            entry["found"] = keep(json.loads(process.stdout.splitlines()[-1]), step.keep)
        entries.append(entry)
    return entries


def main() -> None:
    """Run the jobs."""
    jobs = read_jobs()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures", description=__doc__)
    parser.add_argument("data", type=Path, help="folder of libraries: ESC-10, ESC-50, ...")
    parser.add_argument("jobs", nargs="*", choices=(*jobs, []), help="all by default")
    parser.add_argument("--scratch", type=Path, help="keep the jobs' folders here")
    options = parser.parse_args()
    for name in options.jobs or jobs:
        with tempfile.TemporaryDirectory() as temporary:
            folder = (options.scratch or Path(temporary)).resolve() / name
            folder.mkdir(parents=True)
            steps = run(jobs[name], options.data, folder)
        report = {
            "command": f"python -m benchmarks.figures DATA {name}",
            "versions": versions("segue-audio", "numpy", "soundfile", "pyarrow", "torch"),
            "files": dict(jobs[name].files),
            "steps": steps,
        }
        RESULTS.mkdir(parents=True, exist_ok=True)
        text = json.dumps(report, indent=1, ensure_ascii=False) + "\n"
        (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
