"""A night's model: `segue train`, then `segue eval`, as processes that end with ours."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pipelines.flows.nights.settings import TrainSettings
from pipelines.store.places import Places
from synth.base.atomic import write_text
from synth.base.errors import CorpusError, SpecError
from synth.base.rng import digest

RUNS: Final = "runs"
METRICS_FILE: Final = "nightly.json"
_DIGITS: Final = 8
_SHOWN: Final = 2000


def run_folder(places: Places, settings: TrainSettings) -> Path:
    """Where the model of a version and of these settings lies."""
    try:
        config = settings.config.read_bytes() if settings.config else b""
    except OSError as error:
        raise SpecError(f"train.config: {error.filename}: {error.strerror}") from error
    incidental = {"config", "hours", "launcher", "split"}
    key = digest(
        (places.manifests / "corpus.json").read_text(encoding="utf-8"),
        settings.model_dump_json(exclude=incidental),
        hashlib.sha256(config).hexdigest(),
    )
    return places.out / RUNS / f"{places.corpus}-{places.version}-{key[:_DIGITS]}"


def train(places: Places, settings: TrainSettings, run: Path) -> None:
    """Train on a version, or go on where an earlier night was stopped."""
    words = ["train", str(places.manifests), "--out", str(run), "--resume", "--json"]
    words += ["--config", str(settings.config)] if settings.config else []
    words += ["--steps", str(settings.steps)] if settings.steps else []
    words += ["--virtual"] if settings.virtual else []
    _run_segue(words, settings.launcher, settings.hours)


def evaluate(places: Places, settings: TrainSettings, run: Path) -> dict[str, dict[str, Any]]:
    """The metrics of a version's model; a test that was made is not made again."""
    kept = run / f"{settings.split}-{METRICS_FILE}"
    if not kept.is_file():
        words = ["eval", str(run), str(places.manifests), "--split", settings.split, "--json"]
        words += ["--virtual"] if settings.virtual else []
        found = _run_segue(words, (), settings.hours)
        metrics = {name: one for name, one in found.items() if not name.startswith("_")}
        write_text(kept, json.dumps(metrics, indent=2) + "\n")
    result: dict[str, dict[str, Any]] = json.loads(kept.read_text(encoding="utf-8"))
    return result


def _run_segue(words: Sequence[str], launcher: Sequence[str], hours: float) -> Mapping[str, Any]:
    """What a command of ours said in its line of JSON."""
    ours = [sys.executable, "-m", "pipelines.engines.child", str(os.getpid()), "pipelines.cli"]
    command = [*launcher, "segue"] if launcher else ours
    shown = " ".join(["segue", *words])
    try:
        done = subprocess.run(
            [*command, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=hours * 3600,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CorpusError(
            f"`{shown}` took more than {hours:g} h", fix="raise train.hours; the run resumes"
        ) from error
    except OSError as error:
        raise SpecError(f"train.launcher: {command[0]}: {error.strerror}") from error
    lines = done.stdout.strip().splitlines()
    try:
        said = json.loads(lines[-1]) if lines else None
    except ValueError:
        said = None
    if done.returncode or not isinstance(said, dict):
        why = said.get("error") if isinstance(said, dict) else None
        raise CorpusError(
            f"`{shown}` ended with status {done.returncode}: "
            f"{why or done.stderr.strip()[-_SHOWN:] or 'no word'}",
            fix="run that command by itself",
        )
    return said
