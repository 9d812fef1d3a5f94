"""JAMS files, read and validated by jams."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from synth.corpus.corpus import Corpus
from synth.scene.scene import from_json
from synth.scene.timeline import timeline

jams = pytest.importorskip("jams")


@pytest.fixture
def folder(exported: Callable[[Corpus, str], Path], corpus: Corpus) -> Path:
    return exported(corpus, "jams")


def test_files_validate_and_hold_events_and_captions(folder: Path, corpus: Corpus) -> None:
    for row in corpus.samples("train").to_pylist()[:8]:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            jam = jams.load(str(folder / "jams/train" / f"{row['id']}.jams"), strict=True)
        assert jam.validate(strict=True)
        (events,) = jam.annotations.search(namespace="scaper")
        placements = timeline(from_json(json.loads(row["scene"]))).placements
        assert [
            (each.value["label"], each.time, each.time + each.duration) for each in events.data
        ] == sorted(
            (
                (place.label, place.onset / row["sample_rate"], place.offset / row["sample_rate"])
                for place in placements
            ),
            key=lambda each: each[1],
        )
        captions, *dense = jam.annotations.search(namespace="tag_open")
        rate = row["sample_rate"]
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


def test_each_has_its_audio_beside_it(folder: Path) -> None:
    annotated = {path.stem for path in folder.glob("jams/*/*.jams")}
    assert annotated == {path.stem for path in folder.glob("audio/*/*.flac")}
    assert len(annotated) == 144
