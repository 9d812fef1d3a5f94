"""Strong labels: DCASE's tables by the rules of their readers, JAMS files by jams."""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd
import pytest

from synth.corpus.corpus import Corpus
from synth.corpus.schema import read_timeline
from synth.export.strong_labels import strong_labels
from tests.kit.export_corpora import Exported

# DCASE: pandas, sed_eval, psds_eval


@pytest.fixture
def folder(exported: Exported, corpus: Corpus) -> Path:
    return exported(corpus, "dcase")


def test_strong_labels_keep_the_rules(folder: Path, corpus: Corpus) -> None:
    for split in corpus.splits:
        strong = pd.read_csv(folder / "metadata" / f"{split}.tsv", sep="\t")
        durations = pd.read_csv(folder / "metadata" / f"{split}_durations.tsv", sep="\t")
        assert list(strong.columns) == ["filename", "onset", "offset", "event_label"]
        assert list(durations.columns) == ["filename", "duration"]
        assert not durations["filename"].duplicated().any()
        audio = {path.name for path in (folder / "audio" / split).iterdir()}
        assert set(durations["filename"]) == audio
        joined = strong.merge(durations, on="filename", how="left", validate="many_to_one")
        assert (joined["onset"] >= 0).all()
        assert (joined["onset"] < joined["offset"]).all()
        assert (joined["offset"] <= joined["duration"]).all()
        assert set(strong["event_label"]) == {"dog", "rain", "siren", "wind"}
        for _, same in strong.groupby(["filename", "event_label"]):
            ordered = same.sort_values("onset")
            assert (ordered["onset"].iloc[1:].values >= ordered["offset"].iloc[:-1].values).all()
        # sed_eval tells a table's form by the ending of its name, and does not know `.tsv`.
        again = pd.read_csv(folder / "metadata" / f"{split}_events.csv")
        pd.testing.assert_frame_equal(again, strong)


def test_captions_are_a_table_like_clothos(folder: Path, corpus: Corpus) -> None:
    captions = pd.read_csv(folder / "metadata" / "train_captions.csv", keep_default_na=False)
    assert list(captions.columns) == ["file_name", "caption_1", "caption_2"]
    rows = corpus.samples("train").to_pylist()
    assert captions["caption_1"].tolist() == [row["caption"] for row in rows]
    false = [{one["text"] for one in row["negatives"]} for row in rows]
    for column in ("caption_1", "caption_2"):
        assert not any(text in wrong for text, wrong in zip(captions[column], false, strict=True))


def test_overlapping_events_of_one_label_are_one() -> None:
    events = [
        {"label": "dog", "onset_s": 2.0, "offset_s": 3.0},
        {"label": "rain", "onset_s": 0.0, "offset_s": 9.0},
        {"label": "dog", "onset_s": 1.0, "offset_s": 2.5},
        {"label": "dog", "onset_s": 3.0, "offset_s": 4.0},
    ]
    assert strong_labels(events) == [(0.0, 9.0, "rain"), (1.0, 3.0, "dog"), (3.0, 4.0, "dog")]


# JAMS


@pytest.fixture
def annotated(exported: Exported, corpus: Corpus) -> Path:
    folder = exported(corpus, "jams")
    names = {path.stem for path in folder.glob("jams/*/*.jams")}
    assert names == {path.stem for path in folder.glob("audio/*/*.flac")}
    assert names
    return folder


def test_files_validate_and_hold_events_and_captions(annotated: Path, corpus: Corpus) -> None:
    jams = pytest.importorskip("jams")
    for row in corpus.samples("train").to_pylist()[:8]:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            jam = jams.load(str(annotated / "jams/train" / f"{row['id']}.jams"), strict=True)
        assert jam.validate(strict=True)
        rate = row["sample_rate"]
        (events,) = jam.annotations.search(namespace="scaper")
        assert [(each.value["label"], each.time, each.duration) for each in events.data] == sorted(
            (
                (place.label, onset / rate, (offset - onset) / rate)
                for place in read_timeline(row).placements
                for onset, offset in place.heard.labelled
            ),
            key=lambda each: each[1],
        )
        captions, *dense = jam.annotations.search(namespace="tag_open")
        assert sorted(
            (each.sandbox.resolution, told.time, told.duration, told.value)
            for each in dense
            for told in each.data
        ) == sorted(
            (
                told["resolution"],
                told["onset"] / rate,
                (told["offset"] - told["onset"]) / rate,
                told["text"],
            )
            for told in row["dense"]
        )
        texts = [each.value for each in captions.data]
        assert texts[0] == row["caption"]
        assert not set(texts) & {one["text"] for one in row["negatives"]}
        assert jam.file_metadata.duration == row["frames"] / row["sample_rate"]
