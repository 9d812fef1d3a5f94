"""What a format is given: samples in plan order, checked against the manifest."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import shutil
import sys
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from pipelines.export import export_corpus
from synth.base.errors import CorpusError, SpecError
from synth.corpus.corpus import Corpus
from synth.export import FORMATS, find_format
from synth.export.base import ExportFormat
from synth.export.items import list_shards
from tests.kit.builds import UNCERTIFIED
from tests.kit.cases import cases


def test_shards_come_in_plan_order_and_are_numbered_in_their_split(corpus: Corpus) -> None:
    shards = list_shards(corpus)
    assert [shard.split for shard in shards] == ["train"] * 6 + ["test"] * 6
    assert [(shard.number, shard.of) for shard in shards[6:]] == [(i, 6) for i in range(6)]
    ids = [item.id for shard in shards for item in shard.items()]
    assert ids == corpus.samples(columns=["id"]).column("id").to_pylist()
    item = next(list_shards(corpus, ["test"])[0].items())
    assert hashlib.sha256(item.audio).hexdigest() == item.row["sha256"]
    assert (item.suffix, item.duration_s) == (".flac", 2.0)
    assert item.texts[0] == item.row["caption"]
    assert [event["label"] for event in item.document["events"]] == item.row["labels"]


def test_unknown_split_and_format_are_clear_errors(corpus: Corpus) -> None:
    with pytest.raises(CorpusError, match=r"no split 'dev'.*it has train, test"):
        list_shards(corpus, ["dev"])
    with pytest.raises(SpecError, match=r"no export format 'mp3'.*hf, laion"):
        find_format("mp3")
    for name in FORMATS:
        made = find_format(name)
        assert isinstance(made, ExportFormat)
        assert made.name == name


def test_a_missing_package_is_told_with_the_line_that_installs_it(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lance", None)
    with pytest.raises(SpecError, match="needs the package pylance") as told:
        export_corpus(corpus, "lance", tmp_path / "out")
    assert told.value.fix == "pip install 'segue-audio[lance]'"
    assert not (tmp_path / "out").exists()


def copy(corpus: Corpus, folder: Path) -> Corpus:
    """The corpus with shards of its own, that may be damaged."""
    shutil.copytree(corpus.shards, folder / "shards")
    return dataclasses.replace(corpus, facts={**corpus.facts, "shards": str(folder / "shards")})


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
    ("damage", "told"),
    [
        *(
            (damage, r"tiny-train-000000.tar: (damaged|no such shard)")
            for damage in (cut, end_early, one_more, other_text, Path.unlink)
        ),
        *((partial(flip, at=at), "damaged") for at in (3000, 0, 345, 100, 124)),
    ],
)
def test_a_damaged_shard_is_a_clear_error(
    corpus: Corpus, tmp_path: Path, damage: Callable[[Path], None], told: str
) -> None:
    shard = list_shards(copy(corpus, tmp_path))[0]
    damage(shard.corpus.shards / shard.split / shard.name)
    with pytest.raises(CorpusError, match=told):
        list(shard.items())


def test_a_damaged_manifest_is_a_clear_error(corpus: Corpus, tmp_path: Path) -> None:
    shutil.copytree(corpus.folder, tmp_path / "manifests", ignore=UNCERTIFIED)
    (tmp_path / "manifests" / "samples.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(CorpusError, match=r"samples.parquet: damaged"):
        list_shards(Corpus.open(tmp_path / "manifests"))
