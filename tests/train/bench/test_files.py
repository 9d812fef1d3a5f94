"""Benchmarks from files: miniatures with the published columns, and audio that is heard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth.base.errors import CorpusError, SpecError
from train.bench.evaluate import assess
from train.bench.settings import BenchSettings
from train.bench.sounds import file_sound
from train.bench.tables import captions_benchmark, classes_benchmark, compa_benchmark

COMPA = ("pair_caption", "reversed_pair_caption", "pair_file", "reversed_pair_file")
TRIPLET = ("triplet_caption", "triplet_file")

Sound = Callable[..., str]
Csv = Callable[..., Path]


# CompA


def compa_rows(sound: Sound) -> list[tuple[str, ...]]:
    return [
        ("low then high", "high then low", sound("low", "high"), sound("high", "low"), "-", "-"),
        (
            "low then mid",
            "mid then low",
            sound("low", "mid"),
            sound("mid", "low", rate=44_100),
            "mid then mid",
            sound("mid", "mid"),
        ),
    ]


def test_compa_reports_pairs_triplets_and_all(
    tones: Any, sound: Sound, write_csv: Csv, tmp_path: Path
) -> None:
    table = write_csv(COMPA + TRIPLET, *compa_rows(sound))
    found = assess(tones, compa_benchmark(table, tmp_path / "audio"))
    assert {name: metric.n for name, metric in found.metrics.items()} == {
        f"compa_{part}_{score}": n
        for score in ("text", "audio", "group")
        for part, n in (("pairs", 2), ("triplets", 1), ("all", 2))
    }
    assert {metric.value for metric in found.metrics.values()} == {1.0}
    assert found.metrics["compa_all_text"].chance == pytest.approx((1 / 4 + 1 / 27) / 2)
    assert found.metrics["compa_all_group"].chance == pytest.approx((1 / 6 + 1 / 60) / 2)


def test_compa_is_strict_and_finds_what_a_model_does_not_know(
    tones: Any, sound: Sound, write_csv: Csv, tmp_path: Path
) -> None:
    # Without order in the captions both are alike to both audios: ties, which fail.
    low, high = sound("low", "high"), sound("high", "low")
    table = write_csv(COMPA, ("low", "low", low, high))
    found = assess(tones, compa_benchmark(table, tmp_path / "audio"))
    assert set(found.metrics) == {
        f"compa_{part}_{score}" for part in ("pairs", "all") for score in ("text", "audio", "group")
    }
    assert {metric.value for metric in found.metrics.values()} == {0.0}


def test_each_sound_and_text_is_embedded_once(
    tones: Any, sound: Sound, write_csv: Csv, tmp_path: Path
) -> None:
    row = ("low then high", "high then low", sound("low", "high"), sound("high", "low"))
    assess(tones, compa_benchmark(write_csv(COMPA, row, row), tmp_path / "audio"))
    assert tones.heard == 2
    assert sorted(tones.read) == ["high then low", "low then high"]


def test_faults_of_a_table_are_found_before_anything_is_heard(
    sound: Sound, write_csv: Csv, tmp_path: Path
) -> None:
    row = compa_rows(sound)[0]
    audio = tmp_path / "audio"
    for place, cell, expected in (
        (3, "nowhere.wav", "row 2: 'nowhere.wav' is not in"),
        (1, " ", "row 2: 'reversed_pair_caption' is empty"),
        (5, "low-high.wav", "row 2: one of triplet_caption and triplet_file is '-'"),
        (4, "", "row 2: 'triplet_caption' is empty"),
    ):
        table = write_csv(COMPA + TRIPLET, (*row[:place], cell, *row[place + 1 :]))
        with pytest.raises(CorpusError, match=f"{table}: {expected}") as error:
            compa_benchmark(table, audio)
        assert error.value.fix
    missing = ("a", "b", "x.wav", "y.wav"), ("a", "b", sound("low", "low"), "z.wav")
    for lines, folder, expected in (
        ((COMPA, *missing), audio, r"row 2: 'x.wav' .* nor are 2 more"),
        ((COMPA[:3], ("a", "b", "c")), audio, "reversed_pair_file"),
        ((COMPA,), tmp_path / "music", "no such folder"),
        ((COMPA,), audio, "has no rows"),
        (((*COMPA, "triplet_file"),), audio, "has only the column"),
    ):
        with pytest.raises(CorpusError, match=expected):
            compa_benchmark(write_csv(*lines), folder)
    with pytest.raises(CorpusError, match="no such file"):
        compa_benchmark(tmp_path / "no.csv", audio)


# Classes


def esc50_rows(sound: Sound) -> list[tuple[str, ...]]:
    return [
        (sound(name, name, f"{fold}-{name}.wav"), str(fold), str(target), name)
        for target, name in enumerate(("low", "mid", "high"))
        for fold in (1, 2)
    ]


def test_esc50_is_classified_by_averaged_templates(
    tones: Any, sound: Sound, write_csv: Csv, tmp_path: Path
) -> None:
    table = write_csv(("filename", "fold", "target", "category"), *esc50_rows(sound))
    settings = BenchSettings(templates=("a {} tone", "nothing but {}"))
    found = assess(tones, classes_benchmark(table, tmp_path / "audio", settings))
    assert found.metrics["zero_shot_top1"].value == 1.0
    assert found.metrics["zste_t1"].value == 1.0
    assert found.metrics["zste_t1"].chance == pytest.approx(1 / 3)
    assert found.metrics["zste_t1"].n == 6
    assert {"a low tone", "nothing but low", "The sound of low"} <= set(tones.read)


def test_clips_of_one_recording_are_drawn_together(
    tones: Any, sound: Sound, write_csv: Csv, tmp_path: Path
) -> None:
    # Nine clips of low tones of which three are called high: right six times of nine.
    clips = [(sound("low", "low", f"{k}.wav"), "high" if k < 3 else "low") for k in range(9)]
    alone = write_csv(("filename", "category"), *clips)
    kept = ((*clip, "one" if k < 3 else "two") for k, clip in enumerate(clips))
    grouped = write_csv(("filename", "category", "src_file"), *kept, name="grouped.csv")
    narrow, wide = (
        assess(tones, classes_benchmark(table, tmp_path / "audio")).metrics["zste_t1"]
        for table in (alone, grouped)
    )
    assert narrow.value == wide.value == pytest.approx(6 / 9)
    assert (wide.low, wide.high) == (0.0, 1.0)
    assert narrow.low > 0


def test_one_fold_is_tested_against_the_classes_of_all(
    tones: Any, sound: Sound, write_csv: Csv, tmp_path: Path
) -> None:
    table = write_csv(("filename", "fold", "target", "category"), *esc50_rows(sound)[:-1])
    found = assess(tones, classes_benchmark(table, tmp_path / "audio", fold="2"))
    assert (found.metrics["zste_t1"].n, found.metrics["zste_t1"].chance) == (2, 1 / 3)
    assert found.left_out == {"data: files of other folds": 3}
    with pytest.raises(SpecError, match=r"no fold 9.*1, 2"):
        classes_benchmark(table, tmp_path / "audio", fold="9")


def test_a_file_has_one_category(sound: Sound, write_csv: Csv, tmp_path: Path) -> None:
    name = sound("low", "low")
    table = write_csv(("filename", "category"), (name, "low"), (name, "high"))
    with pytest.raises(CorpusError, match=r"row 3: .* already has a row"):
        classes_benchmark(table, tmp_path / "audio")


def test_a_template_has_one_slot() -> None:
    for template in ("no slot", "{} and {}"):
        with pytest.raises(SpecError, match="template"):
            BenchSettings(templates=(template,))


# Audio


def test_audio_is_resampled_mixed_down_and_not_looped(sound: Sound, tmp_path: Path) -> None:
    sound("low", "high", "a.wav", rate=44_100, seconds=0.4)
    loaded = file_sound(tmp_path / "audio" / "a.wav").load(16_000)
    assert len(loaded) == 6400
    assert loaded.dtype == np.float32


def test_audio_that_is_too_long_is_refused_or_cut_and_counted(
    tones: Any, sound: Sound, write_csv: Csv, tmp_path: Path
) -> None:
    table = write_csv(
        ("filename", "category"),
        (sound("low", "low"), "low"),
        (sound("high", "high", seconds=2.0), "high"),
    )
    tones.longest = 16_000
    benchmark = classes_benchmark(table, tmp_path / "audio")
    with pytest.raises(SpecError, match=r"high-high.wav: lasts 2.00 s, the model takes 1 s"):
        assess(tones, benchmark)
    cutting = classes_benchmark(table, tmp_path / "audio", BenchSettings(cut=True))
    found = assess(tones, cutting)
    assert found.left_out == {"data: sounds cut to the model's limit": 1}
    assert found.metrics["zste_t1"].value == 1.0


def test_a_file_that_is_no_audio_is_named(
    tones: Any, sound: Sound, write_csv: Csv, tmp_path: Path
) -> None:
    (tmp_path / "audio").mkdir()
    (tmp_path / "audio" / "a.wav").write_bytes(b"RIFF and no more")
    table = write_csv(("filename", "category"), ("a.wav", "low"), (sound("mid", "mid"), "mid"))
    with pytest.raises(CorpusError, match=r"a\.wav"):
        assess(tones, classes_benchmark(table, tmp_path / "audio"))


def test_two_files_of_one_name_are_ambiguous(sound: Sound, write_csv: Csv, tmp_path: Path) -> None:
    sound("low", "low", "a.wav")
    sound("low", "low", "a.flac")
    table = write_csv(("file_name", "caption"), ("a", "low"))
    with pytest.raises(CorpusError, match=r"row 2: 'a' may be a.wav or a.flac"):
        captions_benchmark(table, tmp_path / "audio")
