"""What Megatron-Energon needs beside the shards to read them as they are.

That is what `energon prepare` makes, but for the table of all samples by key, which only joins of
data sets and look-ups by key use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import yaml

from pipelines.build.plan import ShardPlan
from pipelines.store.places import Places
from synth.base.atomic import write_bytes, write_text
from synth.corpus.shards import find_span, serialise_document

META: Final = ".nv-meta"
INDEX_SUFFIX: Final = ".idx"
_DATASET: Final = {"__module__": "megatron.energon", "__class__": "CrudeWebdataset"}


def write_index(path: Path, rows: pa.Table, rights: Mapping[str, Mapping[str, str]]) -> None:
    """Write where each sample of a shard begins, and where the last one ends.

    Nothing is read of the shard: the offsets are measured, and the JSON of the last sample is made
    again for its length.

    Args:
        rows: Its rows of `schema.SAMPLES`.
        rights: Licence and attribution of each clip, by clip id.
    """
    (last,) = rows.slice(rows.num_rows - 1).to_pylist()
    start, end = find_span(last["offset"], last["size"], len(serialise_document(last, rights)))
    starts = rows["offset"].to_numpy() - (last["offset"] - start)
    write_bytes(
        path.with_name(path.name + INDEX_SUFFIX), np.append(starts, end).astype("<u8").tobytes()
    )


def write_meta(places: Places, shards: Sequence[ShardPlan]) -> None:
    """Write the folder that names splits and shards, and says how samples are read."""
    names: dict[str, list[str]] = {}
    for shard in shards:
        names.setdefault(shard.split, []).append(f"{shard.split}/{shard.shard}")
    counts = {f"{shard.split}/{shard.shard}": shard.samples for shard in shards}
    folder = places.shards / META
    write_text(folder / ".info.json", json.dumps({"shard_counts": counts}, indent=2) + "\n")
    write_text(folder / "split.yaml", _to_yaml({"split_parts": names, "exclude": []}))
    write_text(folder / "dataset.yaml", _to_yaml(_DATASET))


def _to_yaml(value: Mapping[str, Any]) -> str:
    return str(yaml.safe_dump(value, sort_keys=False))
