"""Folders like ESC-50, read back by our own reader of ESC-50."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from export_corpora import Exported
from hypothesis import given
from hypothesis import strategies as st

from synth.audio.dsp import to_pcm
from synth.corpus.corpus import Corpus
from synth.export.compa import category
from synth.scene.scene import Concat, Event, Overlay, Scene, parse
from synth.sources.sounds.esc50 import Esc50

LABELS = st.sampled_from(["dog", "rain", "a+b", "Whimper (dog)"])
SCENES: st.SearchStrategy[Scene] = st.recursive(
    LABELS.map(Event),
    lambda parts: st.builds(Concat, parts, parts) | st.builds(Overlay, parts, parts),
    max_leaves=5,
)


@pytest.fixture
def folder(exported: Exported, corpus: Corpus) -> Path:
    return exported(corpus, "esc")


def test_our_own_source_ingests_it(folder: Path, corpus: Corpus) -> None:
    source = Esc50(root=folder)
    refs = list(source.refs())
    rows = corpus.samples().to_pylist()
    assert [ref.id for ref in refs] == [f"esc50/{row['id']}" for row in rows]
    assert {ref.split for ref in refs} == {"1", "2"}
    for ref, row in zip(refs[::17], rows[::17], strict=True):
        found = source.load(ref)
        stored = corpus.stored_pcm(row["split"], row["shard"], row["offset"], row["size"])
        assert found.rate == corpus.sample_rate
        assert np.array_equal(to_pcm(found.audio), stored)


def test_table_is_that_of_esc50(folder: Path) -> None:
    table = pd.read_csv(folder / "meta" / "esc50.csv")
    assert list(table.columns[:7]) == [
        "filename",
        "fold",
        "target",
        "category",
        "esc10",
        "src_file",
        "take",
    ]
    names = sorted(table["category"].unique())
    assert [names.index(each) for each in table["category"]] == table["target"].tolist()
    assert set(table["filename"]) == {path.name for path in (folder / "audio").iterdir()}
    assert table.groupby("src_file")["fold"].nunique().max() == 1
    assert not table.duplicated(["src_file", "take"]).any()


@pytest.mark.parametrize(
    ("notation", "expected"),
    [
        ("dog", "dog"),
        ("rain * dog", "dog * rain"),
        ("(wind + dog) * cat", "(wind + dog) * cat"),
        ("cat * (wind + dog)", "(wind + dog) * cat"),
        ("a + (b + c)", "a + b + c"),
        ("b * (a * c) + d", "a * b * c + d"),
    ],
)
def test_compositions_that_sound_alike_share_a_category(notation: str, expected: str) -> None:
    assert category(parse(notation)) == expected


@given(SCENES)
def test_category_is_notation_and_its_own_category(scene: Scene) -> None:
    name = category(scene)
    assert category(parse(name)) == name
