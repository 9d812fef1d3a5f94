"""AudioSet's strong labels: events as stretches of a file, overlaps accounted for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from synth.sources.sounds.audioset_strong import AudioSetStrong
from tests.kit.libraries import RATE, check, refused, sound

HEADER = ("segment_id", "start_time_seconds", "end_time_seconds", "label")
NAMES = [
    ("/m/09x0r", "Speech"),
    ("/m/05zppz", "Male speech, man speaking"),
    ("/t/dd00099", 'A "thud", softly'),
    ("/g/11b630rrvh", "Kettle whistle"),
]
TRAIN = [
    ("b0RFKhbpFJA_30000", "0.000", "2.000", "/m/09x0r"),
    ("--a_b-JA_c_0", "0.000", "10.000", "/m/09x0r"),
    ("b0RFKhbpFJA_30000", "4.000", "5.720", "/t/dd00099"),
    ("b0RFKhbpFJA_30000", "2.000", "3.500", "/m/05zppz"),
    ("b0RFKhbpFJA_30000", "5.500", "6.000", "/t/dd00099"),
    ("b0RFKhbpFJA_30000", "3.250", "4.000", "/g/11b630rrvh"),
    ("b0RFKhbpFJA_30000", "4.000", "5.720", "/t/dd00099"),
]
EVAL = [("s9d-2nhuJCQ_30000", "1.000", "1.000", "/m/09x0r")]


def write_tsv(path: Path, rows: Sequence[Sequence[str]]) -> None:
    path.write_text("".join("\t".join(row) + "\r\n" for row in rows), newline="")


def strong(root: Path, **settings: Any) -> AudioSetStrong:
    write_tsv(root / "mid_to_display_name.tsv", NAMES)
    write_tsv(root / "audioset_train_strong.tsv", [HEADER, *TRAIN])
    write_tsv(root / "audioset_eval_strong.tsv", [HEADER, *EVAL])
    return AudioSetStrong(root=root, **settings)


def test_each_event_is_a_clip_and_those_of_a_file_follow_one_another(tmp_path: Path) -> None:
    refs = check(strong(tmp_path))
    assert [ref.id for ref in refs] == [
        "audioset_strong/b0RFKhbpFJA_30000_0_2000_m-09x0r",
        "audioset_strong/b0RFKhbpFJA_30000_4000_5720_t-dd00099",
        "audioset_strong/b0RFKhbpFJA_30000_2000_3500_m-05zppz",
        "audioset_strong/b0RFKhbpFJA_30000_5500_6000_t-dd00099",
        "audioset_strong/b0RFKhbpFJA_30000_3250_4000_g-11b630rrvh",
        "audioset_strong/--a_b-JA_c_0_0_10000_m-09x0r",
        "audioset_strong/s9d-2nhuJCQ_30000_1000_1000_m-09x0r",
    ]
    assert [ref.split for ref in refs] == ["train"] * 6 + ["eval"]
    assert refs[0].location == "b0RFKhbpFJA_30000#t=0.000,2.000"
    assert refs[0].labels == ("Speech",)
    assert refs[1].labels == ('A "thud", softly',)
    assert refs[1].duration_s == pytest.approx(1.72)
    assert refs[0].recording == "youtube/b0RFKhbpFJA"
    assert refs[5].recording == "youtube/--a_b-JA_c"


def test_an_event_with_another_label_in_it_is_refused_and_says_with_which(tmp_path: Path) -> None:
    refs = check(strong(tmp_path))
    speech, thud, man, again, kettle, *_, empty = refs
    assert "'Kettle whistle' sounds from 3.250 s to 4.000 s" in man.refusal
    assert "'Male speech, man speaking'" in kettle.refusal
    assert man.labels == ("Male speech, man speaking", "Kettle whistle")
    assert kettle.labels == ("Kettle whistle", "Male speech, man speaking")
    # Touching ends are no overlap, nor is the same label again.
    assert (speech.refusal, thud.refusal, again.refusal) == ("", "", "")
    assert "not after its beginning" in empty.refusal
    kept = check(strong(tmp_path, overlaps="keep"))
    assert [ref.labels for ref in kept] == [ref.labels for ref in refs]
    assert [ref.refusal for ref in kept] == [""] * 6 + [empty.refusal]


def test_a_clip_is_the_stretch_of_its_file(tmp_path: Path) -> None:
    source = strong(tmp_path)
    path = sound(tmp_path / "audio" / "train" / "b0RFKhbpFJA_30000.wav", frames=10 * RATE)
    whole, _ = soundfile.read(path, dtype="float32")
    speech, thud, *_ = check(source)
    assert np.array_equal(source.load(speech).audio, whole[: 2 * RATE])
    assert np.array_equal(source.load(thud).audio, whole[4 * RATE : round(5.72 * RATE)])


def test_one_of_the_two_tables_is_enough(tmp_path: Path) -> None:
    strong(tmp_path)
    (tmp_path / "audioset_train_strong.tsv").unlink()
    assert len(check(AudioSetStrong(root=tmp_path))) == 1


def test_a_wrong_table_is_a_source_error(tmp_path: Path) -> None:
    source = strong(tmp_path)
    (tmp_path / "audioset_train_strong.tsv").write_text("filename\tonset\n")
    refused(source, "no column 'segment_id'")
    names = tmp_path / "mid_to_display_name.tsv"
    names.write_text("/m/09x0r\tSpeech\n/m/09x0r\tTalk\n")
    refused(source, "line 2: /m/09x0r has two names")
    names.write_text("/m/09x0r Speech\n")
    refused(source, "line 1: expected a label")
    names.unlink()
    refused(source, "names of the labels not found")
