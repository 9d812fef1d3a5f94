"""What is told of a corpus: where it may be, and its size on the Hub."""

from __future__ import annotations

from pathlib import Path

import pytest

from synth.base.errors import CorpusError
from synth.corpus.corpus import find_finished
from synth.corpus.facts import size_category, suggest_corpus

# Whereabouts


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    """Two corpora, one of them planned only."""
    for name, file in (("triplets", "corpus.json"), ("scenes", "plan.parquet")):
        (tmp_path / "data_manifests" / name / "v1").mkdir(parents=True)
        (tmp_path / "data_manifests" / name / "v1" / file).touch()
    return tmp_path / "data_manifests"


def test_the_nearest_corpus_is_told_or_all_there_are(
    manifests: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert suggest_corpus(manifests / "tripelts", "") == f"did you mean {manifests / 'triplets'}?"
    every = f"there are {manifests / 'scenes'}, {manifests / 'triplets'}"
    beside = f"did you mean {manifests / 'triplets'}?"
    assert suggest_corpus(manifests.parent / "shards" / "triplets", "") == beside
    assert suggest_corpus(manifests / "birds", "") == every
    assert suggest_corpus(manifests.parent, "") == every
    monkeypatch.chdir(manifests.parent)
    relative = "there are data_manifests/scenes, data_manifests/triplets"
    assert suggest_corpus(Path("birds"), "") == relative
    with pytest.raises(CorpusError, match="no finished corpus here") as caught:
        find_finished(Path("triplet"))
    assert caught.value.fix == "did you mean data_manifests/triplets?"


# The Hub


def test_sizes_are_told_in_the_hubs_steps() -> None:
    sizes = {
        1: "n<1K",
        999: "n<1K",
        1_000: "1K<n<10K",
        99_999: "10K<n<100K",
        10_000_000: "10M<n<100M",
        1_000_000_000: "1B<n<10B",
    }
    assert {samples: size_category(samples) for samples in sizes} == sizes
