"""UrbanSound8K: slices with their fold, original and salience."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from libraries import RATE, check, sound, write_csv
from pydantic import ValidationError

from synth.base.errors import ClipError, SourceError
from synth.sources.sounds.urbansound8k import UrbanSound8K

COLUMNS = ("slice_file_name", "fsID", "start", "end", "salience", "fold", "classID", "class")
ROWS: list[Sequence[object]] = [
    ("100032-3-0-0.wav", 100032, 0.0, 0.317551, 1, 5, 3, "dog_bark"),
    ("100263-2-0-117.wav", 100263, 58.5, 62.5, 2, 5, 2, "children_playing"),
    ("100263-2-0-121.wav", 100263, 60.5, 64.5, 1, 5, 2, "children_playing"),
    ("344-3-1-0.wav", 344, 14.1, 18.1, 1, 10, 3, "dog_bark"),
]


def urbansound8k(
    root: Path, rows: Iterable[Sequence[object]] = ROWS, encoding: str = "utf-8"
) -> UrbanSound8K:
    write_csv(root / "metadata" / "UrbanSound8K.csv", COLUMNS, rows, encoding)
    sound(root / "audio" / "fold5" / "100032-3-0-0.wav")
    return UrbanSound8K(root=root)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_its_own_layout_is_read(tmp_path: Path, encoding: str) -> None:
    source = urbansound8k(tmp_path, encoding=encoding)
    bark, _, children, other = check(source)
    assert bark.id == "urbansound8k/100032-3-0-0"
    assert bark.location == "audio/fold5/100032-3-0-0.wav"
    assert (bark.labels, bark.split, bark.licence) == (("dog_bark",), "5", "CC-BY-NC-3.0")
    assert bark.recording == "freesound/100032"
    assert bark.duration_s == pytest.approx(0.317551)
    assert "Salamon" in bark.attribution
    assert children.duration_s == 4.0
    assert other.location == "audio/fold10/344-3-1-0.wav"
    recording = source.load(bark)
    assert (len(recording.audio), recording.rate) == (1600, RATE)


def test_slices_of_one_recording_are_kept_together(tmp_path: Path) -> None:
    rows = [*ROWS, ("100263-2-0-3.wav", 100263, 1, 5, 1, 6, 2, "children_playing")]
    refs = check(urbansound8k(tmp_path, rows))
    assert [ref.recording for ref in refs].count("freesound/100263") == 3


def test_a_slice_in_the_background_is_refused_and_not_dropped(tmp_path: Path) -> None:
    refs = check(urbansound8k(tmp_path))
    assert [bool(ref.refusal) for ref in refs] == [False, True, False, False]
    assert "background" in refs[1].refusal
    kept = check(UrbanSound8K(root=tmp_path, background="keep"))
    assert not any(ref.refusal for ref in kept)
    with pytest.raises(ValidationError):
        UrbanSound8K(root=tmp_path, background="drop")


def test_missing_and_empty_files_are_clip_errors(tmp_path: Path) -> None:
    source = urbansound8k(tmp_path)
    (tmp_path / "audio" / "fold10").mkdir()
    (tmp_path / "audio" / "fold10" / "344-3-1-0.wav").touch()
    _, gone, _, empty = source.refs()
    with pytest.raises(ClipError, match="cannot be read"):
        source.load(gone)
    with pytest.raises(ClipError, match="empty"):
        source.load(empty)


def test_a_row_that_is_there_twice_counts_once_unless_the_two_differ(tmp_path: Path) -> None:
    assert len(check(urbansound8k(tmp_path, [ROWS[0], ROWS[0]]))) == 1
    differing = (*ROWS[0][:5], 6, *ROWS[0][6:])
    with pytest.raises(SourceError, match=r"100032-3-0-0\.wav differ"):
        list(urbansound8k(tmp_path, [ROWS[0], differing]).refs())


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("salience", 3, "salience is '3'"),
        ("end", "soon", "end is 'soon', expected seconds"),
        ("end", "nan", "end is 'nan'"),
        ("end", 0.0, "in order"),
    ],
)
def test_a_bad_row_is_a_source_error_that_names_it(
    tmp_path: Path, column: str, value: object, reason: str
) -> None:
    row = [value if name == column else old for name, old in zip(COLUMNS, ROWS[0], strict=True)]
    with pytest.raises(SourceError, match=reason) as caught:
        list(urbansound8k(tmp_path, [row]).refs())
    assert "UrbanSound8K.csv: line 2: " in str(caught.value)


def test_a_wrong_folder_is_a_source_error_that_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not found") as caught:
        list(UrbanSound8K(root=tmp_path).refs())
    assert "metadata/UrbanSound8K.csv" in caught.value.fix
    (tmp_path / "audio").mkdir()
    with pytest.raises(SourceError, match=r"UrbanSound8K\.csv"):
        list(UrbanSound8K(root=tmp_path).refs())
