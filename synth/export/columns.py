"""The columns of exports that are tables: what is told of a sample, without its audio."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from synth.export.items import ExportItem

AUDIO: Final = "audio"
ROWS_AT_ONCE: Final = 16
"""So few that a reader of a single row, and a writer, hold little audio at a time."""

_TEXTS = pa.list_(pa.string())
_EVENT = pa.struct(
    [
        ("label", pa.string()),
        ("clip", pa.string()),
        ("onset_s", pa.float64()),
        ("offset_s", pa.float64()),
        ("gain_db", pa.float64()),
        ("licence", pa.string()),
        ("attribution", pa.string()),
    ]
)
_DENSE = pa.struct(
    [
        ("resolution", pa.string()),
        ("onset_s", pa.float64()),
        ("offset_s", pa.float64()),
        ("text", pa.string()),
    ]
)
_TOLD: Final = (
    ("caption", pa.string()),
    ("captions", _TEXTS),
    ("negatives", _TEXTS),
    ("negative_kinds", _TEXTS),
    ("negative_against", _TEXTS),
    ("labels", _TEXTS),
    ("events", pa.list_(_EVENT)),
    ("dense", pa.list_(_DENSE)),
    ("relation", pa.string()),
    ("notation", pa.string()),
    ("group", pa.string()),
    ("recipe", pa.string()),
    ("generator", pa.string()),
    ("frames", pa.int64()),
)


def make_schema(audio: pa.DataType) -> pa.Schema:
    """The columns, given the type of the one that holds the audio."""
    return pa.schema([("id", pa.string()), (AUDIO, audio), *_TOLD])


def make_row(item: ExportItem, audio: Any) -> dict[str, Any]:
    """A sample as a row, with more keys than there are columns; `audio` is told as given."""
    return {
        **item.document,
        AUDIO: audio,
        "caption": item.texts[0],
        "captions": item.texts,
        "labels": item.document["tag"],
    }


def batch_rows(rows: Iterator[dict[str, Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows as batches of `ROWS_AT_ONCE`, the last one of what is left."""
    while chosen := list(islice(rows, ROWS_AT_ONCE)):
        yield pa.RecordBatch.from_pylist(chosen, schema=schema)
