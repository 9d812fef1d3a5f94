"""What a format is given: samples in plan order, checked against the manifest."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from synth.base.errors import CorpusError, SpecError
from synth.corpus.corpus import Corpus
from synth.export import FORMATS, ExportFormat, find_format
from synth.export.items import Shard, list_shards
from tests.kit.builds import UNCERTIFIED
from tests.kit.cases import cases


def test_shards_come_in_plan_order_and_are_numbered_in_their_split(corpus: Corpus) -> None:
    shards = list_shards(corpus)
    assert [shard.split for shard in shards] == ["train"] * 6 + ["test"] * 6
    assert [(shard.number, shard.of) for shard in shards[6:]] == [(i, 6) for i in range(6)]
    ids = [item.id for shard in shards for item in shard.items()]
    assert ids == corpus.samples(columns=["id"]).column("id").to_pylist()


def test_items_hold_the_stored_bytes_and_what_is_told_of_them(corpus: Corpus) -> None:
    item = next(list_shards(corpus, ["test"])[0].items())
    assert hashlib.sha256(item.audio).hexdigest() == item.row["sha256"]
    assert (item.suffix, item.duration_s) == (".flac", 2.0)
    assert item.texts[0] == item.row["caption"]
    assert [event["label"] for event in item.events] == item.row["labels"]


def test_unknown_split_and_format_are_clear_errors(corpus: Corpus) -> None:
    with pytest.raises(CorpusError, match=r"no split 'dev'.*it has train, test"):
        list_shards(corpus, ["dev"])
    with pytest.raises(SpecError, match=r"no export format 'mp3'.*hf, laion"):
        find_format("mp3")


@cases("name", FORMATS)
def test_every_format_bears_the_name_it_is_found_by(name: str) -> None:
    made = find_format(name)
    assert isinstance(made, ExportFormat)
    assert made.name == name


@pytest.fixture
def copy(corpus: Corpus, tmp_path: Path) -> Corpus:
    """The corpus with shards of its own, that may be damaged."""
    shutil.copytree(corpus.shards, tmp_path / "shards")
    return dataclasses.replace(corpus, facts={**corpus.facts, "shards": str(tmp_path / "shards")})


def path_of(shard: Shard) -> Path:
    return shard.corpus.shards / shard.split / shard.name


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x55
    path.write_bytes(data)


def rewritten(path: Path, change: Callable[[str, bytes], list[tuple[str, bytes]]]) -> None:
    with tarfile.open(path) as tar:
        members = [(info.name, tar.extractfile(info).read()) for info in tar]  # type: ignore[union-attr]
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in members:
            for new, content in change(name, data):
                info = tarfile.TarInfo(new)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:40_000])


def end_early(path: Path) -> None:
    rewritten(path, lambda name, data: [] if "00000011" in name else [(name, data)])


def one_more(path: Path) -> None:
    rewritten(
        path,
        lambda name, data: [(name, data), ("more", b"")] if "11.json" in name else [(name, data)],
    )


def other_text(path: Path) -> None:
    rewritten(path, lambda name, data: [(name, data.replace(b"after", b"while"))])


@cases(
    "damage",
    [cut, end_early, one_more, other_text, lambda path: flip(path, 3000), Path.unlink],
)
def test_a_damaged_shard_is_a_clear_error(copy: Corpus, damage: Callable[[Path], None]) -> None:
    shard = list_shards(copy)[0]
    damage(path_of(shard))
    with pytest.raises(CorpusError, match=r"tiny-train-000000.tar: (damaged|no such shard)"):
        list(shard.items())


@cases("at", [0, 345, 100, 124])
def test_a_damaged_header_is_a_clear_error(copy: Corpus, at: int) -> None:
    shard = list_shards(copy)[0]
    flip(path_of(shard), at)
    with pytest.raises(CorpusError, match="damaged"):
        list(shard.items())


def test_a_damaged_manifest_is_a_clear_error(corpus: Corpus, tmp_path: Path) -> None:
    shutil.copytree(corpus.folder, tmp_path / "manifests", ignore=UNCERTIFIED)
    (tmp_path / "manifests" / "samples.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(CorpusError, match=r"samples.parquet: damaged"):
        list_shards(Corpus.open(tmp_path / "manifests"))
