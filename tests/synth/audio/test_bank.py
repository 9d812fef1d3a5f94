"""The bank: what is written is read back, and a damaged bank says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from synth.audio.bank import Bank, encode
from synth.audio.dsp import peak, ramp_cut
from synth.base.errors import CorpusError
from tests.kit.banks import write_bank


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


def test_a_clip_is_read_back_at_its_level(index: Path) -> None:
    bank = Bank.open(index)
    assert bank.rate == 48_000
    for clip, audio in CLIPS.items():
        assert bank.frames(clip) == len(audio)
        read = bank.read(clip, 0, len(audio), 1.0)
        assert read.dtype == np.float32
        assert np.abs(read - audio).max() <= 0.51 * peak(audio) / 32767
        half = bank.read(clip, 100, 50, 0.5)
        ramp_cut(cut := read[100:150] * 0.5, bank.rate, begins=True, ends=True)
        assert np.allclose(half, cut, atol=1e-7)
        read *= 0
        assert bank.read(clip, 0, len(audio), 1.0).any(), "reading changes nothing in the bank"
    pcm, scale = encode(np.zeros(5, dtype=np.float32))
    assert not pcm.any()
    assert scale > 0


def test_reading_beyond_a_clip_is_a_corpus_error(index: Path) -> None:
    bank = Bank.open(index)
    # The next clip follows in the same part: it must not be heard.
    for start, frames in ((0, 301), (300, 1), (299, 2), (5000, 1)):
        with pytest.raises(CorpusError, match="'quiet' has 300 frames"):
            bank.read("quiet", start, frames, 1.0)
    with pytest.raises(CorpusError, match="'gone' is not in the bank"):
        bank.read("gone", 0, 1, 1.0)
    with pytest.raises(CorpusError, match="'gone'"):
        bank.frames("gone")
    with pytest.raises(CorpusError, match="no such clip bank") as caught:
        Bank.open(index.with_name("none.parquet"))
    assert "segue" in caught.value.fix


def test_a_part_cut_short_is_a_corpus_error_and_never_silence(index: Path) -> None:
    # The slice came back short, and render padded it with silence.
    part = index.parent / "part-0.pcm"
    whole = part.read_bytes()
    for size in (0, 900, 1798, None):
        part.unlink()
        if size is not None:
            part.write_bytes(whole[:size])
        with pytest.raises(CorpusError, match=r"part-0\.pcm"):
            Bank.open(index).read("over", 0, 200, 1.0)


def refused(path: Path, told: str) -> None:
    with pytest.raises(CorpusError, match=told) as caught:
        Bank.open(path)
    assert "\n" not in str(caught.value)


def test_an_index_that_says_what_cannot_be_is_one_line(index: Path) -> None:
    table = pq.read_table(index)
    for column, value, told in (
        ("part", "../../id_rsa", "row 0: part is '../../id_rsa': expected part-NAME.pcm"),
        ("part", "/etc/passwd", "part is '/etc/passwd'"),
        ("part", "part-0.pcm/../../x", "expected part-NAME"),
        ("part", "part-0.pcm\n", "expected part-NAME"),
        ("part", None, "damaged: .*null"),
        ("start", -1, "start is -1: expected 0 or more"),
        ("frames", 0, "frames is 0: expected 1 or more"),
        ("frames", "many", "damaged: "),
        ("scale", float("nan"), "scale is nan: expected a finite number"),
    ):
        values = [value, *table[column].to_pylist()[1:]]
        if isinstance(value, str):
            values = list(map(str, values))
        place = table.schema.get_field_index(column)
        pq.write_table(table.set_column(place, column, pa.array(values)), index)
        refused(index, told)
    for rate in (None, "", "x", "0", "-5", "9" * 5000):
        metadata = None if rate is None else {"sample_rate": rate}
        pq.write_table(table.replace_schema_metadata(metadata), index)
        refused(index, r"index\.parquet: ")


def test_an_index_that_is_none_is_one_line(index: Path) -> None:
    table = pq.read_table(index)
    for other in (table.drop_columns(["scale"]), table.append_column("part", table["part"])):
        pq.write_table(other, index)
        refused(index, r"index\.parquet: ")
    index.write_bytes(b"PAR1 garbage")
    refused(index, r"index\.parquet: ")
    index.unlink()
    index.mkdir()
    refused(index, r"index\.parquet: ")


def test_a_part_that_is_a_link_out_of_the_bank_is_not_read(index: Path, tmp_path: Path) -> None:
    part = index.parent / "part-0.pcm"
    folder = tmp_path / "bank"
    folder.mkdir()
    index = index.rename(folder / index.name)
    (folder / "part-0.pcm").symlink_to(part)
    with pytest.raises(CorpusError, match="leads out of its folder"):
        Bank.open(index).read("loud", 0, 1, 1.0)
