"""The bank: what is written is read back, and a damaged bank says so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from synth.audio.bank import INDEX_SCHEMA, Bank, encode
from synth.audio.dsp import peak
from synth.base.errors import CorpusError
from tests.kit.cases import cases


def write_bank(folder: Path, clips: Mapping[str, np.ndarray], rate: int = 48_000) -> Path:
    rows, data, start = [], b"", 0
    for clip, audio in clips.items():
        pcm, scale = encode(audio)
        row = {"clip": clip, "part": "part-0.pcm", "start": start, "frames": len(pcm)}
        rows.append(row | {"scale": scale})
        data += pcm.astype("<i2").tobytes()
        start += len(pcm)
    (folder / "part-0.pcm").write_bytes(data)
    table = pa.Table.from_pylist(rows, schema=INDEX_SCHEMA)
    pq.write_table(
        table.replace_schema_metadata({"sample_rate": str(rate)}), folder / "index.parquet"
    )
    return folder / "index.parquet"


def noise(frames: int, amplitude: float, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).uniform(-amplitude, amplitude, frames)
    return values.astype(np.float32)


CLIPS = {"loud": noise(400, 1.0), "quiet": noise(300, 1e-3, 1), "over": noise(200, 3.0, 2)}


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return write_bank(tmp_path, CLIPS)


@given(
    hnp.arrays(
        np.float32, st.integers(1, 50), elements=st.floats(-4, 4, width=32, allow_subnormal=False)
    )
)
def test_encoding_keeps_the_level_to_half_a_step_of_the_clip(audio: np.ndarray) -> None:
    pcm, scale = encode(audio)
    assert pcm.dtype == np.int16
    restored = pcm.astype(np.float64) * scale / 32768
    step = max(peak(audio), 1e-6) / 32767
    assert np.abs(restored - audio).max() <= 0.5 * step + 1e-6 * peak(audio)
    assert np.abs(pcm.astype(int)).max() <= 32767
    if peak(audio) > 1e-6:
        assert np.abs(pcm.astype(int)).max() == 32767


def test_silence_is_encoded_as_silence() -> None:
    pcm, scale = encode(np.zeros(5, dtype=np.float32))
    assert not pcm.any()
    assert scale > 0


@cases("clip", CLIPS)
def test_a_clip_is_read_back_at_its_level(index: Path, clip: str) -> None:
    bank, audio = Bank.open(index), CLIPS[clip]
    assert bank.rate == 48_000
    assert bank.frames(clip) == len(audio)
    read = bank.read(clip, 0, len(audio), 1.0)
    assert read.dtype == np.float32
    assert np.abs(read - audio).max() <= 0.51 * peak(audio) / 32767
    half = bank.read(clip, 100, 50, 0.5)
    assert np.allclose(half, read[100:150] * 0.5, atol=1e-7)


def test_reading_changes_nothing_in_the_bank(index: Path) -> None:
    bank = Bank.open(index)
    first = bank.read("loud", 0, 400, 1.0)
    first *= 0
    assert bank.read("loud", 0, 400, 1.0).any()


@cases(("start", "frames"), [(0, 301), (300, 1), (299, 2), (5000, 1)])
def test_reading_beyond_a_clip_is_a_corpus_error(index: Path, start: int, frames: int) -> None:
    # The next clip follows in the same part: it must not be heard.
    with pytest.raises(CorpusError, match="'quiet' has 300 frames"):
        Bank.open(index).read("quiet", start, frames, 1.0)


def test_an_unknown_clip_is_a_corpus_error(index: Path) -> None:
    bank = Bank.open(index)
    with pytest.raises(CorpusError, match="'gone' is not in the bank"):
        bank.read("gone", 0, 1, 1.0)
    with pytest.raises(CorpusError, match="'gone'"):
        bank.frames("gone")


def test_a_missing_index_is_a_corpus_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such clip bank") as caught:
        Bank.open(tmp_path / "index.parquet")
    assert "segue" in caught.value.fix


def test_a_missing_part_is_a_corpus_error(index: Path) -> None:
    (index.parent / "part-0.pcm").unlink()
    with pytest.raises(CorpusError, match=r"part-0\.pcm"):
        Bank.open(index).read("loud", 0, 1, 1.0)


@cases("size", [0, 900, 1798])
def test_a_part_cut_short_is_a_corpus_error_and_never_silence(index: Path, size: int) -> None:
    # The slice came back short, and render padded it with silence.
    part = index.parent / "part-0.pcm"
    part.write_bytes(part.read_bytes()[:size])
    with pytest.raises(CorpusError, match=r"part-0\.pcm"):
        Bank.open(index).read("over", 0, 200, 1.0)


STRANGE: dict[str, tuple[str, list[object], str]] = {
    "path": ("part", ["../../id_rsa"], "row 0: part is '../../id_rsa': expected part-NAME.pcm"),
    "absolute path": ("part", ["/etc/passwd"], "part is '/etc/passwd'"),
    "path after a name": ("part", ["part-0.pcm/../../x"], "expected part-NAME"),
    "lines": ("part", ["part-0.pcm\n"], "expected part-NAME"),
    "no part": ("part", [None], "damaged: .*null"),
    "start": ("start", [-1], "start is -1: expected 0 or more"),
    "frames": ("frames", [0], "frames is 0: expected 1 or more"),
    "kind": ("frames", ["many"], "damaged: "),
    "scale": ("scale", [float("nan")], "scale is nan: expected a finite number"),
}


@cases("name", STRANGE)
def test_an_index_that_says_what_cannot_be_is_one_line(index: Path, name: str) -> None:
    column, (value,), said = STRANGE[name]
    table = pq.read_table(index)
    values = [value if at == 0 else each for at, each in enumerate(table[column].to_pylist())]
    if isinstance(value, str):
        values = list(map(str, values))
    place = table.schema.get_field_index(column)
    pq.write_table(table.set_column(place, column, pa.array(values)), index)
    with pytest.raises(CorpusError, match=said) as caught:
        Bank.open(index)
    assert caught.value.fix
    assert "\n" not in str(caught.value)


@cases("rate", [None, "", "x", "0", "-5", "9" * 5000])
def test_an_index_without_a_rate_is_one_line(index: Path, rate: str | None) -> None:
    table = pq.read_table(index)
    metadata = None if rate is None else {"sample_rate": rate}
    pq.write_table(table.replace_schema_metadata(metadata), index)
    with pytest.raises(CorpusError, match=r"index\.parquet: ") as caught:
        Bank.open(index)
    assert "\n" not in str(caught.value)


@cases("how", ["garbage", "lacks a column", "a column twice", "folder"])
def test_an_index_that_is_none_is_one_line(index: Path, how: str) -> None:
    table = pq.read_table(index)
    if how == "garbage":
        index.write_bytes(b"PAR1 garbage")
    elif how == "lacks a column":
        pq.write_table(table.drop_columns(["scale"]), index)
    elif how == "a column twice":
        pq.write_table(table.append_column("part", table["part"]), index)
    else:
        index.unlink()
        index.mkdir()
    with pytest.raises(CorpusError, match=r"index\.parquet: "):
        Bank.open(index)


def test_a_part_that_is_a_link_out_of_the_bank_is_not_read(index: Path, tmp_path: Path) -> None:
    part = index.parent / "part-0.pcm"
    folder = tmp_path / "bank"
    folder.mkdir()
    index = index.rename(folder / index.name)
    (folder / "part-0.pcm").symlink_to(part)
    with pytest.raises(CorpusError, match="leads out of its folder"):
        Bank.open(index).read("loud", 0, 1, 1.0)
