"""What the views of the console reckon in Python: places in time, and receipts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from pipelines.build.render import parse_receipt
from pipelines.look.console.connection import Function
from synth.base.doors import read_regular
from synth.base.errors import CorpusError
from synth.corpus.corpus import RECEIPTS
from synth.scene.scene import from_text
from synth.scene.timeline import timeline
from synth.storage import fetch

_EVENT: Final = {
    "place": "BIGINT",
    "label": "VARCHAR",
    "clip": "VARCHAR",
    "onset": "BIGINT",
    "offset": "BIGINT",
    "start": "BIGINT",
    "gain_db": "DOUBLE",
}
_RECEIPT: Final = {
    "shard": "VARCHAR",
    "digest": "VARCHAR",
    "bytes": "BIGINT",
    "sha256": "VARCHAR",
    "libraries": "MAP(VARCHAR, VARCHAR)",
}
_ARROW: Final = {
    "BIGINT": pa.int64(),
    "VARCHAR": pa.string(),
    "DOUBLE": pa.float64(),
    "MAP(VARCHAR, VARCHAR)": pa.map_(pa.string(), pa.string()),
}


def make_receipts_function(folder: Path) -> Function:
    """What certifies a shard, by its name; nothing, or one receipt."""
    return Function(lambda names: _list_receipts(folder, names), f"{_format_struct(_RECEIPT)}[]")


def _format_struct(fields: Mapping[str, str]) -> str:
    listed = ", ".join('"' + name + '" ' + kind for name, kind in fields.items())
    return f"STRUCT({listed})"


def _make_struct(fields: Mapping[str, str]) -> pa.StructType:
    return pa.struct([(name, _ARROW[kind]) for name, kind in fields.items()])


def _list_events(scenes: pa.Array) -> pa.Array:
    return pa.array(map(_read_scene, scenes.to_pylist()), pa.list_(_make_struct(_EVENT)))


def _read_scene(scene: str) -> list[dict[str, Any]]:
    return [
        {
            "place": place,
            "label": each.label,
            "clip": each.excerpt.clip,
            "onset": each.onset,
            "offset": each.offset,
            "start": each.excerpt.start,
            "gain_db": each.excerpt.gain_db,
        }
        for place, each in enumerate(timeline(from_text(scene)).placements, 1)
    ]


def _list_receipts(folder: Path, shards: pa.Array) -> pa.Array:
    found = [_read_receipt(folder, shard) for shard in shards.to_pylist()]
    return pa.array(found, pa.list_(_make_struct(_RECEIPT)))


def _read_receipt(folder: Path, shard: str) -> list[dict[str, Any]]:
    if Path(shard).name != shard or "\0" in shard:  # a query may call this with its own text
        return []
    path = folder / RECEIPTS / f"{shard}.json"
    if not path.resolve().is_relative_to(folder.resolve()):  # a stranger's may be a link
        return []
    try:
        receipt = parse_receipt(read_regular(fetch(path)))
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise CorpusError(f"{path}: damaged: {error}", fix="delete it and build again") from error
    found: dict[str, Any] = {
        name: getattr(receipt, name) for name in _RECEIPT if name != "libraries"
    }
    return [found | {"libraries": sorted(receipt.libraries.items())}]


EVENTS_OF: Final = Function(_list_events, f"{_format_struct(_EVENT)}[]")
"""The events of scenes as JSON, placed in time."""
