"""Leakage between two corpora, or between the splits of one: judged from their manifests."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.config.spec import SPLITS
from pipelines.store.places import find_manifest
from pipelines.store.row_file import read_batches
from synth.base.errors import CorpusError
from synth.base.progress import UNOBSERVED, Observer
from synth.corpus.corpus import CLIPS_FILE
from synth.corpus.leakage import COLUMNS, HEARD, Leakage, leakage, measure_between_splits

_BATCH: Final = 4096
_LEVELS: Final = "levels_db"


def compare_corpora(path_a: Path, path_b: Path, observer: Observer = UNOBSERVED) -> Leakage:
    """What the samples of one corpus share with those of another.

    Only clips that samples use count.

    Args:
        path_a: A manifest folder, the folder above it, or the manifest itself; rendered or planned.
    """
    return leakage(read_used_clips(path_a), read_used_clips(path_b), observer)


def compare_splits(path: Path, observer: Observer = UNOBSERVED) -> dict[str, Leakage]:
    """What the splits of a corpus share, by the names of the two, as `train and test`."""
    manifest = find_manifest(path)
    used = _read_used_ids(manifest)
    order = [name for name in SPLITS if name in used] + sorted(set(used) - set(SPLITS))
    clips = {name: _read_clips(manifest, used[name]) for name in order}
    return {
        f"{a} and {b}": shared for (a, b), shared in measure_between_splits(clips, observer).items()
    }


def read_used_clips(path: Path) -> list[dict[str, Any]]:
    """The catalogue's rows, in its order, of the clips that a corpus's samples use."""
    manifest = find_manifest(path)
    return _read_clips(manifest, set().union(*_read_used_ids(manifest).values()))


def _read_used_ids(manifest: Path) -> dict[str, set[str]]:
    """The ids of the clips that each split's samples use."""
    used: dict[str, set[str]] = {}
    for batch in read_batches(manifest, ["split", "clips"]):
        for split in pc.unique(batch.column("split")).to_pylist():
            part = batch.filter(pc.equal(batch.column("split"), split))
            ids = pc.unique(pc.list_flatten(part.column("clips")))
            used.setdefault(split, set()).update(ids.to_pylist())
    return used


def _read_clips(manifest: Path, ids: set[str]) -> list[dict[str, Any]]:
    path = manifest.with_name(CLIPS_FILE)
    if not path.is_file():
        raise CorpusError(f"{path}: missing", fix="build or plan again")
    id_array = pa.array(sorted(ids), pa.string())
    rows: list[dict[str, Any]] = []
    with pq.ParquetFile(path) as file:
        columns = [name for name in (*COLUMNS, _LEVELS) if name in file.schema_arrow.names]
        for batch in file.iter_batches(_BATCH, columns=columns):
            used = batch.filter(pc.is_in(batch.column("id"), id_array))
            if _LEVELS in columns:  # of which a clip that was never read has none
                lengths = pc.list_value_length(used.column(_LEVELS))
                used = used.drop_columns([_LEVELS])
                used = used.append_column(HEARD, pc.greater(lengths, 0))
            rows += used.to_pylist()
    return rows
