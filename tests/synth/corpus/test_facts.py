"""What is told of a corpus: where it may be, its size, and what its receipt certifies."""

from __future__ import annotations

from pathlib import Path

import pytest

from synth.base.errors import CorpusError
from synth.base.hashing import FileHash
from synth.corpus.corpus import find_finished
from synth.corpus.facts import size_category, suggest_corpus
from synth.corpus.receipt import VersionReceipt, check_receipt, replacing_certified

# Whereabouts


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    """Two corpora, one of them planned only."""
    for name, file in (("triplets", "corpus.json"), ("scenes", "plan.parquet")):
        (tmp_path / "data_manifests" / name / "v1").mkdir(parents=True)
        (tmp_path / "data_manifests" / name / "v1" / file).touch()
    return tmp_path / "data_manifests"


def test_the_nearest_corpus_is_told_or_all_there_are(
    manifests: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert suggest_corpus(manifests / "tripelts", "") == f"did you mean {manifests / 'triplets'}?"
    every = f"there are {manifests / 'scenes'}, {manifests / 'triplets'}"
    beside = f"did you mean {manifests / 'triplets'}?"
    assert suggest_corpus(manifests.parent / "shards" / "triplets", "") == beside
    assert suggest_corpus(manifests / "birds", "") == every
    assert suggest_corpus(manifests.parent, "") == every
    monkeypatch.chdir(manifests.parent)
    relative = "there are data_manifests/scenes, data_manifests/triplets"
    assert suggest_corpus(Path("birds"), "") == relative
    with pytest.raises(CorpusError, match="no finished corpus here") as caught:
        find_finished(Path("triplet"))
    assert caught.value.fix == "did you mean data_manifests/triplets?"


# The Hub


def test_sizes_are_told_in_the_hubs_steps() -> None:
    sizes = {
        1: "n<1K",
        999: "n<1K",
        1_000: "1K<n<10K",
        99_999: "10K<n<100K",
        10_000_000: "10M<n<100M",
        1_000_000_000: "1B<n<10B",
    }
    assert {samples: size_category(samples) for samples in sizes} == sizes


# What a receipt certifies stays, or is made as it was.


@pytest.fixture
def receipt(tmp_path: Path) -> VersionReceipt:
    (tmp_path / "clips.parquet").write_bytes(b"as it was")
    made = VersionReceipt(
        tmp_path, "abc", {"clips.parquet": FileHash.of(tmp_path / "clips.parquet")}
    )
    made.write()
    return made


def replace(receipt: VersionReceipt | None, path: Path, data: bytes) -> bytes:
    with replacing_certified(path, receipt) as partial:
        partial.write_bytes(data)
    return path.read_bytes()


def test_a_certified_file_stays_or_is_made_as_it_was(receipt: VersionReceipt) -> None:
    path = receipt.folder / "clips.parquet"
    assert replace(receipt, path, b"otherwise") == b"as it was"
    path.unlink()
    with pytest.raises(CorpusError, match=r"clips\.parquet: damaged, and cannot be made"):
        replace(receipt, path, b"otherwise")
    assert not path.exists()
    assert replace(receipt, path, b"as it was") == b"as it was"
    # What is not certified, or of a version without a receipt, is replaced.
    assert replace(receipt, receipt.folder / "shards.parquet", b"new") == b"new"
    assert replace(None, path, b"otherwise") == b"otherwise"


def test_a_receipt_is_read_as_it_was_written_and_tells_what_changed(
    receipt: VersionReceipt,
) -> None:
    folder = receipt.folder
    assert VersionReceipt.read(folder) == receipt
    check_receipt(folder, ["clips.parquet", "not-there.parquet"])
    (folder / "clips.parquet").write_bytes(b"as it is!")
    with pytest.raises(CorpusError, match=r"clips\.parquet: "):
        check_receipt(folder, ["clips.parquet"])
    assert [*receipt.find_faults()] == ["clips.parquet"]
    assert receipt.find_faults(["corpus.json"]) == {}
