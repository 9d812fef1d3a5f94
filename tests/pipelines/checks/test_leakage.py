"""Leakage between built corpora: the clips that samples use, by recording, bytes and sound."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import soundfile

from pipelines.builder.build import build
from pipelines.checks.leakage import compare_corpora, compare_splits, read_used_clips
from pipelines.config.spec import Spec
from synth.audio.dsp import Audio
from synth.base.errors import CorpusError
from synth.corpus.corpus import Corpus
from tests.kit.builds import UNCERTIFIED
from tests.kit.known_sounds import RATE, event
from tests.kit.libraries import write_csv

Take = tuple[str, str, str, Audio]


def take(label: str, split: str, recording: str, seed: int) -> Take:
    return label, split, recording, event(seed, 1.5)


def library(root: Path, takes: list[Take], suffix: str = "wav") -> Path:
    """A folder of sounds with its index."""
    rows = [(f"{number}.{suffix}", *take[:3]) for number, take in enumerate(takes)]
    write_csv(root / "index.csv", ("path", "label", "split", "recording"), rows)
    for (name, *_), take in zip(rows, takes, strict=True):
        soundfile.write(root / name, take[3], RATE)
    return root


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Builds a corpus over a library; gives its manifest folder."""

    def make(name: str, takes: list[Take], suffix: str = "wav") -> Path:
        folder = tmp_path_factory.mktemp("leakage")
        root = library(folder / "sounds", takes, suffix)
        spec = {
            "corpus": name,
            "source": {"folder": {"root": str(root), "index": "index.csv"}},
            "recipe": {"triplets": {"crossfade_s": 0.25, "max_event_s": 1.0}},
            "audio": {"sample_rate": 16000},
            "splits": {"train": ["a"], "test": ["b"]},
        }
        build(Spec.model_validate(spec), folder / "out", worker_count=0)
        return folder / "out" / "data_manifests" / name

    return make


TAKES_A = [
    take("dog", "a", "freesound/1", 0),
    take("rain", "a", "freesound/2", 1),
    take("dog", "b", "freesound/3", 2),
    take("rain", "b", "freesound/4", 3),
    take("wind", "c", "freesound/5", 4),
]


@pytest.fixture(scope="module")
def corpus_a(corpus: Callable[..., Path]) -> Path:
    return corpus("first", TAKES_A)


def test_shared_recordings_and_sounds_are_found(
    corpus: Callable[..., Path], corpus_a: Path
) -> None:
    """Another label, another name, another codec, another level, an excerpt: the same sounds."""
    copies = [
        ("bark", "a", "youtube/1", 0.5 * TAKES_A[0][3]),
        ("wet", "a", "youtube/2", TAKES_A[3][3][RATE // 4 :]),
        take("bark", "b", "freesound/2", 7),
        take("wet", "b", "youtube/4", 8),
    ]
    found = compare_corpora(corpus_a, corpus("copies", copies, "ogg"))
    assert (found.shared, found.by_recording, found.by_bytes, found.by_sound) == (3, 1, 0, 2)
    shared = {(pair.a.split("/", 1)[1], pair.b.split("/", 1)[1], pair.by) for pair in found.pairs}
    assert shared == {
        ("0.wav", "0.ogg", "sound"),
        ("1.wav", "2.ogg", "recording"),
        ("3.wav", "1.ogg", "sound"),
    }
    assert json.loads(json.dumps(found.to_json()))["shared"] == 3


def test_a_corpus_shares_all_that_its_samples_use_with_itself(corpus_a: Path) -> None:
    found = compare_corpora(corpus_a, corpus_a)
    assert (found.shared, found.by_recording, found.by_bytes, found.by_sound) == (4, 4, 4, 4)
    used = [row["id"] for row in read_used_clips(corpus_a)]
    assert [name.rsplit("/", 1)[1] for name in used] == ["0.wav", "1.wav", "2.wav", "3.wav"]
    assert pq.read_table(Corpus.open(corpus_a).folder / "clips.parquet").num_rows == 5


def test_a_sound_in_two_splits_under_two_names_is_found(
    corpus: Callable[..., Path], corpus_a: Path
) -> None:
    assert [found.disjoint for found in compare_splits(corpus_a).values()] == [True]
    again = ("rain", "b", "freesound/9", 0.25 * TAKES_A[1][3])
    found = compare_splits(corpus("divided", [*TAKES_A[:3], again]))
    assert list(found) == ["train and test"]
    (pair,) = found["train and test"].pairs
    assert pair.by == "sound"


def test_a_catalogue_of_before_fingerprints_is_compared_by_the_rest(
    corpus_a: Path, tmp_path: Path
) -> None:
    old = shutil.copytree(Corpus.open(corpus_a).folder, tmp_path / "old", ignore=UNCERTIFIED)
    clips = pq.read_table(old / "clips.parquet")
    pq.write_table(clips.drop_columns(["fingerprint"]), old / "clips.parquet")
    found = compare_corpora(corpus_a, old)
    assert (found.by_recording, found.by_bytes, found.by_sound) == (4, 4, 0)
    assert (found.unheard_a, found.unheard_b) == (0, 4)


def test_a_catalogue_that_lacks_clips_is_an_error(corpus_a: Path, tmp_path: Path) -> None:
    torn = shutil.copytree(Corpus.open(corpus_a).folder, tmp_path / "torn", ignore=UNCERTIFIED)
    pq.write_table(pq.read_table(torn / "clips.parquet").slice(1), torn / "clips.parquet")
    with pytest.raises(CorpusError, match="lacks clip"):
        compare_corpora(torn, corpus_a)
    (torn / "clips.parquet").unlink()
    with pytest.raises(CorpusError, match="missing"):
        compare_splits(torn)
    with pytest.raises(CorpusError, match="no corpus and no plan"):
        compare_splits(tmp_path / "nothing")
