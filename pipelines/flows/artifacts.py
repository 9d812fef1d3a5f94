"""What a run tells on Prefect's pages and to its automations: links, log lines, events."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from prefect.artifacts import create_link_artifact
from prefect.events import emit_event

from pipelines.flows.night import Gate
from pipelines.store.places import Places
from synth.base.progress import Observer

Log: TypeAlias = "logging.Logger | logging.LoggerAdapter[logging.Logger]"

PROMOTED: Final = "segue.promoted"
REFUSED: Final = "segue.refused"


def show_link(corpus: str, name: str, path: Path) -> None:
    """A link to a file that the run wrote."""
    create_link_artifact(path.resolve().as_uri(), key=f"{corpus}-{name}", link_text=str(path))


class LoggedPhases:
    """An observer that logs where phases begin and end, and tells another of everything."""

    def __init__(self, observer: Observer, log: Log) -> None:
        self._observer = observer
        self._log = log

    def start(self, phase: str, total: int, unit: str, done: int | None = None) -> None:
        """Log that a phase begins."""
        kept = f", {done:,} of them already done" if done else ""
        self._log.info("%s started: %s %s%s", phase, f"{total:,}", unit, kept)
        self._observer.start(phase, total, unit, done)

    def advance(self, phase: str, units: int = 1, note: str = "") -> None:
        """Log nothing: the page has a bar."""
        self._observer.advance(phase, units, note)

    def finish(self, phase: str, note: str = "") -> None:
        """Log that a phase has ended."""
        self._log.info("%s ended%s", phase, f": {note}" if note else "")
        self._observer.finish(phase, note)


def log_gates(gates: Sequence[Gate], log: Log) -> None:
    """Log what each gate found; a failed one is an error."""
    for gate in gates:
        level = logging.INFO if gate.passed else logging.ERROR
        verdict = "passed" if gate.passed else "NOT passed"
        log.log(level, "gate %s %s: %s, wanted %s", gate.name, verdict, gate.found, gate.wanted)


def summarise(result: Mapping[str, Any]) -> str:
    """The last message of a run that succeeded."""
    if "version" not in result:
        return "; ".join(f"{name}: {value}" for name, value in result.items())
    promoted = "promoted, " if result.get("promoted") else ""
    lost = f", {result['quarantined']:,} clips quarantined" if result["quarantined"] else ""
    return (
        f"{result['corpus']} {result['version']}: {promoted}{result['samples']:,} samples in "
        f"{result['shards']:,} shards, {result['rendered']:,} of them rendered now{lost}"
    )


def emit(event: str, places: Places, gates: Sequence[Gate]) -> None:
    """Tell Prefect's automations what became of a version."""
    emit_event(
        event,
        resource={
            "prefect.resource.id": f"segue.corpus.{places.corpus}",
            "prefect.resource.name": places.corpus,
            "segue.version": places.version,
        },
        payload={
            "corpus": places.corpus,
            "version": places.version,
            "manifests": str(places.manifests),
            "failed": [gate.name for gate in gates if not gate.passed],
        },
    )
