"""Rows in files: those that were written, and found shard by shard in row groups."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.builder.claim import SHARDS_FILE
from pipelines.builder.plan import ShardPlan
from pipelines.export import write_caption_file
from pipelines.store.places import check_output
from pipelines.store.row_file import (
    BATCH_ROWS,
    LEAST_ROWS,
    RowFile,
    ShardTables,
    read_rows,
    take_rows,
)
from synth.base.errors import SourceError, SpecError
from synth.captions.caption import Style
from synth.corpus.corpus import PLAN_FILE, SAMPLES_FILE, Corpus

SCHEMA = pa.schema([("name", pa.string()), ("levels", pa.list_(pa.float32()))])


def tables(lengths: list[int]) -> list[pa.Table]:
    ends = [sum(lengths[: at + 1]) for at in range(len(lengths))]
    return [
        pa.table(
            {
                "name": [f"clip {at}" for at in range(end - length, end)],
                "levels": [[float(at)] * (at % 3) for at in range(end - length, end)],
            },
            schema=SCHEMA,
        )
        for end, length in zip(ends, lengths, strict=True)
    ]


@pytest.mark.parametrize("lengths", [[], [0], [1], [100] * 7, [1000, 3, 0, 513], [BATCH_ROWS] * 2])
def test_rows_are_those_that_were_written(tmp_path: Path, lengths: list[int]) -> None:
    given = tables(lengths)
    found = RowFile.write(tmp_path, SCHEMA, iter(given))
    expected = [row for table in given for row in table.to_pylist()]
    assert not [*tmp_path.iterdir()]
    assert len(found) == sum(lengths)
    assert [*found] == expected
    assert [found.row(at) for at in range(len(found))] == expected
    assert [row["name"] for row in found.rows("name")] == [row["name"] for row in expected]
    assert all(batch.num_rows == BATCH_ROWS for batch in [*found.batches()][:-1])


def test_views_outlive_pages_and_a_row_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    found = RowFile.write(tmp_path, SCHEMA, tables([700]))
    views = [batch.column("levels").values.to_numpy() for batch in found.batches()]
    found.give_back()
    assert [value for view in views for value in view.tolist()] == [
        value for row in found for value in row["levels"]
    ]
    with pytest.raises(IndexError):
        RowFile.write(tmp_path, SCHEMA, tables([3])).row(3)


def written(path: Path, lengths: list[int]) -> list[tuple[int, int]]:
    """A file of one shard a length, whose rows are numbered through; where each was put."""
    ends = [sum(lengths[: i + 1]) for i in range(len(lengths))]
    with pq.ParquetWriter(path, pa.schema([("row", pa.int64())])) as writer:
        tables = ShardTables(writer)
        places = [
            tables.add(pa.table({"row": list(range(end - length, end))}))
            for length, end in zip(lengths, ends, strict=True)
        ]
        tables.flush()
    return places


@pytest.mark.parametrize(
    "lengths", [[1] * 2500, [LEAST_ROWS - 1, 1, 1], [5000, 3, LEAST_ROWS, 7], [12]]
)
def test_shards_fill_row_groups_and_are_found(tmp_path: Path, lengths: list[int]) -> None:
    path = tmp_path / "rows.parquet"
    places = written(path, lengths)
    groups = pq.read_metadata(path)
    assert groups.num_row_groups <= sum(lengths) // LEAST_ROWS + 1
    assert all(
        groups.row_group(group).num_rows >= LEAST_ROWS for group in range(groups.num_row_groups - 1)
    )
    first = 0
    for (group, row), length in [*zip(places, lengths, strict=True)]:
        found = read_rows(path, group, row, length)["row"].to_pylist()
        assert found == list(range(first, first + length))
        first += length


def test_file_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    written(path, [2, 3])
    assert read_rows(path, 0, 2, 3)["row"].to_pylist() == [2, 3, 4]
    path.unlink()
    written(path, [3, 4, 5])
    assert read_rows(path, 0, 3, 4)["row"].to_pylist() == [3, 4, 5, 6]


def test_small_shards_of_a_corpus_share_a_row_group(tiny_corpus: Path) -> None:
    folder = Corpus.open(tiny_corpus / "data_manifests" / "tiny").folder
    plan = folder / PLAN_FILE
    shards = [ShardPlan(**row) for row in pq.read_table(folder / SHARDS_FILE).to_pylist()]
    assert len(shards) == 12
    for name in (PLAN_FILE, SAMPLES_FILE):
        assert pq.read_metadata(folder / name).num_row_groups == 1
    tables = [shard.rows(plan) for shard in shards]
    assert pa.concat_tables(tables).equals(pq.read_table(plan))
    for shard, table in zip(shards, tables, strict=True):
        assert table["shard"].unique().to_pylist() == [shard.shard]


@pytest.mark.parametrize("positions", [[], [0], [0, 2, 3, 9], [4, 4, 5], [*range(10)]])
def test_rows_at_positions_are_the_tables(tmp_path: Path, positions: list[int]) -> None:
    table = pa.table({"a": [*range(10)], "b": [*"abcdefghij"]})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=3)
    with pq.ParquetFile(tmp_path / "rows.parquet") as file:
        taken = [*take_rows(file, np.array(positions, dtype=np.int64), ["b"])]
    assert taken == table.select(["b"]).take(pa.array(positions, pa.int64())).to_pylist()


# What a tool writes never replaces what it reads.


def test_an_output_is_a_parquet_file_by_its_name_and_no_input(tmp_path: Path) -> None:
    # `segue text probe nv a.csv --out a.csv` turned the captions into Parquet.
    with pytest.raises(SpecError, match="is the input file"):
        check_output(tmp_path / "x" / ".." / "a.parquet", None, tmp_path / "a.parquet")
    with pytest.raises(SpecError, match=r"Parquet.*a\.parquet"):
        check_output(tmp_path / "a.csv")
    check_output(tmp_path / "a.parquet", tmp_path / "b.parquet")


def test_tags_of_which_none_can_be_said_are_an_error_and_no_empty_file(tmp_path: Path) -> None:
    source, out = tmp_path / "tags.csv", tmp_path / "out.parquet"
    source.write_text("id,tags\na,qwxz zzyx\nb,blorpish\n", encoding="utf-8")
    with pytest.raises(SourceError, match="blorpish"):
        write_caption_file(source, out, Style.NATURAL, 3, 2, 0)
    assert not out.exists()
