"""What is written: what became of every row, as Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.llm.files import InputRow
from pipelines.llm.second import ItemOutcome
from pipelines.llm.tasks import PromptTask
from synth.base.atomic import replacing
from synth.corpus.schema import canonical_json

_TEXT: Final = pa.string()
ANSWERS: Final = pa.schema(
    [
        pa.field("id", _TEXT, nullable=False),
        pa.field("status", _TEXT, nullable=False),
        pa.field("texts", pa.list_(_TEXT), nullable=False),
        pa.field("answer", _TEXT, nullable=False),
        pa.field("reason", _TEXT, nullable=False),
        pa.field("generator", _TEXT, nullable=False),
        pa.field("attempts", pa.int32(), nullable=False),
    ]
)
VERIFIED: Final = ("text", "verdict", "kind", "read")
"""Columns of answers that are verified: the text, accepted or not, its `Verdict`, the kind of the
item, and the answer to the second request. The item's fields follow."""


def write_answers(
    out: Path,
    rows: Sequence[InputRow],
    task: PromptTask,
    outcomes: Mapping[str, ItemOutcome],
    kinds: Mapping[str, str],
) -> None:
    """Write what became of every row, in the order of the input."""
    names = dict.fromkeys((*VERIFIED, *task.prompt.file.fields) if kinds else ())
    added = [pa.field(name, _TEXT, nullable=False) for name in names if name not in ANSWERS.names]
    schema = pa.schema([*ANSWERS, *added])
    facts = {"task": task.prompt.id, "digest": task.prompt.digest, "generator": task.generator}
    table = []
    for row in rows:
        found = outcomes[row.digest]
        made = _make_row(row, found, task)
        table.append(_make_verified(row, found, kinds[row.digest]) | made if kinds else made)
    with replacing(out) as partial:
        found_table = pa.Table.from_pylist(table, schema=schema.with_metadata(facts))
        pq.write_table(found_table, partial, compression="zstd")


def _make_row(row: InputRow, found: ItemOutcome, task: PromptTask) -> dict[str, Any]:
    state = found.state
    return {
        "id": row.id,
        "status": str(state.status),
        "texts": [] if state.answer is None else task.prompt.texts(state.answer),
        "answer": "" if state.answer is None else canonical_json(state.answer),
        "reason": state.reason,
        "generator": task.generator,
        "attempts": state.attempts,
    }


def _make_verified(row: InputRow, found: ItemOutcome, kind: str) -> dict[str, Any]:
    fields = {
        name: value if isinstance(value, str) else canonical_json(value)
        for name, value in row.fields.items()
    }
    read = "" if found.read is None else canonical_json(found.read)
    return {**fields, "text": found.text, "verdict": str(found.verdict), "kind": kind, "read": read}
