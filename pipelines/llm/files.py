"""The files of a run: items are read from data files and corpora, answers written as Parquet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.llm.money.store import TaskItem
from pipelines.llm.settings import GenerateSettings
from pipelines.llm.tasks import PromptTask, make_item
from pipelines.llm.verify import ItemOutcome
from pipelines.store.data_file import DATA_FILES, number_rows, read_data_file
from pipelines.store.places import find_manifest
from synth.base.atomic import replacing
from synth.base.doors import parse_json
from synth.base.errors import CorpusError, SceneError, SourceError, SpecError
from synth.base.rng import uniform_hash
from synth.captions.caption import Author
from synth.corpus.schema import AUDIBLE, canonical_json
from synth.llm.checks.claim_checks import events_timeline
from synth.llm.prompt import Prompt
from synth.llm.reply import PromptItem, find_violations

_NUMBERS: Final[Mapping[str, type]] = {"integer": int, "number": float}
_CAPTION: Final = "caption"
_KINDS: Final = f"{DATA_FILES}, or a corpus's manifest folder"


def read_rows(settings: GenerateSettings, prompt: Prompt) -> list[TaskItem]:
    """The items of a file or a corpus, with the fields that a prompt knows."""
    items: list[TaskItem] = []
    seen: dict[tuple[str, str], str] = {}
    columns = {name: name for name in [*prompt.file.fields, *prompt.file.optional]}
    for name in [*settings.columns, *settings.constants]:
        if name not in columns:
            raise SpecError(
                f"{name!r}: the prompt has no such field", fix=f"it has {', '.join(columns)}"
            )
    for name, value in settings.constants.items():
        schema = _find_schema(prompt, name)
        faults = find_violations(_parse_cell(value, schema), schema, repr(name)) if schema else []
        if faults:
            raise SpecError(f"--set {name}={value}: {faults[0]}", fix="give a value of that kind")
    columns |= settings.columns
    for place, values in islice(_read_values(settings), settings.limit):
        where = f"{settings.source}: {place}"
        if not items:
            deal = _find_dealt(settings, prompt, columns, values)
            _check_present(settings, prompt, columns, values, deal)
        name = str("" if (cell := values.get(settings.id_column)) is None else cell)
        key = (name, values[_CAPTION] if settings.positives else "")
        if not name or key in seen:
            fault = f"the id {name!r} is also that of {seen[key]}" if name else "lacks an id"
            raise SourceError(f"{where}: {fault}", fix="give every row its own id")
        seen[key] = place
        cells = {name: values.get(column) for name, column in columns.items()}
        for variant in range(settings.variants):
            dealt = {name: _deal(prompt, name, key, variant) for name in deal}
            fields = cells | dealt | dict(settings.constants)
            items.append(_make_row(name, fields, prompt, where))
    if not items:
        raise SourceError(f"{settings.source}: has no rows", fix=f"name {_KINDS}")
    return items


def _find_dealt(
    settings: GenerateSettings, prompt: Prompt, columns: Mapping[str, str], first: Mapping[str, Any]
) -> list[str]:
    """The fields whose values are dealt: neither the rows nor the options give them."""
    deal = [
        name
        for name in prompt.file.deal
        if name not in settings.constants and columns[name] not in first
    ]
    most = math.lcm(*(len(prompt.file.fields[name]["enum"]) for name in deal))
    if settings.variants > most:
        fault = (
            f"a row has only {most} variants, by {' and '.join(deal)}"
            if deal
            else "nothing is dealt"
        )
        raise SpecError(f"--variants {settings.variants}: {fault}", fix=f"give at most {most}")
    return deal


def _deal(prompt: Prompt, name: str, row: tuple[str, str], variant: int) -> str:
    """The value of a field for a row: by chance the first, and the next one each variant."""
    values = prompt.file.fields[name]["enum"]
    return str(
        values[(int(uniform_hash("deal", name, *row) * len(values)) + variant) % len(values)]
    )


def _find_schema(prompt: Prompt, name: str) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = (prompt.file.fields | prompt.file.optional).get(name, {})
    return schema


def _check_present(
    settings: GenerateSettings,
    prompt: Prompt,
    columns: Mapping[str, str],
    first: Mapping[str, Any],
    deal: Iterable[str],
) -> None:
    present = ", ".join(str(name) for name in first)
    if settings.id_column not in first:
        raise SpecError(
            f"{settings.source}: no column {settings.id_column!r} for the ids",
            fix=f"give --id-column one of: {present}",
        )
    for name in prompt.file.fields:
        if name not in {*settings.constants, *deal} and columns[name] not in first:
            raise SpecError(
                f"{settings.source}: no column {columns[name]!r}, which prompt {prompt.id} needs",
                fix=f"give --column {name}=COLUMN with one of: {present}; or --set {name}=VALUE",
            )


def _make_row(name: str, values: Mapping[str, Any], prompt: Prompt, where: str) -> TaskItem:
    fields = {}
    for key, value in values.items():
        schema = _find_schema(prompt, key)
        if value is not None and not (value == "" and key in prompt.file.optional):
            fields[key] = _parse_cell(value, schema)
    try:
        prompt.check_item(PromptItem(name, fields))
        blank = next((key for key in prompt.file.fields if not str(fields[key]).strip()), None)
        if blank is not None:
            raise SpecError(f"{blank!r} is blank")
        if "events" in fields:
            events_timeline(fields["events"])
    except (SpecError, SceneError) as error:
        raise SourceError(f"{where}: {error.message}", fix="fix or remove the row") from error
    return make_item(name, fields)


def _parse_cell(value: Any, schema: Mapping[str, Any]) -> Any:
    """A cell as its field's type: CSV has nothing but texts, and corpora keep JSON in some."""
    kind = schema.get("type", "")
    if not isinstance(value, str) or kind == "string":
        return str(value) if kind == "string" and isinstance(value, int | float) else value
    if kind == "array" and not value.lstrip().startswith("["):
        return [part.strip() for part in value.split(";") if part.strip()]
    try:
        return _NUMBERS[kind](value) if kind in _NUMBERS else parse_json(value, kind)
    except (ValueError, CorpusError):
        return value


def _read_values(settings: GenerateSettings) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rows as they are, each with its place."""
    path = settings.source
    if path.is_dir():
        split = None if settings.split is None else [("split", "==", settings.split)]
        table = pq.read_table(find_manifest(path), filters=split)
        if settings.split is not None and not table.num_rows:
            splits = pq.read_table(find_manifest(path), columns=["split"])["split"].unique()
            names = ", ".join(map(str, splits.to_pylist()))
            raise SpecError(
                f"{path}: has no split {settings.split!r}", fix=f"its splits are {names}"
            )
        audible = (table.schema.metadata or {}).get(AUDIBLE.encode())
        extra = {} if audible is None else {"audible": int(audible)}
        rows = (row | extra for row in table.to_pylist())
        yield from number_rows(_add_positives(rows) if settings.positives else rows)
        return
    if settings.positives:
        raise SpecError(
            "--positives goes only with a corpus", fix=f"leave out --positives: {path} is a file"
        )
    if settings.split is not None:
        raise SpecError(
            "--split goes only with a corpus", fix=f"leave out --split: {path} is a file"
        )
    yield from read_data_file(path, _KINDS)


def _add_positives(rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for row in rows:
        yield row
        for caption in row["positives"]:
            if not Author.MODEL.wrote(caption["generator"]):  # It may answer this very task.
                yield {**row, _CAPTION: caption["text"], "claim": caption["claim"]}


# What is written: what became of every row.


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
"""Columns of answers that are verified: the text, accepted or not, its `ItemVerdict`, the kind of
the item, and the answer to the second request. The item's fields follow."""


def write_answers(
    out: Path,
    items: Sequence[TaskItem],
    task: PromptTask,
    outcomes: Mapping[str, ItemOutcome],
    kinds: Mapping[str, str],
) -> None:
    """Write what became of every row, in the order of the input."""
    names = dict.fromkeys((*VERIFIED, *task.prompt.file.fields) if kinds else ())
    added = [pa.field(name, _TEXT, nullable=False) for name in names if name not in ANSWERS.names]
    facts = {"task": task.prompt.id, "digest": task.prompt.digest, "generator": task.generator}
    schema = pa.schema([*ANSWERS, *added], metadata=facts)
    rows = []
    for item in items:
        outcome = outcomes[item.digest]
        state = outcome.state
        row = {
            "id": item.id,
            "status": str(state.status),
            "texts": [] if state.answer is None else task.prompt.texts(state.answer),
            "answer": "" if state.answer is None else canonical_json(state.answer),
            "reason": state.reason,
            "generator": task.generator,
            "attempts": state.attempts,
        }
        if kinds:
            fields = {
                name: value if isinstance(value, str) else canonical_json(value)
                for name, value in item.fields.items()
            }
            verified = {
                "text": outcome.text,
                "verdict": str(outcome.verdict),
                "kind": kinds[item.digest],
                "read": "" if outcome.read is None else canonical_json(outcome.read),
            }
            row = fields | verified | row
        rows.append(row)
    with replacing(out) as partial:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), partial, compression="zstd")
