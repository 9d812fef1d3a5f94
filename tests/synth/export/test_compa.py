"""CompA's layout, as this project's own bench reads CompA."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from export_corpora import Exported, built

from pipelines.export import export_corpus
from synth.corpus.corpus import Corpus
from train.bench.data.compa_tables import compa_benchmark

ROLES = ("pair", "reversed_pair", "triplet")


@pytest.fixture
def folder(exported: Exported, corpus: Corpus) -> Path:
    return exported(corpus, "compa")


def read(table: Path) -> list[dict[str, str]]:
    with table.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_bench_reads_every_instance(folder: Path, corpus: Corpus) -> None:
    for split in corpus.splits:
        found = compa_benchmark(folder / f"{split}.csv", folder / "audio" / split)
        groups = {row["group"] for row in corpus.samples(split).to_pylist()}
        third = [row for row in read(folder / f"{split}.csv") if row["triplet_file"] != "-"]
        assert found.facts["instances"] == str(len(groups))
        assert third
        assert len(found.sounds) == 2 * len(groups) + len(third)


def test_each_caption_is_true_of_its_file_and_false_of_the_others(
    folder: Path, corpus: Corpus
) -> None:
    rows = {f"{row['id']}.flac": row for row in corpus.samples("test").to_pylist()}
    instances = read(folder / "test.csv")
    assert instances
    for instance in instances:
        roles = [role for role in ROLES if instance[f"{role}_file"] != "-"]
        members = [rows[instance[f"{role}_file"]] for role in roles]
        captions = [instance[f"{role}_caption"] for role in roles]
        assert captions == [member["caption"] for member in members]
        assert len({member["group"] for member in members}) == 1
        for at, member in enumerate(members):
            false = {negative["text"] for negative in member["negatives"]}
            assert set(captions) - {captions[at]} <= false


def test_pairs_have_no_third(tmp_path: Path) -> None:
    pairs = {"recipe": {"acba": {"pairs": {"train": 8, "test": 8}, "crossfade_s": 0.25}}}
    corpus = built(tmp_path, pairs)
    export_corpus(corpus, "compa", tmp_path / "out")
    instances = read(tmp_path / "out" / "test.csv")
    assert instances
    assert {(row["triplet_caption"], row["triplet_file"]) for row in instances} == {("-", "-")}
    assert len(compa_benchmark(tmp_path / "out" / "test.csv", tmp_path / "out/audio/test").sounds)


def test_groups_of_one_give_no_instance_and_are_counted(tmp_path: Path) -> None:
    single = {"pairs": {"train": 8, "test": 8}, "crossfade_s": 0.25, "minimal_pairs": False}
    corpus = built(tmp_path, {"recipe": {"acba": single}})
    export_corpus(corpus, "compa", tmp_path / "out")
    assert not read(tmp_path / "out" / "test.csv")
    assert "16 groups gave no instance" in (tmp_path / "out" / "README.md").read_text()
    assert not (tmp_path / "out" / "audio").exists()
