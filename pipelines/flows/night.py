"""A night: rebuild a corpus, judge the new version, train on it, and point `latest` to it.

No Prefect here: a flow passes a `Step` that makes a task of each stage. What a night finds is kept
as `nightly.json` in the version's manifests, which the next version's metrics are compared with;
`nightly.md` is its report.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from pipelines.builder.build import Step, Summary, locate_library
from pipelines.builder.finalise import RECORD_FILE, promote, read_record
from pipelines.builder.plan import plan
from pipelines.checks.audio import audit_audio
from pipelines.checks.audit import audit
from pipelines.checks.leakage import compare_splits
from pipelines.config.spec import Spec
from pipelines.engines.engine import Engine
from pipelines.flows.schedule import GateSettings, NightlySettings, TrainSettings
from pipelines.llm.run import generate
from pipelines.llm.runner import StopKind
from pipelines.llm.settings import AskSettings, GenerateSettings
from pipelines.store.places import Places
from synth.base.atomic import format_count, write_text
from synth.base.errors import CorpusError, SegueError, SpecError
from synth.base.progress import Observer
from synth.base.rng import digest
from synth.corpus.corpus import (
    CLIPS_FILE,
    CORPUS_FILE,
    LATEST_FILE,
    QUARANTINE_FILE,
    SAMPLES_FILE,
    Corpus,
)
from synth.shortcuts.audio import run_trivial_test
from synth.shortcuts.figures import Shortcuts
from synth.shortcuts.text import run_blind_test
from synth.storage.url import parse_pointer

REPORT_FILE: Final = "nightly.md"


@dataclass(frozen=True, slots=True)
class Gate:
    """A question that a version must answer well.

    Args:
        name: Its key in the settings, or `audit`.
    """

    name: str
    passed: bool
    found: str
    wanted: str


def night(
    summary: Summary,
    places: Places,
    settings: NightlySettings,
    observer: Observer,
    step: Step,
    report: Callable[[Sequence[Gate], Path], None],
) -> tuple[list[Gate], dict[str, Any]]:
    """Judge a version that was built, train on it if asked to, and promote it if it passes.

    Args:
        report: Given the gates and the report, before the version is promoted.

    Returns:
        The gates, and what the night did as JSON values.
    """
    gates = step("audit", lambda: judge(places, settings.gates, observer))
    metrics: dict[str, dict[str, Any]] = {}
    run = None
    if (training := settings.train) is not None and not failed_gates(gates):
        run = run_folder(places, training)
        step("train", lambda: train(places, training, run))
        metrics = step("evaluate", lambda: evaluate(places, training, run))
        gates += step("compare", lambda: compare_metrics(places, settings.gates, metrics))
    path = write_record(places, gates, metrics)
    report(gates, path)
    if not failed_gates(gates):
        step("promote", lambda: promote(places))
    facts = {
        "promoted": not failed_gates(gates),
        "gates": [asdict(gate) for gate in gates],
        "metrics": metrics,
        "model": str(run) if run else None,
        "report": str(path),
    }
    return gates, summary.to_json() | facts


def last_version(places: Places) -> str | None:
    """The version that `latest` points to; None where there is none, or it is no longer there."""
    pointer = places.versions / LATEST_FILE
    if not pointer.is_file():
        return None
    name = parse_pointer(pointer.read_bytes())
    return name if name and (places.versions / name / CORPUS_FILE).is_file() else None


def judge(places: Places, gates: GateSettings, observer: Observer) -> list[Gate]:
    """Put a finished version to the gates that need no model."""
    last = last_version(places)
    report = audit(places.manifests, observer)
    first = f", first in {report.violations[0].sample}" if report.violations else ""
    clips = _ids(places.manifests / CLIPS_FILE)
    refused = _ids(places.manifests / QUARANTINE_FILE)
    share = len(refused) / max(1, len(clips | refused))
    return [
        Gate(
            "audit",
            not report.violations,
            f"{len(report.violations)} violations among {report.positives + report.negatives} "
            f"captions{first}",
            "0",
        ),
        Gate(
            "quarantine",
            share <= gates.quarantine,
            f"{share:.1%} of {len(clips | refused)} clips",
            f"{gates.quarantine:.1%} or less",
        ),
        _judge_size(places, last, gates),
        *_judge_splits(places, gates, observer),
        *_judge_shortcuts(places, gates, observer),
        *_judge_audio(places, gates, observer),
    ]


def compare_metrics(
    places: Places, gates: GateSettings, metrics: Mapping[str, Mapping[str, Any]]
) -> list[Gate]:
    """Compare a trained model's metrics with those of the last version's model."""
    last = last_version(places)
    before = read_record(places.locate_sibling(last)).get("metrics", {}) if last else {}
    compared = []
    for name, margin in gates.metrics.items():
        if name not in metrics:
            raise CorpusError(
                f"gates.metrics: the test has no metric {name!r}",
                fix=f"it has {', '.join(sorted(metrics))}",
            )
        now, old = metrics[name]["value"], before.get(name, {}).get("value")
        least = None if old is None else old - margin
        limit = "no earlier version has it" if least is None else f"{least:.4f} or more"
        good = now is not None and (least is None or now >= least)
        compared.append(Gate(name, good, "undefined" if now is None else f"{now:.4f}", limit))
    return compared


def write_record(
    places: Places, gates: Sequence[Gate], metrics: Mapping[str, Mapping[str, Any]]
) -> Path:
    """Keep what was found, and tell it.

    Returns:
        The report.
    """
    facts = json.loads((places.manifests / CORPUS_FILE).read_text(encoding="utf-8"))
    record = {
        "corpus": places.corpus,
        "version": places.version,
        "passed": not failed_gates(gates),
        "gates": [asdict(gate) for gate in gates],
        "metrics": dict(metrics),
    }
    write_text(places.manifests / RECORD_FILE, json.dumps(record, indent=2) + "\n")
    report = places.manifests / REPORT_FILE
    write_text(report, "\n".join(_report(places, facts, gates, metrics)) + "\n")
    return report


def failed_gates(gates: Sequence[Gate]) -> list[Gate]:
    """The gates that a version does not pass."""
    return [gate for gate in gates if not gate.passed]


def refuse_failed(places: Places, gates: Sequence[Gate]) -> None:
    """Check that a version passes all gates."""
    failed = failed_gates(gates)
    if not failed:
        return
    last = last_version(places)
    reasons = "; ".join(f"{gate.name}: {gate.found}, wanted {gate.wanted}" for gate in failed)
    raise CorpusError(
        f"{places.corpus} {places.version} is not promoted: {reasons}",
        fix=f"`latest` stays {f'at {last}' if last else 'unset'}; "
        f"see {places.manifests / REPORT_FILE}",
    )


def _judge_size(places: Places, last: str | None, gates: GateSettings) -> Gate:
    now = pq.read_metadata(places.manifests / SAMPLES_FILE).num_rows
    if last is None:
        return Gate("samples", now > 0, str(now), "any, since this is the first version")
    before = pq.read_metadata(places.locate_sibling(last).manifests / SAMPLES_FILE).num_rows
    limit = f"at least {gates.samples:.1%} of the {before} of {last}"
    return Gate("samples", now >= gates.samples * before, str(now), limit)


def _judge_splits(places: Places, gates: GateSettings, observer: Observer) -> Iterator[Gate]:
    for splits, leaks in compare_splits(places.manifests, observer).items():
        summary = f"{leaks.shared} clips shared by {splits}"
        if leaks.pairs:
            summary += f", {leaks.pairs[0].a} and {leaks.pairs[0].b} first"
        yield Gate("leaked", leaks.shared <= gates.leaked, summary, f"{gates.leaked} or fewer")


def _judge_shortcuts(places: Places, gates: GateSettings, observer: Observer) -> Iterator[Gate]:
    """What is told without listening: by text alone, and by trivial audio."""
    results: list[tuple[str, float, Shortcuts]] = []
    if gates.blind is not None:
        manifest = places.manifests / SAMPLES_FILE
        result = run_blind_test(manifest, gates.blind_samples, observer=observer)
        results.append(("blind", gates.blind, result))
    if gates.trivial is not None:
        corpus = Corpus.open(places.manifests)
        result = run_trivial_test(corpus, gates.trivial_samples, observer=observer)
        results.append(("trivial", gates.trivial, result))
    for name, limit, result in results:
        figure = result.worst
        summary = (
            f"{figure.value:.1%} ({figure.low:.1%} to {figure.high:.1%}, chance "
            f"{figure.chance:.1%}) in {figure.split}, {figure.kind or 'all'} negatives, "
            f"{figure.measure}"
        )
        most = figure.chance + limit - 0.5
        yield Gate(name, figure.value <= most, summary, f"{most:.1%} or less")


def _judge_audio(places: Places, gates: GateSettings, observer: Observer) -> Iterator[Gate]:
    if gates.audio is not None:
        report = audit_audio(places.manifests, gates.audio, observer)
        count = format_count(len(report.findings), "finding")
        summary = f"{count} in {format_count(report.samples, 'sample')}"
        if report.findings:
            summary += f", first in {report.findings[0].sample}: {report.findings[0].said}"
        yield Gate("audio", not report.findings, summary, "0")


def _ids(path: Path) -> set[str]:
    return set(pq.read_table(path, columns=["id"]).column("id").to_pylist())


def _report(
    places: Places,
    facts: Mapping[str, Any],
    gates: Sequence[Gate],
    metrics: Mapping[str, Mapping[str, Any]],
) -> Iterator[str]:
    verdict = "not promoted" if failed_gates(gates) else "promoted"
    yield f"# {places.corpus} {places.version}: {verdict}"
    yield ""
    splits = (f"{name} {split['samples']}" for name, split in facts["splits"].items())
    yield f"Samples: {', '.join(splits)}; {facts['hours']:.2f} h."
    yield ""
    yield "| gate | passed | found | wanted |"
    yield "|---|---|---|---|"
    for gate in gates:
        yield f"| {gate.name} | {'yes' if gate.passed else 'NO'} | {gate.found} | {gate.wanted} |"
    if metrics:
        yield ""
        yield "| metric | value | chance | n |"
        yield "|---|---|---|---|"
        for name, metric in metrics.items():
            yield f"| {name} | {metric.get('value')} | {metric.get('chance')} | {metric.get('n')} |"
    yield ""
    yield f"Manifests: `{places.manifests}`"
    yield f"Shards: `{places.shards}`"


# The language-model stage: the answers that a spec's `enrich` names are bought over its plan.


def buy(
    spec: Spec, tasks: Sequence[AskSettings], out: Path, where: Engine, observer: Observer
) -> list[Path]:
    """Plan without enrichment, and have every task answered; nothing is bought twice.

    A spent budget ends a task with the answers that there are; the others stay open.

    Returns:
        The files of answers.
    """
    named = {path.resolve() for path in spec.enrich}
    for task in tasks:
        if task.out.resolve() not in named:
            raise SpecError(
                f"enrich: {task.task}: {task.out} would give no caption",
                fix="name the same file in the spec's `enrich`",
            )
    bare = spec.model_copy(update={"enrich": (), "version": None})
    library, places = locate_library(bare, out, where, observer)
    plan(bare, library, places, where, observer)
    for task in tasks:
        settings = GenerateSettings(**dict(task), source=places.manifests)
        summary = generate(settings, observer)
        if summary.stopped is not None and summary.stopped.kind is StopKind.INTERRUPTED:
            signal.raise_signal(signal.SIGINT)  # it was meant for the night, not for the task alone
        if summary.stopped is not None and summary.stopped.kind is not StopKind.BUDGET:
            raise SegueError(
                f"enrich: {task.task}: {summary.stopped.message}", fix=summary.stopped.fix
            )
    return [task.out for task in tasks]


# A night's model: `segue train`, then `segue eval`, as processes that end with ours.


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
    path = run / f"{settings.split}-{METRICS_FILE}"
    if not path.is_file():
        words = ["eval", str(run), str(places.manifests), "--split", settings.split, "--json"]
        words += ["--virtual"] if settings.virtual else []
        facts = _run_segue(words, (), settings.hours)
        metrics = {name: metric for name, metric in facts.items() if not name.startswith("_")}
        write_text(path, json.dumps(metrics, indent=2) + "\n")
    result: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return result


def _run_segue(words: Sequence[str], launcher: Sequence[str], hours: float) -> Mapping[str, Any]:
    """What a command of ours said in its line of JSON."""
    argv = [sys.executable, "-m", "pipelines.engines.executor", str(os.getpid()), "pipelines.cli"]
    command = [*launcher, "segue"] if launcher else argv
    line = " ".join(["segue", *words])
    try:
        process = subprocess.run(
            [*command, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=hours * 3600,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CorpusError(
            f"`{line}` took more than {hours:g} h", fix="raise train.hours; the run resumes"
        ) from error
    except OSError as error:
        raise SpecError(f"train.launcher: {command[0]}: {error.strerror}") from error
    lines = process.stdout.strip().splitlines()
    try:
        facts = json.loads(lines[-1]) if lines else None
    except ValueError:
        facts = None
    if process.returncode or not isinstance(facts, dict):
        reason = facts.get("error") if isinstance(facts, dict) else None
        raise CorpusError(
            f"`{line}` ended with status {process.returncode}: "
            f"{reason or process.stderr.strip()[-_SHOWN:] or 'no word'}",
            fix="run that command on its own",
        )
    return facts
