"""What a receipt certifies stays, or is made as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from synth.base.errors import CorpusError
from synth.base.hashing import FileHash
from synth.corpus.receipt import VersionReceipt, check_receipt, replacing_certified


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
