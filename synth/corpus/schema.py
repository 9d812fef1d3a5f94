"""The corpus format: the Arrow schema of every manifest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

FORMAT_VERSION: Final = 2


def _schema(*fields: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema([pa.field(name, type_, nullable=False) for name, type_ in fields])


_TEXT = pa.string()
_TEXTS = pa.list_(pa.string())

ADDED: Final = frozenset(
    {
        "levels_dba",
        "attacks",
        "segments",
        "activity",
        "against",
        "onsets",
        "acoustics",
        "dense",
    }
)
"""Columns, and fields of their structures, that manifests of an older format lack."""

TAG: Final = pa.struct(
    [pa.field("category", _TEXT, nullable=False), pa.field("name", _TEXT, nullable=False)]
)

STRETCH: Final = pa.struct(
    [
        pa.field("onset", pa.int64(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
    ]
)

CLIPS: Final = _schema(
    ("id", _TEXT),
    ("source", _TEXT),
    ("location", _TEXT),
    ("labels", _TEXTS),
    ("captions", _TEXTS),
    ("tags", pa.list_(TAG)),
    ("split", _TEXT),
    ("source_split", _TEXT),
    ("recording", _TEXT),
    ("licence", _TEXT),
    ("attribution", _TEXT),
    ("sample_rate", pa.int32()),
    ("channels", pa.int32()),
    ("frames", pa.int64()),
    ("onset", pa.int64()),
    ("offset", pa.int64()),
    ("loudness_lufs", pa.float64()),
    ("peak_db", pa.float64()),
    ("levels_db", pa.list_(pa.float32())),
    ("levels_dba", pa.list_(pa.float32())),
    ("attacks", pa.list_(pa.int8())),
    ("segments", pa.list_(STRETCH)),
    ("sha256", _TEXT),
    ("fingerprint", pa.binary()),
)

INCIDENTAL: Final = frozenset(
    {"location", "levels_db", "levels_dba", "attacks", "segments", "fingerprint"}
)
"""Columns of `CLIPS` that no sample depends on, or that follow from the file and the spec."""

QUARANTINE: Final = _schema(("id", _TEXT), ("location", _TEXT), ("stage", _TEXT), ("reason", _TEXT))

CAPTION: Final = pa.struct(
    [
        pa.field("text", _TEXT, nullable=False),
        pa.field("claim", _TEXT, nullable=False),
        pa.field("kind", _TEXT, nullable=False),
        pa.field("connective", _TEXT, nullable=False),
        pa.field("generator", _TEXT, nullable=False),
        pa.field("against", _TEXT, nullable=False),
    ]
)

ACOUSTICS: Final = pa.struct(
    [
        pa.field("mean_dba", pa.float64(), nullable=False),
        pa.field("peak_dba", pa.float64(), nullable=False),
        pa.field("thirds_dba", pa.list_(pa.float64()), nullable=False),
        pa.field("recording", _TEXT, nullable=False),
        pa.field("treatment", _TEXT, nullable=False),
    ]
)

ACTIVITY: Final = pa.struct(
    [
        pa.field("clear", pa.list_(STRETCH), nullable=False),
        pa.field("faint", pa.list_(STRETCH), nullable=False),
        pa.field("onsets", pa.int32(), nullable=False),
        pa.field("acoustics", pa.list_(ACOUSTICS), nullable=False),
    ]
)

DENSE: Final = pa.struct(
    [
        pa.field("resolution", _TEXT, nullable=False),
        pa.field("onset", pa.int64(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("text", _TEXT, nullable=False),
    ]
)

PLAN: Final = _schema(
    ("id", _TEXT),
    ("index", pa.int64()),
    ("group", _TEXT),
    ("split", _TEXT),
    ("shard", _TEXT),
    ("recipe", _TEXT),
    ("relation", _TEXT),
    ("caption", _TEXT),
    ("claim", _TEXT),
    ("generator", _TEXT),
    ("positives", pa.list_(CAPTION)),
    ("negatives", pa.list_(CAPTION)),
    ("labels", _TEXTS),
    ("clips", _TEXTS),
    ("notation", _TEXT),
    ("scene", _TEXT),
    ("activity", pa.list_(ACTIVITY)),
    ("dense", pa.list_(DENSE)),
    ("frames", pa.int64()),
    ("excerpts", pa.int64()),
    ("sample_rate", pa.int32()),
)

AUDIBLE: Final = "audible_frames"
"""Key of the metadata of a plan: the shortest overlap that can be heard, in frames."""

EAR: Final = "ear"
"""Key of the metadata of a plan: what counts as audible, a JSON object of `Ear`'s settings."""

MEASUREMENTS: Final = _schema(
    ("member", _TEXT),
    ("offset", pa.int64()),
    ("size", pa.int64()),
    ("sha256", _TEXT),
    ("gain_db", pa.float64()),
    ("peak_db", pa.float64()),
)

SAMPLES: Final = pa.schema([*PLAN, *MEASUREMENTS])

SHARDS: Final = _schema(("shard", _TEXT), ("split", _TEXT), ("samples", pa.int64()))
"""The columns of `shards.parquet` that tell of files."""


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return _CANONICAL.encode(value)


_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def to_table(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows as an Arrow table of `schema`.

    Raises:
        pyarrow.ArrowInvalid: If a row lacks a field or holds another type.
    """
    found = pa.Table.from_pylist(list(rows), schema=schema)
    for field in schema:
        if not field.nullable and found.column(field.name).null_count:
            raise pa.ArrowInvalid(f"a row lacks {field.name!r}")
    return found
