"""Probe sets that `segue text probe` cut from caption files, as benchmarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from synth.base.errors import CorpusError
from synth.text.order.clause_swap import Probe
from train.bench.plan import Benchmark, DataKind, TaskPlan, TaskRefusal
from train.bench.settings import BenchSettings, Task
from train.bench.sounds import Files
from train.bench.tasks import probes
from train.bench.tasks.probes import ProbedSentence

COLUMNS: Final = ("id", "caption", "outcome", "reason", "text", "connective")
TOOL: Final = b"tool"
MADE: Final = "made"
_MEND: Final = "give the Parquet file that `segue text probe pte|bat|as-then-set` wrote"

Planner = Callable[[list[ProbedSentence], BenchSettings], TaskPlan | TaskRefusal]
_TASKS: Final[Mapping[Task, tuple[frozenset[str], Planner]]] = {
    Task.PTE: (frozenset({Probe.PTE, Probe.CLAUSE_SWAP}), probes.plan_pte),
    Task.BAT: (frozenset({Probe.BAT, Probe.BEFORE_AFTER}), probes.plan_bat),
    Task.AS_THEN: (frozenset({Probe.AS_THEN_SET, Probe.AS_THEN}), probes.plan_as_then),
}


def probes_benchmark(table: Path, audio: Path, settings: BenchSettings | None = None) -> Benchmark:
    """A set that `segue text probe` cut: PTe, BAT or as/then, as the file itself says.

    Captions that were left out of the set are counted, by the reason that the file gives.

    Args:
        audio: Folder of the audio files, named as the set's `id` column says, with or without
            ending; cut the set with `--id-column` naming the column of files.
    """
    found = _read(table)
    metadata: Mapping[bytes, bytes] = found.schema.metadata or {}
    tool = metadata.get(TOOL, b"").decode()
    files = Files(audio, table)
    sentences: list[ProbedSentence] = []
    left_out: Counter[str] = Counter()
    for number, row in enumerate(found.select(list(COLUMNS)).to_pylist(), start=1):
        if row["outcome"] != MADE:
            left_out[f"captions left out: {row['reason']}"] += 1
            continue
        _check(row, table, number)
        sound = files.number(row["id"], number)
        sentences.append(ProbedSentence(sound, row["caption"], row["text"], row["connective"]))
    if not sentences:
        raise CorpusError(f"{table}: no sentence was made", fix="cut the set from other captions")
    sounds = files.sounds()
    chosen = settings or BenchSettings()
    return Benchmark(
        DataKind.PROBES,
        str(table),
        {"set": str(table), "probe": tool, "sentences": str(len(sentences))},
        sounds,
        chosen,
        {
            task: planner(sentences, chosen)
            if tool in tools
            else TaskRefusal(f"the set was made by `segue text probe {tool}`")
            for task, (tools, planner) in _TASKS.items()
        },
        dict(sorted(left_out.items())),
    )


def _read(table: Path) -> pa.Table:
    if not table.is_file():
        raise CorpusError(f"{table}: no such file", fix=_MEND)
    try:
        found = pq.read_table(table)
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None):  # of the system, not about the file
            raise
        raise CorpusError(f"{table}: is not a Parquet file", fix=_MEND) from error
    missing = [name for name in COLUMNS if name not in found.column_names]
    if missing:
        raise CorpusError(f"{table}: no column {', '.join(map(repr, missing))}", fix=_MEND)
    texts = [name for name in COLUMNS if not pa.types.is_string(found.schema.field(name).type)]
    if texts:
        raise CorpusError(f"{table}: no texts in column {', '.join(texts)}", fix=_MEND)
    if TOOL not in (found.schema.metadata or {}):
        raise CorpusError(f"{table}: does not say which probe made it", fix=_MEND)
    return found


def _check(row: Mapping[str, Any], table: Path, number: int) -> None:
    for name in ("id", "caption", "text", "connective"):
        if not (row[name] or "").strip():
            raise CorpusError(
                f"{table}: row {number}: {name!r} is empty",
                fix="cut the set again; `--id-column` names the column of audio files",
            )
