"""Benchmarks from files: miniatures with the published columns, and audio that is heard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from synth.base.errors import CorpusError, SpecError
from train.bench.settings import BenchSettings
from train.bench.sounds import file_sound
from train.bench.tables import captions_benchmark, classes_benchmark, compa_benchmark

COMPA = ("pair_caption", "reversed_pair_caption", "pair_file", "reversed_pair_file")
TRIPLET = ("triplet_caption", "triplet_file")


# CompA


def compa_rows(tables: Any) -> list[tuple[str, ...]]:
    sound = tables.sound
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


def test_compa_reports_pairs_triplets_and_all(tables: Any) -> None:
    table = tables.write(COMPA + TRIPLET, *compa_rows(tables))
    found = tables.assess(compa_benchmark(table, tables.audio))
    assert {name: metric.n for name, metric in found.metrics.items()} == {
        f"compa_{part}_{score}": n
        for score in ("text", "audio", "group")
        for part, n in (("pairs", 2), ("triplets", 1), ("all", 2))
    }
    assert {metric.value for metric in found.metrics.values()} == {1.0}
    assert found.metrics["compa_all_text"].chance == pytest.approx((1 / 4 + 1 / 27) / 2)
    assert found.metrics["compa_all_group"].chance == pytest.approx((1 / 6 + 1 / 60) / 2)


def test_compa_is_strict_and_finds_what_a_model_does_not_know(tables: Any) -> None:
    # Without order in the captions both are alike to both audios: ties, which fail.
    low, high = tables.sound("low", "high"), tables.sound("high", "low")
    table = tables.write(COMPA, ("low", "low", low, high))
    found = tables.assess(compa_benchmark(table, tables.audio))
    assert set(found.metrics) == {
        f"compa_{part}_{score}" for part in ("pairs", "all") for score in ("text", "audio", "group")
    }
    assert {metric.value for metric in found.metrics.values()} == {0.0}


def test_each_sound_and_text_is_embedded_once(tables: Any) -> None:
    row = (
        "low then high",
        "high then low",
        tables.sound("low", "high"),
        tables.sound("high", "low"),
    )
    tables.assess(compa_benchmark(tables.write(COMPA, row, row), tables.audio))
    assert tables.tones.heard == 2
    assert sorted(tables.tones.read) == ["high then low", "low then high"]


def test_faults_of_a_table_are_found_before_anything_is_heard(tables: Any) -> None:
    row = compa_rows(tables)[0]
    audio = tables.audio
    for place, cell, expected in (
        (3, "nowhere.wav", "row 2: 'nowhere.wav' is not in"),
        (1, " ", "row 2: 'reversed_pair_caption' is empty"),
        (5, "low-high.wav", "row 2: one of triplet_caption and triplet_file is '-'"),
        (4, "", "row 2: 'triplet_caption' is empty"),
    ):
        table = tables.write(COMPA + TRIPLET, (*row[:place], cell, *row[place + 1 :]))
        with pytest.raises(CorpusError, match=f"{table}: {expected}") as error:
            compa_benchmark(table, audio)
        assert error.value.fix
    missing = ("a", "b", "x.wav", "y.wav"), ("a", "b", tables.sound("low", "low"), "z.wav")
    for lines, folder, expected in (
        ((COMPA, *missing), audio, r"row 2: 'x.wav' .* nor are 2 more"),
        ((COMPA[:3], ("a", "b", "c")), audio, "reversed_pair_file"),
        ((COMPA,), tables.folder / "music", "no such folder"),
        ((COMPA,), audio, "has no rows"),
        (((*COMPA, "triplet_file"),), audio, "has only the column"),
    ):
        with pytest.raises(CorpusError, match=expected):
            compa_benchmark(tables.write(*lines), folder)
    with pytest.raises(CorpusError, match="No such file"):
        compa_benchmark(tables.folder / "no.csv", audio)


# Classes


def esc50_rows(tables: Any) -> list[tuple[str, ...]]:
    return [
        (tables.sound(name, name, f"{fold}-{name}.wav"), str(fold), str(target), name)
        for target, name in enumerate(("low", "mid", "high"))
        for fold in (1, 2)
    ]


def test_esc50_is_classified_by_averaged_templates(tables: Any) -> None:
    table = tables.write(("filename", "fold", "target", "category"), *esc50_rows(tables))
    settings = BenchSettings(templates=("a {} tone", "nothing but {}"))
    found = tables.assess(classes_benchmark(table, tables.audio, settings))
    assert found.metrics["zero_shot_top1"].value == 1.0
    assert found.metrics["zste_t1"].value == 1.0
    assert found.metrics["zste_t1"].chance == pytest.approx(1 / 3)
    assert found.metrics["zste_t1"].n == 6
    assert {"a low tone", "nothing but low", "The sound of low"} <= set(tables.tones.read)


def test_clips_of_one_recording_are_drawn_together(tables: Any) -> None:
    # Nine clips of low tones, of which three are called high: right six times of nine.
    clips = [(tables.sound("low", "low", f"{k}.wav"), "high" if k < 3 else "low") for k in range(9)]
    alone = tables.write(("filename", "category"), *clips)
    kept = ((*clip, "one" if k < 3 else "two") for k, clip in enumerate(clips))
    grouped = tables.write(("filename", "category", "src_file"), *kept, name="grouped.csv")
    narrow, wide = (
        tables.assess(classes_benchmark(table, tables.audio)).metrics["zste_t1"]
        for table in (alone, grouped)
    )
    assert narrow.value == wide.value == pytest.approx(6 / 9)
    assert (wide.low, wide.high) == (0.0, 1.0)
    assert narrow.low > 0


def test_one_fold_is_tested_against_the_classes_of_all(tables: Any) -> None:
    table = tables.write(("filename", "fold", "target", "category"), *esc50_rows(tables)[:-1])
    found = tables.assess(classes_benchmark(table, tables.audio, fold="2"))
    assert (found.metrics["zste_t1"].n, found.metrics["zste_t1"].chance) == (2, 1 / 3)
    assert found.left_out == {"data: files of other folds": 3}
    with pytest.raises(SpecError, match=r"no fold 9.*1, 2"):
        classes_benchmark(table, tables.audio, fold="9")


def test_a_file_has_one_category(tables: Any) -> None:
    name = tables.sound("low", "low")
    table = tables.write(("filename", "category"), (name, "low"), (name, "high"))
    with pytest.raises(CorpusError, match=r"row 3: .* already has a row"):
        classes_benchmark(table, tables.audio)


def test_a_template_has_one_slot() -> None:
    for template in ("no slot", "{} and {}"):
        with pytest.raises(SpecError, match="template"):
            BenchSettings(templates=(template,))


# Audio


def test_audio_is_resampled_mixed_down_and_not_looped(tables: Any) -> None:
    tables.sound("low", "high", "a.wav", rate=44_100, seconds=0.4)
    loaded = file_sound(tables.audio / "a.wav").load(16_000)
    assert len(loaded) == 6400
    assert loaded.dtype == np.float32


def test_audio_that_is_too_long_is_refused_or_cut_and_counted(tables: Any) -> None:
    table = tables.write(
        ("filename", "category"),
        (tables.sound("low", "low"), "low"),
        (tables.sound("high", "high", seconds=2.0), "high"),
    )
    tables.tones.longest = 16_000
    benchmark = classes_benchmark(table, tables.audio)
    with pytest.raises(SpecError, match=r"high-high.wav: lasts 2.00 s, the model takes 1 s"):
        tables.assess(benchmark)
    cutting = classes_benchmark(table, tables.audio, BenchSettings(cut=True))
    found = tables.assess(cutting)
    assert found.left_out == {"data: sounds cut to the model's limit": 1}
    assert found.metrics["zste_t1"].value == 1.0


def test_a_file_that_is_no_audio_is_named(tables: Any) -> None:
    tables.audio.mkdir()
    (tables.audio / "a.wav").write_bytes(b"RIFF and no more")
    table = tables.write(
        ("filename", "category"), ("a.wav", "low"), (tables.sound("mid", "mid"), "mid")
    )
    with pytest.raises(CorpusError, match=r"a\.wav"):
        tables.assess(classes_benchmark(table, tables.audio))


def test_two_files_of_one_name_are_ambiguous(tables: Any) -> None:
    tables.sound("low", "low", "a.wav")
    tables.sound("low", "low", "a.flac")
    table = tables.write(("file_name", "caption"), ("a", "low"))
    with pytest.raises(CorpusError, match=r"row 2: 'a' may be a.wav or a.flac"):
        captions_benchmark(table, tables.audio)
