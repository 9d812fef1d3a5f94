"""What stands beside the shards: the licence ledger, and Energon's indexes."""

from __future__ import annotations

import csv
import io
import json
import re
import struct
import tarfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pipelines.builder.documents import (
    COLUMNS,
    licence_facts,
    safe_cell,
    used_clips,
    write_attribution,
)
from synth.corpus.corpus import Corpus


def clip(name: str, licence: str = "CC0-1.0", attribution: str = "me") -> dict[str, object]:
    return {
        "id": f"lib/{name}",
        "recording": f"lib/{name}",
        "licence": licence,
        "attribution": attribution,
        "source": "folder",
        "location": f"{name}.wav",
        "split": "train",
        "frames": 1600,
    }


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def test_a_row_says_where_a_clip_comes_from_and_whom_to_credit(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ATTRIBUTION.csv"
    write_attribution([clip("a", "CC BY 3.0", "nfrae")], path)
    assert rows(path) == [
        {
            "clip": "lib/a",
            "recording": "lib/a",
            "licence": "CC-BY-3.0",
            "licence_url": "https://creativecommons.org/licenses/by/3.0/",
            "attribution": "nfrae",
            "source": "folder",
            "location": "a.wav",
        }
    ]


def test_the_same_clips_in_any_order_give_the_same_bytes(tmp_path: Path) -> None:
    clips = [clip("b"), clip("a"), clip("ä")]
    write_attribution(clips, tmp_path / "1.csv")
    write_attribution(reversed(clips), tmp_path / "2.csv")
    data = (tmp_path / "1.csv").read_bytes()
    assert data == (tmp_path / "2.csv").read_bytes()
    assert [row["clip"] for row in rows(tmp_path / "1.csv")] == ["lib/a", "lib/b", "lib/ä"]
    assert data.startswith(",".join(COLUMNS).encode() + b"\r\n")
    assert data.endswith(b"\r\n")


def test_any_credit_comes_back_and_none_becomes_a_formula(tmp_path: Path) -> None:
    path, quoted = tmp_path / "a.csv", 'cut from "Dog, far" by me\nand\r\nyou'
    formulas = [
        f"{start}HYPERLINK(0)" for start in ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d")
    ]
    write_attribution(
        [clip(str(n), attribution=c) for n, c in enumerate([quoted, *formulas])], path
    )
    cells = [row["attribution"] for row in rows(path)]
    assert cells == [quoted, *(f"'{formula}" for formula in formulas)]
    assert b'"cut from ""Dog, far"" by me\nand\r\nyou"' in path.read_bytes()


@given(st.text(alphabet="'=+-@\t\n ab", max_size=6))
def test_a_guarded_cell_can_be_read_back(text: str) -> None:
    cell = safe_cell(text)
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\n"))
    assert (cell[1:] if re.match("'+[-=+@\t\n]", cell) else cell) == text


def test_the_facts_count_licences_and_say_why_there_is_no_common_one() -> None:
    clips = [clip("a", "CC0"), clip("b", "CC-BY-3.0"), clip("c", "Attribution 4.0"), clip("d")]
    assert licence_facts(clips) == {
        "licence": "CC-BY-4.0",
        "licence_reason": "",
        "licences": {"CC-BY-3.0": 1, "CC-BY-4.0": 1, "CC0-1.0": 2},
    }
    assert list(licence_facts(clips)["licences"]) == ["CC-BY-3.0", "CC-BY-4.0", "CC0-1.0"]
    facts = licence_facts([clip("a", "CC-BY-SA-4.0"), clip("b", "CC-BY-NC-4.0")])
    assert facts["licence"] == "LicenseRef-no-common-licence"
    assert "CC-BY-SA-4.0" in facts["licence_reason"]
    assert "CC-BY-NC-4.0" in facts["licence_reason"]
    assert licence_facts([clip("a", "")])["licence"] == "unknown"


def test_only_clips_that_a_sample_uses_are_kept(tmp_path: Path) -> None:
    plan = pa.table({"id": ["0", "1"], "clips": [["lib/a", "lib/c"], ["lib/a"]]})
    pq.write_table(plan, tmp_path / "samples.parquet")
    clips = [clip("a"), clip("b"), clip("c")]
    found = used_clips(clips, tmp_path / "samples.parquet")
    assert [each["id"] for each in found] == ["lib/a", "lib/c"]


# What lies there for Megatron-Energon, by the rules of its own reader. It can seldom be installed
# beside the rest, so its contract is written out here; tests/peers has it read the shards.


def find_starts(shard: Path) -> list[int]:
    data = shard.with_name(f"{shard.name}.idx").read_bytes()
    return list(struct.unpack(f"<{len(data) // 8}Q", data))


@pytest.mark.parametrize("suffix", ["wav", "flac"])
def test_every_stretch_is_one_sample(corpus_of: Callable[..., Corpus], suffix: str) -> None:
    corpus = corpus_of(audio={"format": suffix}, shards={"samples": 7})
    counts = json.loads((corpus.shards / ".nv-meta" / ".info.json").read_text())["shard_counts"]
    assert len(counts) > 12
    rows = iter(corpus.samples().to_pylist())
    for name, count in counts.items():
        starts, shard = find_starts(corpus.shards / name), (corpus.shards / name).read_bytes()
        with tarfile.open(corpus.shards / name) as tar:
            members = tar.getmembers()
        last = members[-1]
        end = last.offset_data + last.size + -last.size % 512
        assert starts == [*(member.offset for member in members[::2]), end]
        assert len(starts) == count + 1
        assert not any(shard[end:])  # nothing follows but what ends a tar file
        for start, end in pairwise(starts):
            row = next(rows)
            with tarfile.open(fileobj=io.BytesIO(shard[start:end])) as stretch:
                assert stretch.getnames() == [f"{row['id']}.{suffix}", f"{row['id']}.json"]
    assert next(rows, None) is None


def test_splits_name_each_shard_once(corpus: Corpus) -> None:
    meta = corpus.shards / ".nv-meta"
    counts = json.loads((meta / ".info.json").read_text())["shard_counts"]
    assert yaml.safe_load((meta / ".info.yaml").read_text()) == {"shard_counts": counts}
    parts = yaml.safe_load((meta / "split.yaml").read_text())["split_parts"]
    assert tuple(parts) == tuple(corpus.splits)
    assert [name for names in parts.values() for name in names] == list(counts)
    found = {path.relative_to(corpus.shards).as_posix() for path in corpus.shards.glob("*/*.tar")}
    assert found == set(counts)
    assert sum(counts.values()) == corpus.samples().num_rows
