"""Block lists: what they hold back and why; lists that cannot be read are told of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.base.errors import CorpusError, SourceError
from synth.corpus.schema import CLIPS, QUARANTINE, to_table
from synth.sources.block import BlockList, withdraw_blocked
from tests.kit.cases import cases
from tests.kit.known_sounds import clip, event
from tests.kit.tables import read_cases

CASES = read_cases("texts/block_lists.yaml")


def catalogue_file(path: Path, rows: list[dict[str, Any]], *names: str) -> Path:
    names = names or ("id", "recording", "sha256", "fingerprint")
    schema = pa.schema([pa.field(name, CLIPS.field(name).type) for name in names])
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema), path)
    return path


def text_file(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def kept(rows: list[dict[str, Any]], *blocks: BlockList) -> list[str]:
    return [row["id"] for row in withdraw_blocked(rows, blocks)[0]]


CLIPS_AT_HAND = [
    clip("esc50/4-1-A", recording="freesound/1"),
    clip("esc50/4-1-B", recording="freesound/1"),
    clip("esc50/4-2-A", recording="freesound/2"),
    clip("mine/dog/3.wav", recording="mine/youtube/-x_3#"),
]


@cases(("text", "left"), CASES["lists"])
@cases("bom", ["", "\ufeff"])
def test_a_text_list_blocks_by_id_and_recording(
    tmp_path: Path, text: str, left: list[str], bom: str
) -> None:
    block = BlockList.open(text_file(tmp_path / "list.txt", bom + text))
    assert kept(CLIPS_AT_HAND, block) == left
    assert not block.weakness


def test_the_quarantine_says_which_list_and_by_what(tmp_path: Path) -> None:
    listed = text_file(tmp_path / "list.txt", "freesound/1\nesc50/4-2-A\n")
    catalogue = catalogue_file(
        tmp_path / "clips.parquet",
        [clip("eval/a", event(0, 2.0)), clip("eval/b"), clip("esc50/9-9-A", recording="eval/9")],
    )
    rows = [
        clip("esc50/4-1-A", recording="freesound/1"),
        clip("esc50/4-2-A", recording="freesound/2"),
        clip("esc50/9-9-A", recording="freesound/9"),
        clip("new/1", recording="eval/b"),
        clip("new/2", sha256=clip("eval/b")["sha256"]),
        clip("new/3", event(0, 2.0)[10_000:] / 2),
        clip("new/4", event(1, 2.0)),
    ]
    left, withdrawn = withdraw_blocked(rows, [BlockList.open(listed), BlockList.open(catalogue)])
    assert [row["id"] for row in left] == ["new/4"]
    assert to_table(withdrawn, QUARANTINE).num_rows == 6
    assert {row["stage"] for row in withdrawn} == {"block list"}
    reasons = [row["reason"] for row in withdrawn]
    assert reasons[:5] == [
        f"is blocked by {listed}: recording freesound/1",
        f"is blocked by {listed}: id esc50/4-2-A",
        f"is blocked by {catalogue}: id esc50/9-9-A",
        f"is blocked by {catalogue}: recording eval/b",
        f"is blocked by {catalogue}: the same file as eval/b",
    ]
    sound = f"is blocked by {catalogue}: sounds the same as eval/a: bit error rate 0."
    assert reasons[5].startswith(sound)
    assert reasons[5].endswith(" s")
    assert [row["location"] for row in withdrawn] == [f"{row['id']}.wav" for row in rows[:6]]


def test_a_corpus_folder_stands_for_its_latest_catalogue(tmp_path: Path) -> None:
    catalogue_file(tmp_path / "eval" / "v2" / "clips.parquet", [clip("a", recording="freesound/1")])
    catalogue_file(tmp_path / "eval" / "v1" / "clips.parquet", [clip("b", recording="freesound/2")])
    text_file(tmp_path / "eval" / "v2" / "corpus.json", '{"corpus": "eval", "version": "v2"}')
    text_file(tmp_path / "eval" / "latest", "v2\n")
    for folder, blocked in (("eval", "4-1"), ("eval/v2", "4-1"), ("eval/v1", "4-2")):
        left = kept(CLIPS_AT_HAND, BlockList.open(tmp_path / folder))
        assert not any(blocked in name for name in left)
        assert any(name.startswith("esc50/4-") for name in left)


def test_a_catalogue_without_fingerprints_blocks_by_ids_and_says_so(tmp_path: Path) -> None:
    rows = [clip("eval/a", event(0, 2.0))]
    old = BlockList.open(catalogue_file(tmp_path / "old.parquet", rows, "id", "recording"))
    assert "1 of its 1 clips block by id, recording and bytes, not by sound" in old.weakness
    assert kept([clip("new", event(0, 2.0)), clip("eval/a")], old) == ["new"]
    new = BlockList.open(catalogue_file(tmp_path / "new.parquet", rows))
    assert not new.weakness
    assert kept([clip("new", event(0, 2.0)), clip("eval/a")], new) == []
    # As do fingerprints of another version.
    other = rows[0] | {"fingerprint": b"\x63\0\0\0" + rows[0]["fingerprint"][4:]}
    path = catalogue_file(tmp_path / "clips.parquet", [other, rows[0] | {"id": "b"}])
    assert "1 of its 2 clips" in BlockList.open(path).weakness


@cases(
    ("name", "content", "message"),
    [
        ("gone.txt", None, "the block list is missing"),
        ("list.txt", b"", "empty"),
        ("list.txt", b"# nothing yet\n\n", "empty"),
        ("list.csv", b"recording\n", "empty"),
        ("list.csv", b"youtube_id,label\nx,dog\n", "no column 'recording' or 'id'"),
        ("list.csv", b"id,label\nx\n", "row 1: expected 2 fields, found 1"),
        ("list.csv", b'id,label\n"x" y,2\n', "not a CSV file"),
        ("list.txt", b"\xff\xfe\x00", "UTF-8"),
        ("clips.parquet", b"id\n1\n", "cannot be read as Parquet"),
    ],
)
def test_a_list_that_cannot_be_read_is_an_error(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SourceError, match=message) as raised:
        BlockList.open(path)
    assert str(path) in raised.value.message
    assert raised.value.fix


def test_a_catalogue_must_be_one(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no column 'recording'"):
        BlockList.open(catalogue_file(tmp_path / "ids.parquet", [clip("a")], "id"))
    numbers = tmp_path / "numbers.parquet"
    pq.write_table(pa.table({"id": [1], "recording": ["freesound/1"]}), numbers)
    with pytest.raises(SourceError, match="'id' holds int64, expected string"):
        BlockList.open(numbers)
    with pytest.raises(CorpusError, match="no finished corpus"):
        BlockList.open(tmp_path)
    torn = clip("a") | {"fingerprint": b"\1\0\0"}
    with pytest.raises(CorpusError, match="clip a: its fingerprint has 3 bytes"):
        BlockList.open(catalogue_file(tmp_path / "clips.parquet", [torn]))
