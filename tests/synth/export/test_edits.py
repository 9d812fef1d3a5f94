"""Edits on disk: what is outside of an edit is untouched, and stems are their mix."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import soundfile
import webdataset

from pipelines.export import export_corpus
from synth.audio.dsp import Pcm
from synth.base.errors import CorpusError
from synth.corpus.corpus import Corpus
from synth.derived.edits import EDIT, find_edits, wordings
from synth.derived.questions import Derived
from synth.export.base import RANDOMNESS
from synth.export.edits import edit_groups
from synth.export.items import ExportItem, Shard, list_shards
from synth.scene.claim import claim_from_text
from synth.scene.scene import Concat, from_text, to_text
from synth.scene.timeline import places
from synth.truth.change import find_change, list_claims
from tests.kit.cases import cases
from tests.kit.chats import read_lines
from tests.kit.export_corpora import Exported, built

SPEC: dict[str, Any] = {
    "corpus": "a-name-as-long-as-that-of-corpora-can-be",
    "source": {"foley": {"classes": ["dog", "rain", "car_horn", "siren", "crow"], "takes": 2}},
    "recipe": {"edits": {"pairs": {"train": 8, "test": 4}}},
    "audio": {"length": "exact 6 s"},
    "splits": {"train": [1], "test": [2]},
    "shards": {"samples": 10},
}
KEYS = {"instruction", "reverse_instruction", "kind", "sounds", "onset_s", "offset_s", "claims"}
SIDES = ("before", "after")


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return built(tmp_path_factory, SPEC)


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    recipe = {"edits": {"pairs": {"train": 8, "test": 4}, "choices": 2}}
    return built(tmp_path_factory, SPEC | {"corpus": "chosen", "recipe": recipe})


@pytest.fixture(scope="module")
def rows(exported: Exported, edited: Corpus) -> list[dict[str, Any]]:
    folder = exported(edited, "edits")
    return [row for split in edited.splits for row in read_lines(folder / f"{split}.jsonl")]


def read(path: Path) -> Pcm:
    pcm, _ = soundfile.read(path, dtype="int16")
    return np.asarray(pcm, dtype=np.int16)


def test_nothing_differs_outside_of_an_edit_and_stems_add_up_to_their_mix(
    exported: Exported, edited: Corpus, rows: list[dict[str, Any]]
) -> None:
    folder, rate = exported(edited, "edits"), edited.sample_rate
    assert len(rows) == 12
    for row in rows:
        before, after = mixes = [read(folder / row[f"{which}_audio"]) for which in SIDES]
        differing = np.flatnonzero(before != after)
        onset, offset = round(row["onset_s"] * rate), round(row["offset_s"] * rate)
        assert len(before) == len(after) == 6 * rate
        assert onset <= differing[0] <= differing[-1] < offset
        for which, whole in zip(SIDES, mixes, strict=True):
            stems = [read(folder / stem["audio"]) for stem in row[f"{which}_stems"]]
            assert np.array_equal(np.sum(stems, axis=0, dtype=np.int64), whole)
    for shard in list_shards(edited):
        for row in shard.rows():
            for number, place in enumerate(places(from_text(row["scene"]))):
                stem = read(folder / f"stems/{shard.split}/{row['id']}-stem{number}.flac")
                assert not stem[: place.onset].any()
                assert not stem[place.offset :].any()


def test_rows_hold_on_the_manifest(edited: Corpus, rows: list[dict[str, Any]]) -> None:
    about = {each.id: each for shard in list_shards(edited) for each in shard.subjects()}
    for row in rows:
        for side, claim in zip(("before", "after"), row["claims"], strict=True):
            assert about[row[side]].proves(claim_from_text(claim))


def test_webdataset_reads_the_same(
    exported: Exported, edited: Corpus, rows: list[dict[str, Any]]
) -> None:
    folder = exported(edited, "edits")
    samples = list(_read_shards(exported(edited, "edits-webdataset"), edited))
    assert [sample["__key__"] for sample in samples] == [row["id"] for row in rows]
    for sample, row in zip(samples, rows, strict=True):
        told = json.loads(sample["json"])
        assert {key: told[key] for key in KEYS} == {key: row[key] for key in KEYS}
        for which in ("before", "after"):
            assert sample[f"{which}.flac"] == (folder / row[f"{which}_audio"]).read_bytes()
            stems = row[f"{which}_stems"]
            assert told[f"{which}_stems"] == [stem["label"] for stem in stems]
            for number, stem in enumerate(stems):
                assert sample[f"{which}-stem{number}.flac"] == (folder / stem["audio"]).read_bytes()


def _read_shards(folder: Path, corpus: Corpus) -> Iterator[dict[str, Any]]:
    for split in corpus.splits:
        shards = sorted(map(str, (folder / split).glob("*.tar")))
        yield from webdataset.WebDataset(shards, shardshuffle=False)


def test_datasets_reads_the_same(
    exported: Exported, edited: Corpus, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    folder = exported(edited, "edits")
    found = datasets.load_dataset(str(exported(edited, "edits-hf")), cache_dir=str(tmp_path))
    known = []
    for split in edited.splits:
        table = found[split]
        assert isinstance(table.features["before"], datasets.Audio)
        for which in ("before", "after"):
            table = table.cast_column(which, datasets.Audio(decode=False))
            stems = datasets.List(
                {"label": datasets.Value("string"), "audio": datasets.Audio(decode=False)}
            )
            table = table.cast_column(f"{which}_stems", stems)
        known += list(table)
    assert [row["id"] for row in known] == [row["id"] for row in rows]
    for row, told in zip(known, rows, strict=True):
        assert {key: row[key] for key in KEYS} == {key: told[key] for key in KEYS}
        assert row["before"]["bytes"] == (folder / told["before_audio"]).read_bytes()
        for stem, other in zip(row["after_stems"], told["after_stems"], strict=True):
            pcm, _ = soundfile.read(io.BytesIO(stem["audio"]["bytes"]), dtype="int16")
            assert stem["label"] == other["label"]
            assert np.array_equal(pcm, read(folder / other["audio"]))


@cases("name", ["edits", "edits-webdataset", "edits-hf"])
def test_choices_tell_source_target_and_rival_of_each_instruction(
    exported: Exported, chosen: Corpus, edited: Corpus, name: str
) -> None:
    folder = exported(chosen, name)
    text = (folder / "train_choices.jsonl").read_text(encoding="utf-8")
    questions = [json.loads(line) for line in text.splitlines()]
    assert len({question["id"] for question in questions}) == len(questions) >= 16
    plan = chosen.samples("train", columns=["id", "group", "scene"]).to_pylist()
    scenes = {row["id"]: from_text(row["scene"]) for row in plan}
    for question in questions:
        change = find_change(scenes[question["source"]], scenes[question["target"]])
        other = find_change(scenes[question["source"]], scenes[question["rival"]])
        assert change is not None
        assert other is not None
        assert change.kind.value == other.kind.value == question["kind"]
        assert question["instruction"] in wordings(change, next(list_claims(change)))
        assert question["instruction"] not in wordings(other, next(list_claims(other)))
        members = {row["id"] for row in plan if row["group"] == question["group"]}
        assert members == {question[name] for name in ("source", "target", "rival")}
    assert "train_choices" not in (read_me := (folder / "README.md").read_text("utf-8"))
    assert "SPLIT_choices.jsonl" in read_me
    alone = exported(edited, name)
    assert "choices" not in (alone / "README.md").read_text("utf-8")
    assert not [*alone.glob("*choices*")]


class Stretched(Shard):
    """A shard whose manifest tells of scenes of ten million hours."""

    def items(self) -> Iterator[ExportItem]:
        for item in super().items():
            scene = from_text(item.row["scene"])
            longer = Concat(scene, scene, -(10**15))
            yield replace(item, row={**item.row, "scene": to_text(longer)})


def test_a_scene_longer_than_its_audio_is_refused_and_not_rendered(edited: Corpus) -> None:
    shard = list_shards(edited)[0]
    stretched = Stretched(*(getattr(shard, field.name) for field in fields(shard)))
    rows = {row["id"]: row for row in shard.rows()}
    edits = find_edits(shard.subjects(), rows, RANDOMNESS).made
    with pytest.raises(CorpusError, match="lasts longer than its audio"):
        list(edit_groups(stretched, edits))


@cases("name", ["edits", "edits-webdataset", "edits-hf"])
def test_an_export_without_edits_is_refused(
    edited: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("synth.export.edits.find_edits", lambda *_: Derived((), {EDIT: 6}))
    with pytest.raises(CorpusError, match="of recipe edits, gives no rows of edits"):
        export_corpus(edited, name, tmp_path / "out")


@cases("name", ["edits", "edits-webdataset", "edits-hf"])
def test_a_corpus_of_another_recipe_is_refused(corpus: Corpus, tmp_path: Path, name: str) -> None:
    with pytest.raises(CorpusError, match="made with recipe triplets") as caught:
        export_corpus(corpus, name, tmp_path / "out")
    assert "segue new edits" in caught.value.fix
    assert not (tmp_path / "out").exists()
