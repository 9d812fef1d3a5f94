"""The corpus format: the Arrow schema of every manifest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
import pyarrow as pa

from synth.base.errors import SceneError, shorten
from synth.base.units import Frames
from synth.captions.caption import Caption
from synth.captions.narrative import DenseCaption, Resolution
from synth.scene.activity import Activity
from synth.scene.claim import claim_to_text
from synth.scene.scene import Scene, events, format_scene, from_text, labels, to_text
from synth.scene.timeline import Timeline, timeline
from synth.truth.ear import LevelTable

FORMAT_VERSION: Final = 3


def _schema(*columns: tuple[str, pa.DataType]) -> pa.Schema:
    """Columns, of which none is ever missing; several in a row may be of one type."""
    fields = ((name, type_) for names, type_ in columns for name in names.split())
    return pa.schema([pa.field(name, type_, nullable=False) for name, type_ in fields])


def _struct(*fields: tuple[str, pa.DataType]) -> pa.StructType:
    return pa.struct(list(_schema(*fields)))


_TEXT = pa.string()
_TEXTS = pa.list_(pa.string())

ADDED: Final = frozenset(
    (
        *("levels_dba", "attacks", "segments", "activity", "against", "onsets", "acoustics"),
        *("likely", "lufs", "dense", "lead"),
    )
)
"""Columns, and fields of their structures, that manifests of an older format lack."""

STRETCH: Final = _struct(("onset offset", pa.int64()))

CLIPS: Final = _schema(
    ("id source location", _TEXT),
    ("labels captions", _TEXTS),
    ("tags", pa.list_(_struct(("category name", _TEXT)))),
    ("split source_split recording licence attribution", _TEXT),
    ("sample_rate channels", pa.int32()),
    ("frames onset offset", pa.int64()),
    ("loudness_lufs peak_db", pa.float64()),
    ("levels_db levels_dba", pa.list_(pa.float32())),
    ("attacks", pa.list_(pa.int8())),
    ("segments", pa.list_(STRETCH)),
    ("sha256", _TEXT),
    ("fingerprint", pa.binary()),
)

INCIDENTAL: Final = frozenset(
    {"location", "levels_db", "levels_dba", "attacks", "segments", "fingerprint"}
)
"""Columns of `CLIPS` that no sample depends on, or that follow from the file and the spec."""

QUARANTINE: Final = _schema(("id location stage reason", _TEXT))

RESTATEMENT: Final = "restatement"
"""The kind of a true caption beside the main one; that of a false one is its edit."""

CAPTION: Final = _struct(("text claim kind connective generator against", _TEXT))

ACOUSTICS: Final = _struct(
    ("mean_dba peak_dba", pa.float64()),
    ("thirds_dba", pa.list_(pa.float64())),
    ("lufs", pa.float64()),
    ("recording treatment", _TEXT),
)

ACTIVITY: Final = _struct(
    ("clear faint", pa.list_(STRETCH)),
    ("onsets", pa.int32()),
    ("acoustics", pa.list_(ACOUSTICS)),
    ("likely", pa.list_(STRETCH)),
)

DENSE: Final = _struct(("resolution", _TEXT), ("onset offset", pa.int64()), ("text", _TEXT))

PLAN: Final = _schema(
    ("id", _TEXT),
    ("index", pa.int64()),
    ("group split shard recipe relation caption claim generator", _TEXT),
    ("positives negatives", pa.list_(CAPTION)),
    ("labels clips", _TEXTS),
    ("notation scene", _TEXT),
    ("activity", pa.list_(ACTIVITY)),
    ("dense", pa.list_(DENSE)),
    ("lead frames excerpts", pa.int64()),
    ("sample_rate", pa.int32()),
)

AUDIBLE: Final = "audible_frames"
"""Key of the metadata of a plan: the shortest overlap that can be heard, in frames."""

EAR: Final = "ear"
"""Key of the metadata of a plan: what counts as audible, a JSON object of `Ear`'s settings."""

MEASUREMENTS: Final = _schema(
    ("member", _TEXT),
    ("offset size", pa.int64()),
    ("sha256", _TEXT),
    ("gain_db peak_db", pa.float64()),
)

SAMPLES: Final = pa.schema([*PLAN, *MEASUREMENTS])

SHARDS: Final = _schema(("shard split", _TEXT), ("samples", pa.int64()))
"""The columns of `shards.parquet` that tell of files."""


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return _CANONICAL.encode(value)


_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def plan_text(row: Mapping[str, Any]) -> str:
    """`canonical_json` of a row of `PLAN`: its numbers are whole, or have one decimal."""
    return orjson.dumps(row, option=orjson.OPT_SORT_KEYS).decode()


def to_table(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows as an Arrow table of `schema`."""
    table = pa.Table.from_pylist(list(rows), schema=schema)
    for field in schema:
        if not field.nullable and table.column(field.name).null_count:
            raise pa.ArrowInvalid(f"a row lacks {field.name!r}")
    return table


# The rows of a plan: a sample as a row, and what is read of one.


@dataclass(frozen=True, slots=True)
class Sample:
    """One planned sample: a scene that can be rendered, and every sentence about it.

    Args:
        id: Key in the shard: lowercase letters, digits and `-`.
        group: Minimal-pair group; members use the same clips in another composition.
        activity: When each of its events is heard, in its order.
        lead: Silence before the scene, in frames.
        excerpts: How many of its events are heard in part only.
    """

    id: str
    index: int
    group: str
    split: str
    shard: str
    recipe: str
    scene: Scene
    activity: tuple[Activity, ...]
    caption: Caption
    positives: tuple[Caption, ...]
    negatives: tuple[Caption, ...]
    frames: Frames
    excerpts: int
    sample_rate: int
    dense: tuple[DenseCaption, ...] = ()
    lead: Frames = 0

    def row(self) -> dict[str, Any]:
        """The sample as a row of `PLAN`."""
        return {
            "id": self.id,
            "index": self.index,
            "group": self.group,
            "split": self.split,
            "shard": self.shard,
            "recipe": self.recipe,
            "relation": self.caption.connective,
            "caption": self.caption.text,
            "claim": claim_to_text(self.caption.claim),
            "generator": str(self.caption.provenance),
            "positives": [caption_row(caption) for caption in self.positives],
            "negatives": [caption_row(caption) for caption in self.negatives],
            "labels": list(labels(self.scene)),
            "clips": [event.played.clip for event in events(self.scene)],
            "notation": format_scene(self.scene),
            "scene": to_text(self.scene),
            "activity": [item.to_json() for item in self.activity],
            "dense": [item._asdict() for item in self.dense],
            "lead": self.lead,
            "frames": self.frames,
            "excerpts": self.excerpts,
            "sample_rate": self.sample_rate,
        }


def caption_row(caption: Caption) -> dict[str, str]:
    """A caption beside the main one as a value of `CAPTION`."""
    return {
        "text": caption.text,
        "claim": claim_to_text(caption.claim),
        "kind": RESTATEMENT if caption.edit is None else caption.edit.value,
        "connective": caption.connective,
        "generator": str(caption.provenance),
        "against": "",
    }


def compared_with(negative: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """The text of the true sentence of a row with which one of its negatives is compared.

    Where it stands against any, or the corpus is of an older format, that is the main caption.
    """
    return str(negative.get("against") or row["caption"])


def read_timeline(row: Mapping[str, Any]) -> Timeline:
    """The timeline of a row of `PLAN` or `SAMPLES`: `scene`, `activity` and `lead` are read.

    It lasts as long as the sample, with what it is padded with.

    In a corpus of an older format, which does not tell activity, sounds are heard all through.
    """
    stored = row.get("activity")
    activities = None if stored is None else [Activity.from_json(item) for item in stored]
    placed = timeline(from_text(row["scene"]), activities, row.get("lead") or 0)
    clips = {place.excerpt.clip for place in placed.placements}
    if unlisted := clips - {*row.get("clips", clips)}:
        raise SceneError(
            f"sample {row.get('id')}: its scene has clip {shorten(min(unlisted))}, which its clips "
            "lack",
            fix="download or build the corpus again",
        )
    return replace(placed, frames=max(placed.frames, row.get("frames", 0)))


def read_dense(row: Mapping[str, Any]) -> tuple[DenseCaption, ...]:
    """The dense captions of a row of `PLAN` or `SAMPLES`; none in a corpus of an older format."""
    stored = row.get("dense") or ()
    try:
        return tuple(
            DenseCaption(
                Resolution(item["resolution"]), item["onset"], item["offset"], item["text"]
            )
            for item in stored
        )
    except ValueError as error:
        raise SceneError(
            f"dense: {error}", fix=f"expected one of {', '.join(Resolution)}"
        ) from error


# The levels of a catalogue's clips, read where they lie.


def read_levels(clips: pa.RecordBatch) -> LevelTable:
    """Views of the levels of clips: three columns of `schema.CLIPS`."""
    names = ("levels_db", "levels_dba", "attacks")
    levels, weighted, attacks = (clips.column(name) for name in names)
    return LevelTable(
        levels.values.to_numpy(),
        weighted.values.to_numpy(),
        levels.offsets.to_numpy(),
        attacks.values.to_numpy(),
    )
