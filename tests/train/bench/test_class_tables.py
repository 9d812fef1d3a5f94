"""Labelled audio in the layouts that ESC-50, UrbanSound8K, FSD50K and VGGSound are published in."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import soundfile

from synth.base.errors import CorpusError, SpecError
from train.bench.evaluate import Evaluation, assess, data_kind, open_benchmark
from train.bench.opening import RandomModel
from train.bench.plan import DataKind
from train.bench.settings import BenchSettings

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
    others: tuple[str, ...] = ()
    elsewhere: int = 0
    facts: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)


URBAN = [
    (f"{at}-{target}-0-{fold}.wav", at, fold, target, name)
    for at, (target, name) in enumerate([(0, "air_conditioner"), (3, "dog_bark")] * 4)
    for fold in (1, 10)
]
URBAN_LINES = [
    "slice_file_name,fsID,start,end,salience,fold,classID,class",
    *(f"{name},{fs},0.0,4.0,1,{fold},{at},{label}" for name, fs, fold, at, label in URBAN),
]
URBAN_TESTED = {f"fold{fold}/{name}": label.replace("_", " ") for name, _, fold, _, label in URBAN}
VGG_LINES = [
    "---g-f_I2yQ,1,people marching,test",
    "--0PQM4-hqg,30,waterfall burbling,train",
    '--56QUhyDQM,185,"bird chirping, tweeting",test',
    "_0a_cSbWgXU,0,people marching,test",
]
PUBLISHED = {
    "UrbanSound8K": Published(
        "UrbanSound8K/metadata/UrbanSound8K.csv",
        URBAN_LINES,
        "UrbanSound8K/audio",
        URBAN_TESTED,
        facts={"layout": "UrbanSound8K", "classes": "2", "fold": "all"},
    ),
    "fold 10 of UrbanSound8K": Published(
        "UrbanSound8K/metadata/UrbanSound8K.csv",
        URBAN_LINES,
        "UrbanSound8K/audio",
        {name: label for name, label in URBAN_TESTED.items() if name.startswith("fold10")},
        elsewhere=8,
        facts={"fold": "10"},
        options={"fold": "10"},
    ),
    "VGGSound, of no header": Published(
        "vggsound.csv",
        VGG_LINES,
        ".",
        {
            "---g-f_I2yQ_000001.wav": "people marching",
            "--56QUhyDQM_000185.wav": "bird chirping, tweeting",
            "_0a_cSbWgXU_000000.wav": "people marching",
        },
        ("waterfall burbling",),
        elsewhere=1,
        facts={"layout": "VGGSound", "fold": "test"},
    ),
    "VGGSound's table of videos": Published(
        "test.csv",
        ["glLQrEijrKg_000300.mp4,playing organ", 'ysd7x_yVdNA_000018.mp4,"birds, tweeting"'],
        ".",
        {"glLQrEijrKg_000300.wav": "playing organ", "ysd7x_yVdNA_000018.wav": "birds, tweeting"},
        facts={"fold": "all"},
    ),
    "ESC-50": Published(
        "ESC-50-master/meta/esc50.csv",
        [
            "filename,fold,target,category,esc10,src_file,take",
            "1-0-A-0.wav,1,0,dog,True,0,A",
            "2-1-A-1.wav,2,1,rooster,True,1,A",
            "2-0-A-0.wav,2,0,dog,True,0,A",
        ],
        "ESC-50-master/audio",
        {"1-0-A-0.wav": "dog", "2-1-A-1.wav": "rooster", "2-0-A-0.wav": "dog"},
    ),
}


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


def test_a_folder_that_is_named_counts_for_more_than_the_one_beside_a_table(
    tmp_path: Path,
) -> None:
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
