"""Benchmarks from files: miniatures with the published columns, and audio that is heard."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from synth.base.errors import CorpusError, SpecError
from tests.kit.tables import read_data
from train.bench.evaluate import Evaluation, assess, data_kind, open_benchmark
from train.bench.opening import RandomModel
from train.bench.plan import DataKind
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


def test_a_file_has_one_category_and_a_template_one_slot(tables: Any) -> None:
    name = tables.sound("low", "low")
    table = tables.write(("filename", "category"), (name, "low"), (name, "high"))
    with pytest.raises(CorpusError, match=r"row 3: .* already has a row"):
        classes_benchmark(table, tables.audio)
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


def test_files_of_no_audio_or_two_of_a_name_are_told(tables: Any) -> None:
    tables.audio.mkdir()
    (tables.audio / "a.wav").write_bytes(b"RIFF and no more")
    table = tables.write(
        ("filename", "category"), ("a.wav", "low"), (tables.sound("mid", "mid"), "mid")
    )
    with pytest.raises(CorpusError, match=r"a\.wav"):
        tables.assess(classes_benchmark(table, tables.audio))
    tables.sound("low", "low", "a.wav")
    tables.sound("low", "low", "a.flac")
    table = tables.write(("file_name", "caption"), ("a", "low"))
    with pytest.raises(CorpusError, match=r"row 2: 'a' may be a.wav or a.flac"):
        captions_benchmark(table, tables.audio)


# Labelled audio in the layouts that ESC-50, UrbanSound8K, FSD50K and VGGSound are published in.


SETTINGS = BenchSettings(templates=("This is a sound of {}.",))


def write_sounds(folder: Path, names: Sequence[str]) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        noise = np.random.default_rng(zlib.crc32(name.encode())).integers(-9999, 9999, 160)
        soundfile.write(folder / name, noise.astype(np.int16), 16_000)


def similarities(folder: Path, names: Sequence[str], classes: Sequence[str]) -> np.ndarray:
    """Naive: a file at a time, a class at a time."""
    model, rows = RandomModel(), []
    for name in names:
        heard = model.audio([soundfile.read(folder / name, dtype="float32")[0]])[0]
        texts = [model.texts([f"This is a sound of {name}."])[0] for name in classes]
        rows.append([float(heard @ text / np.linalg.norm(text)) for text in texts])
    return np.array(rows)


def score(table: Path, **options: str) -> Evaluation:
    assert data_kind(table) is DataKind.CLASSES
    return assess(RandomModel(), open_benchmark(table, settings=SETTINGS, **options))


@dataclass(frozen=True)
class Published:
    """A table as it is published.

    Args:
        audio: Where its files lie.
        tested: The class, as it is prompted, of each file that is tested.
        others: Further classes of the table.
        elsewhere: How many files are of other folds.
    """

    table: str
    lines: list[str]
    audio: str
    tested: dict[str, str]
    others: Sequence[str] = ()
    elsewhere: int = 0
    facts: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)


PUBLISHED = {name: Published(**facts) for name, facts in read_data("bench/published.yaml").items()}
URBAN_TESTED = PUBLISHED["UrbanSound8K"].tested


def write(published: Published, root: Path) -> tuple[Path, Path]:
    """The table and the folder of its audio."""
    table = root / published.table
    table.parent.mkdir(parents=True, exist_ok=True)
    table.write_text("\n".join(published.lines) + "\n")
    write_sounds(root / published.audio, list(published.tested))
    return table, root / published.audio


@pytest.mark.parametrize("published", PUBLISHED.values(), ids=PUBLISHED)
def test_a_table_is_scored_as_it_is_published(published: Published, tmp_path: Path) -> None:
    table, audio = write(published, tmp_path)
    if published.elsewhere == 8:
        write_sounds(audio, list(URBAN_TESTED))
    found = score(table, **published.options)
    classes = sorted({*published.tested.values(), *published.others})
    best = similarities(audio, list(published.tested), classes).argmax(axis=1)
    labels = published.tested.values()
    right = [classes[at] == label for at, label in zip(best, labels, strict=True)]
    top1 = found.metrics["zero_shot_top1"]
    assert top1.value == pytest.approx(np.mean(right))
    assert top1.chance == pytest.approx(1 / len(classes))
    assert top1.n == len(published.tested)
    assert "zste_t1" in found.metrics
    assert published.facts.items() <= found.facts.items()
    elsewhere = {"data: files of other folds": published.elsewhere} if published.elsewhere else {}
    assert found.left_out == elsewhere


def test_fsd50k_has_several_labels_and_is_scored_by_map(tmp_path: Path) -> None:
    root = tmp_path / "FSD50K.ground_truth"
    root.mkdir()
    eval_rows = {
        "37199": "Electric_guitar,Guitar,Music",
        "175151": "Music",
        "253463": "Electric_guitar,Guitar,Music",
        "329838": "Thunder",
        "1277": "Guitar,Music",
    }
    lines = [f'{name},"{labels}","/m/1",' for name, labels in eval_rows.items()]
    table = root / "eval.csv"
    table.write_text("fname,labels,mids\n" + "\n".join(line[:-1] for line in lines) + "\n")
    dev = root / "dev.csv"
    dev.write_text(
        "fname,labels,mids,split\n"
        + "\n".join(line + split for line, split in zip(lines, ["train", "val"] * 3, strict=False))
        + "\n"
    )
    (root / "vocabulary.csv").write_text("0,Electric_guitar,/m/02sgy\n1,Guitar,/m/0342h\n")
    files = [f"{name}.wav" for name in eval_rows]
    for audio in ("FSD50K.eval_audio", "FSD50K.dev_audio"):
        write_sounds(tmp_path / audio, files)
    found = score(table)
    classes = ["Electric_guitar", "Guitar", "Music", "Thunder"]
    prompts = [name.replace("_", " ") for name in classes]
    similarity = similarities(tmp_path / "FSD50K.eval_audio", files, prompts)
    precisions = []
    for column, name in enumerate(classes):
        order = np.argsort(-similarity[:, column])
        right = np.array([name in labels.split(",") for labels in eval_rows.values()])[order]
        hits = [right[: place + 1].sum() / (place + 1) for place in np.flatnonzero(right)]
        precisions.append(np.mean(hits))
    assert found.metrics["zero_shot_map"].value == pytest.approx(np.mean(precisions))
    assert list(found.metrics) == ["zero_shot_map"]
    assert found.facts["layout"] == "FSD50K"
    # Two files of one label each: still mAP.
    val = score(dev, fold="val")
    assert val.metrics["zero_shot_map"].n == 2
    assert val.facts["classes"] == "4"


def test_faults_of_a_table_are_told(tmp_path: Path) -> None:
    urban, _ = write(PUBLISHED["UrbanSound8K"], tmp_path)
    with pytest.raises(SpecError, match=r"no fold 2.*1, 10"):
        score(urban, fold="2")
    videos, _ = write(PUBLISHED["VGGSound's table of videos"], tmp_path)
    with pytest.raises(SpecError, match="has no folds"):
        score(videos, fold="test")
    vggsound, _ = write(PUBLISHED["VGGSound, of no header"], tmp_path)
    with pytest.raises(CorpusError, match=r"'--0PQM4-hqg_000030' is not in"):
        score(vggsound, fold="train")
    vggsound.write_text(vggsound.read_text() + "--0PQM4-hqg,30,test\n")
    with pytest.raises(CorpusError, match=r"line 5: is not of id, start, label, split"):
        score(vggsound)


def test_a_named_folder_counts_for_more_than_one_beside(tmp_path: Path) -> None:
    table, audio = write(PUBLISHED["ESC-50"], tmp_path)
    found = score(table)
    name = next(iter(PUBLISHED["ESC-50"].tested))
    audio.joinpath(name).unlink()
    with pytest.raises(CorpusError, match=f"row 2: .* is not in {audio}"):
        score(table)
    write_sounds(audio, [name])
    moved = audio.rename(tmp_path / "elsewhere")
    with pytest.raises(CorpusError, match=f"is not in {table.parent}"):
        score(table)
    again = assess(RandomModel(), open_benchmark(table, moved, settings=SETTINGS))
    assert again.metrics == found.metrics
