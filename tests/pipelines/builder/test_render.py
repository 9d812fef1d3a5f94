"""Render: shards of other versions are found, and which samples are held in memory together."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipelines.builder import render
from pipelines.builder.plan import SHARDS_FILE, ShardPlan
from pipelines.builder.render import TOGETHER, ShardReceipt, _runs, read_receipt, reuse
from pipelines.store.places import Places
from pipelines.store.store import Store
from synth.base.hashing import file_sha256
from synth.corpus.schema import canonical_json

VERSIONS = 12
SHARDS = 9


def plan_of(version: int) -> list[ShardPlan]:
    """Shards of a version, the first of which is the same as in the version before."""
    return [
        ShardPlan(f"{k}.tar", "train", 1, 0, f"{version - 1 if k == 0 else version}/{k}")
        for k in range(SHARDS)
    ]


def fill(places: Places, shards: list[ShardPlan]) -> None:
    places.receipts.mkdir(parents=True)
    rows = [asdict(shard) for shard in shards]
    pq.write_table(pa.Table.from_pylist(rows), places.manifests / SHARDS_FILE)
    for shard in shards:
        path = places.shard_path(shard.split, shard.shard)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(shard.digest.encode())
        places.measurements_path(shard.shard).touch()
        size = path.stat().st_size
        receipt = ShardReceipt(
            shard.shard,
            "train",
            1,
            shard.digest,
            size,
            file_sha256(path),
            {"numpy": "2"},
            file_sha256(places.measurements_path(shard.shard)),
        )
        places.receipt_path(shard.shard).write_text(canonical_json(asdict(receipt)))


def test_of_other_versions_only_receipts_that_match_are_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in range(VERSIONS):
        fill(Places(Store(tmp_path), "tiny", f"v{version}"), plan_of(10 * version))
    (tmp_path / "data_manifests" / "tiny" / "unplanned").mkdir()
    damaged = tmp_path / "data_manifests" / "tiny" / "damaged"
    damaged.mkdir()
    (damaged / SHARDS_FILE).write_bytes(b"PAR1")
    opened: Counter[str] = Counter()
    read = render.read_columns

    def count(places: Places, shard: str) -> ShardReceipt | None:
        opened[f"receipts of {places.version}"] += 1
        return read_receipt(places, shard)

    def count_tables(path: Path, columns: list[str]) -> pa.Table:
        opened[f"{path.parent.name}/{path.name}"] += 1
        return read(path, columns)

    monkeypatch.setattr(render, "read_receipt", count)
    monkeypatch.setattr(render, "read_columns", count_tables)
    new = Places(Store(tmp_path), "tiny", "new")
    shards = [*plan_of(999)[:-1], plan_of(50)[-1]]
    assert reuse(new, shards) == shards[:-1]
    assert read_receipt(new, shards[-1].shard) == read_receipt(
        Places(Store(tmp_path), "tiny", "v5"), shards[-1].shard
    )
    assert opened.pop("receipts of v5") <= 2
    assert not [name for name in opened if name.startswith("receipts")]
    tables = {f"v{version}/{SHARDS_FILE}": 1 for version in range(VERSIONS)}
    useless = {f"{name}/{SHARDS_FILE}": 1 for name in ("damaged", "unplanned")}
    assert opened == tables | useless


@given(st.lists(st.integers(1, 2 * TOGETHER), max_size=40))
@example([TOGETHER, 1])
@example([1, TOGETHER])
@example([])
def test_a_run_holds_no_more_than_fits_or_one_sample(frames: list[int]) -> None:
    runs = list(_runs(frames))
    assert [k for run in runs for k in run] == list(range(len(frames)))
    for run in runs:
        assert len(run) == 1 or sum(frames[k] for k in run) <= TOGETHER
    for run, following in pairwise(runs):
        assert sum(frames[k] for k in run) + frames[following[0]] > TOGETHER
