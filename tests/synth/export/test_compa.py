"""CompA's layout, as our own bench reads it, and folders like ESC-50, as our own source does."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.export import export_corpus
from synth.audio.dsp import to_pcm
from synth.base.errors import CorpusError
from synth.corpus.corpus import Corpus
from synth.export.compa import category
from synth.scene.scene import Concat, Event, Overlay, Scene, parse
from synth.sources.sounds.esc50 import Esc50
from tests.kit.cases import cases
from tests.kit.export_corpora import Exported, built
from tests.kit.tables import read_data
from train.bench.tables import compa_benchmark

CASES = read_data("texts/notation.yaml")

# CompA


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


def test_pairs_have_no_third(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    pairs = {"recipe": {"acba": {"pairs": {"train": 8, "test": 8}, "crossfade_s": 0.25}}}
    corpus = built(tmp_path_factory, pairs)
    export_corpus(corpus, "compa", tmp_path / "out")
    instances = read(tmp_path / "out" / "test.csv")
    assert instances
    assert {(row["triplet_caption"], row["triplet_file"]) for row in instances} == {("-", "-")}
    assert len(compa_benchmark(tmp_path / "out" / "test.csv", tmp_path / "out/audio/test").sounds)


def test_a_corpus_whose_groups_give_no_instance_is_refused(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    single = {"pairs": {"train": 8, "test": 8}, "crossfade_s": 0.25, "minimal_pairs": False}
    corpus = built(tmp_path_factory, {"recipe": {"acba": single}})
    with pytest.raises(CorpusError, match="of recipe acba, gives no rows of compa"):
        export_corpus(corpus, "compa", tmp_path / "out")
    assert not (tmp_path / "out" / "audio").exists()


# ESC-50


LABELS = st.sampled_from(["dog", "rain", "a+b", "Whimper (dog)"])
SCENES: st.SearchStrategy[Scene] = st.recursive(
    LABELS.map(Event),
    lambda parts: st.builds(Concat, parts, parts) | st.builds(Overlay, parts, parts),
    max_leaves=5,
)


@pytest.fixture
def esc(exported: Exported, corpus: Corpus) -> Path:
    return exported(corpus, "esc")


def test_our_own_source_ingests_it(esc: Path, corpus: Corpus) -> None:
    source = Esc50(root=esc)
    refs = list(source.refs())
    rows = corpus.samples().to_pylist()
    assert [ref.id for ref in refs] == [f"esc50/{row['id']}" for row in rows]
    assert {ref.split for ref in refs} == {"1", "2"}
    for ref, row in zip(refs[::17], rows[::17], strict=True):
        found = source.load(ref)
        stored = corpus.stored_pcm(row["split"], row["shard"], row["offset"], row["size"])
        assert found.rate == corpus.sample_rate
        assert np.array_equal(to_pcm(found.audio), stored)


def test_table_is_that_of_esc50(esc: Path) -> None:
    table = pd.read_csv(esc / "meta" / "esc50.csv")
    assert " ".join(table.columns[:7]) == "filename fold target category esc10 src_file take"
    names = sorted(table["category"].unique())
    assert [names.index(each) for each in table["category"]] == table["target"].tolist()
    assert set(table["filename"]) == {path.name for path in (esc / "audio").iterdir()}
    assert table.groupby("src_file")["fold"].nunique().max() == 1
    assert not table.duplicated(["src_file", "take"]).any()


@cases(("notation", "expected"), CASES["categories"])
def test_compositions_that_sound_alike_share_a_category(notation: str, expected: str) -> None:
    assert category(parse(notation)) == expected


@given(SCENES)
def test_category_is_notation_and_its_own_category(scene: Scene) -> None:
    name = category(scene)
    assert category(parse(name)) == name
