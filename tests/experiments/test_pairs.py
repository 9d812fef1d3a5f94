"""`segue train --clap MODEL my.csv`: the corpus of a table, and what is learnt from it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import yaml

from experiments.cli.train import write_index
from synth.base.errors import SourceError
from synth.corpus.corpus import Corpus
from tests.kit.builds import segue_here
from tests.kit.cases import cases
from tests.kit.tiny_models import CLAP_RATE, CLAP_SECONDS, save_clap
from train.config.model import HeadKind
from train.engine.presets import fine_tuning


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a CLAP and a table of sounds at another rate, two captions each."""
    folder = tmp_path_factory.mktemp("pairs")
    save_clap(folder / "clap")
    with (folder / "my.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["file_name", "text", "note"])
        for number in range(60):
            tone = 0.1 * np.sin(np.arange(16_000 * (1 + number % 3)) * 0.01 * (number + 3))
            soundfile.write(folder / f"{number}.wav", tone, 16_000)
            table.writerow([f"{number}.wav", f"a dog barks {number} times", "x"])
            table.writerow([f"{number}.wav", "rain falls " * (number + 1), "x"])
    return folder


def test_a_clap_learns_from_a_table_by_the_settings_of_the_docs(pairs: Path) -> None:
    run, clap = pairs / "run", pairs / "clap"
    words = ("train", "--clap", clap, pairs / "my.csv", "--out", run, "--steps", "3")
    done = segue_here(*words)
    assert done.returncode == 0, done.stderr
    assert "my.csv: 60 sounds, 0 left out, 20 cut to 2 s; corpus " in done.stderr
    assert "texts are longer than the 64 tokens that the model reads" in done.stderr
    folder = pairs / "run-pairs" / "data_manifests" / "my"
    corpus = Corpus.open(folder)
    rows = corpus.samples().to_pylist()
    assert corpus.sample_rate == CLAP_RATE
    assert {row["frames"] for row in rows} == {CLAP_SECONDS * CLAP_RATE}
    assert set(corpus.splits) == {"train", "val"}
    assert all(len(row["positives"]) == 1 and not row["negatives"] for row in rows)
    claims = {text["claim"] for row in rows for text in (row, *row["positives"])}
    assert claims == {'{"event":"sound"}'}  # no caption is refuted of another clip
    files = {path: path.stat().st_mtime_ns for path in pairs.glob("run-pairs/shards/**/*.tar")}
    assert files
    assert segue_here(*words, "--overwrite").returncode == 0
    assert files == {path: path.stat().st_mtime_ns for path in files}
    done = segue_here("eval", run, folder, "--split", "val", "--json")
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["text_to_audio_r1"]["chance"] < 1  # each is right for its own sound alone

    page = Path(__file__).parents[2].joinpath("docs/training.md").read_text("utf-8")
    (told,) = (
        yaml.safe_load(block.partition("```")[0])
        for block in page.split("```yaml\n")
        if "layer_decay: 0.9" in block
    )
    config = fine_tuning(folder, run, str(clap), HeadKind.PROJECTION)
    values: dict[str, Any] = config.model_dump(mode="json")
    for name in ("lr", "lr_of", "layer_decay", "weight_decay", "betas", "eps", "patience"):
        assert values[name] == told[name], name
    assert values["model"]["trainable"] == told["model"]["trainable"]
    assert config.steps == 100


def test_the_table_is_read_before_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    table, out = tmp_path / "my.csv", tmp_path / "run"
    words = ("train", "--clap", "nobody/clap", table, "--out", out)
    table.write_text("path,label\nx.wav,y\n")
    assert "no column of captions among path, label" in segue_here(*words).stderr
    assert not [*tmp_path.glob("run*")]
    table.write_text("path,caption\nx.wav,y\n")
    told = segue_here(*words).stderr
    assert "error: nobody/clap: http://127.0.0.1:9 cannot be reached" in told
    assert "fix:   give a folder that holds the model" in told
    assert "Retrying" not in told


@cases(
    ("header", "columns", "fault"),
    [
        ("path,caption", "path,caption", ""),
        ("audio,text,split", "path,caption,split", ""),
        ("filename,caption_1,caption_2", "path,caption_1,caption_2", ""),
        ("path;caption", "", "columns are separated by ';'"),
        ("name,caption", "", "no column of sounds among name, caption"),
        ("path,label", "", "no column of captions among path, label"),
    ],
)
def test_columns_have_usual_names(header: str, columns: str, fault: str, tmp_path: Path) -> None:
    table, index = tmp_path / "my.csv", tmp_path / "index.csv"
    rows = [["a/1.wav", "x", "train"], ["../b/2.wav", "y", "val"]]
    cells = [",".join(row[: header.count(",") + 1]) for row in rows]
    table.write_text("\n".join([header, *cells]))
    if fault:
        with pytest.raises(SourceError, match=fault):
            write_index(table, index)
        return
    root, splits = write_index(table, index)
    assert root == tmp_path.parent
    assert index.read_text().splitlines()[0] == columns
    own = {"train": ["train"], "val": ["val"]}
    assert splits == (own if "split" in header else {"train": 1.0})


@cases(
    ("names", "splits"),
    [
        (("train", "validation", "test"), ["train", "val", "test"]),
        (("Train", "dev ", "eval"), ["train", "val", "test"]),
        (("", "", " "), []),
        (("train", "", "test"), "2.wav is ''"),
        (("train", "train2", "test"), "2.wav is 'train2'"),
        (("fold1", "fold2", "fold3"), "1.wav is 'fold1'"),
    ],
)
def test_splits_of_a_table_are_kept_or_refused(
    names: tuple[str, ...], splits: list[str] | str, tmp_path: Path
) -> None:
    table, index = tmp_path / "my.csv", tmp_path / "index.csv"
    rows = [f"{number}.wav,x,{name}" for number, name in enumerate(names, start=1)]
    table.write_text("\n".join(["path,caption,split", *rows]))
    if isinstance(splits, str):
        with pytest.raises(SourceError, match=f"the split of {splits}"):
            write_index(table, index)
        assert not index.exists()
        return
    _, chosen = write_index(table, index)
    assert chosen == ({name: [name] for name in splits} or {"train": 1.0})
    with index.open(encoding="utf-8", newline="") as file:
        assert [row["split"] for row in csv.DictReader(file)] == (splits or [""] * 3)
