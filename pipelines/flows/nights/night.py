"""What a night decides: is the new version good enough for `latest` to be pointed to it?

Plain functions: the flow calls them. What was found is kept as `nightly.json` in the version's
manifests, which is also what the next version's metrics are compared with; `nightly.md` tells it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from pipelines.build.promotion import RECORD_FILE, read_record
from pipelines.checks.audio.audit import audit_audio
from pipelines.checks.audit import audit
from pipelines.checks.blind import run_blind_test
from pipelines.checks.leakage import compare_splits
from pipelines.flows.nights.settings import GateSettings
from pipelines.store.places import Places
from synth.base.atomic import write_text
from synth.base.errors import CorpusError
from synth.base.progress import Observer
from synth.corpus.corpus import CLIPS_FILE, CORPUS_FILE, LATEST_FILE, QUARANTINE_FILE, SAMPLES_FILE
from synth.storage.url import parse_pointer

REPORT_FILE: Final = "nightly.md"


@dataclass(frozen=True, slots=True)
class Gate:
    """A question that a version must answer well.

    Args:
        name: Its key in the settings, or `audit`.
        found: What was found, in words.
        wanted: What was wanted, in words.
    """

    name: str
    passed: bool
    found: str
    wanted: str


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
    return [
        _judge_captions(places, observer),
        _judge_quarantine(places, gates),
        _judge_size(places, last, gates),
        *_judge_splits(places, gates, observer),
        *_judge_blindly(places, gates, observer),
        *_judge_audio(places, gates, observer),
    ]


def compare_metrics(
    places: Places, gates: GateSettings, metrics: Mapping[str, Mapping[str, Any]]
) -> list[Gate]:
    """Compare a trained model's metrics with those of the last version's model."""
    last = last_version(places)
    before = read_record(places.locate_sibling(last)).get("metrics", {}) if last else {}
    found = []
    for name, margin in gates.metrics.items():
        if name not in metrics:
            raise CorpusError(
                f"gates.metrics: the test has no metric {name!r}",
                fix=f"it has {', '.join(sorted(metrics))}",
            )
        now, old = metrics[name]["value"], before.get(name, {}).get("value")
        least = None if old is None else old - margin
        wanted = "no earlier version has it" if least is None else f"{least:.4f} or more"
        good = now is not None and (least is None or now >= least)
        found.append(Gate(name, good, "undefined" if now is None else f"{now:.4f}", wanted))
    return found


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
    lost = failed_gates(gates)
    if not lost:
        return
    last = last_version(places)
    reasons = "; ".join(f"{gate.name}: {gate.found}, wanted {gate.wanted}" for gate in lost)
    raise CorpusError(
        f"{places.corpus} {places.version} is not promoted: {reasons}",
        fix=f"`latest` stays {f'at {last}' if last else 'unset'}; "
        f"see {places.manifests / REPORT_FILE}",
    )


def _judge_captions(places: Places, observer: Observer) -> Gate:
    found = audit(places.manifests, observer)
    first = f", first in {found.violations[0].sample}" if found.violations else ""
    return Gate(
        "audit",
        not found.violations,
        f"{len(found.violations)} violations among {found.positives + found.negatives} "
        f"captions{first}",
        "0",
    )


def _judge_quarantine(places: Places, gates: GateSettings) -> Gate:
    clips = _ids(places.manifests / CLIPS_FILE)
    refused = _ids(places.manifests / QUARANTINE_FILE)
    share = len(refused) / max(1, len(clips | refused))
    return Gate(
        "quarantine",
        share <= gates.quarantine,
        f"{share:.1%} of {len(clips | refused)} clips",
        f"{gates.quarantine:.1%} or less",
    )


def _judge_size(places: Places, last: str | None, gates: GateSettings) -> Gate:
    now = pq.read_metadata(places.manifests / SAMPLES_FILE).num_rows
    if last is None:
        return Gate("samples", now > 0, str(now), "any, since this is the first version")
    before = pq.read_metadata(places.locate_sibling(last).manifests / SAMPLES_FILE).num_rows
    wanted = f"at least {gates.samples:.1%} of the {before} of {last}"
    return Gate("samples", now >= gates.samples * before, str(now), wanted)


def _judge_splits(places: Places, gates: GateSettings, observer: Observer) -> Iterator[Gate]:
    for splits, found in compare_splits(places.manifests, observer).items():
        shown = f"{found.shared} clips shared by {splits}"
        if found.pairs:
            shown += f", {found.pairs[0].a} and {found.pairs[0].b} first"
        yield Gate("leaked", found.shared <= gates.leaked, shown, f"{gates.leaked} or fewer")


def _judge_blindly(places: Places, gates: GateSettings, observer: Observer) -> Iterator[Gate]:
    if gates.blind is not None:
        told = run_blind_test(places.manifests, gates.blind_samples, observer=observer).worst
        shown = (
            f"{told.value:.1%} ({told.low:.1%} to {told.high:.1%}, chance {told.chance:.1%}) in "
            f"{told.split}, {told.kind or 'all'} negatives, {told.measure}"
        )
        most = told.chance + gates.blind - 0.5
        yield Gate("blind", told.value <= most, shown, f"{most:.1%} or less")


def _judge_audio(places: Places, gates: GateSettings, observer: Observer) -> Iterator[Gate]:
    if gates.audio is not None:
        heard = audit_audio(places.manifests, gates.audio, observer)
        shown = f"{len(heard.findings)} findings in {heard.samples} samples"
        if heard.findings:
            shown += f", first in {heard.findings[0].sample}: {heard.findings[0].said}"
        yield Gate("audio", not heard.findings, shown, "0")


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
        for name, one in metrics.items():
            yield f"| {name} | {one.get('value')} | {one.get('chance')} | {one.get('n')} |"
    yield ""
    yield f"Manifests: `{places.manifests}`"
    yield f"Shards: `{places.shards}`"
