"""`acba` from caption files to shards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipelines.builder.build import build
from pipelines.checks.audit import audit
from pipelines.config.spec import Spec
from synth.corpus.corpus import Corpus
from tests.kit.libraries import RATE, sound, write_csv

CAPTIONS = [
    ("-a1", "0", "train", "A small dog barks twice"),
    ("b2", "30", "train", "Rain falls on a tin roof"),
    ("c3", "10", "train", "A woman sings softly"),
    ("d4", "20", "train", "A man talks and laughs"),
    ("e5", "0", "train", "An engine idles before it stalls"),
    ("f6", "0", "train", "A strong wind howls through trees"),
    ("g7", "0", "test", "Birds chirp"),
    ("g7", "0", "test", "Several birds are chirping."),
    ("h8", "0", "test", "A phone rings"),
    ("i9", "0", "test", "This one has no audio"),
]


@pytest.fixture(scope="module")
def audiocaps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("acba") / "audiocaps"
    columns = ("audiocap_id", "youtube_id", "start_time", "caption")
    for split in ("train", "test"):
        rows = [
            (number, video, start, caption)
            for number, (video, start, owner, caption) in enumerate(CAPTIONS)
            if owner == split
        ]
        write_csv(root / f"{split}.csv", columns, rows)
    for seed, (video, start, *_) in enumerate(CAPTIONS):
        if video != "i9":
            sound(root / "audio" / f"{video}_{start}.wav", seed, frames=4 * RATE)
    return root


@pytest.fixture(scope="module")
def make(audiocaps: Path) -> Callable[..., Corpus]:
    """Builds a version beside those that were built before, of the same bank."""

    def make(**recipe: object) -> Corpus:
        spec = Spec.model_validate(
            {
                "corpus": "acba",
                "source": {"audiocaps": {"root": str(audiocaps)}},
                "recipe": {"acba": {"pairs": {"train": 11, "test": 3}} | recipe},
                "audio": {"sample_rate": RATE, "length": "exact 7 s"},
                "splits": {"train": ["train"], "test": ["test"]},
            }
        )
        out = audiocaps.parent / "out"
        build(spec, out, 0)
        return Corpus.open(out / "data_manifests" / "acba")

    return make


def test_captions_with_an_ordering_word_are_left_out_and_counted(
    make: Callable[..., Corpus],
) -> None:
    corpus = make()
    heard = {clip for row in corpus.samples().to_pylist() for clip in row["clips"]}
    refused = pq.read_table(corpus.folder / "quarantine.parquet").to_pylist()
    reasons = {row["id"]: (row["stage"], row["reason"]) for row in refused}
    assert set(reasons) == {"audiocaps/e5_0", "audiocaps/i9_0"}
    assert reasons["audiocaps/e5_0"][0] == "recipe acba"
    assert reasons["audiocaps/i9_0"] == ("ingest", "cannot be read: the file is missing")
    assert not heard & set(reasons)
    found = audit(corpus.folder)
    assert (found.samples, found.with_negatives, found.violations) == (14, 14, ())
    assert found.dense == 0  # a caption of a whole clip is not true of each stretch


def test_excerpts_of_captioned_clips_are_counted_and_told(
    audiocaps: Path, make: Callable[..., Corpus]
) -> None:
    assert make().facts["excerpts_of_captioned_clips"] == 0
    corpus = make(max_event_s=2.5)
    assert corpus.facts["excerpts_of_captioned_clips"] == 2 * 14
    assert all(row["excerpts"] == 2 for row in corpus.samples(columns=["excerpts"]).to_pylist())
    assert "28 sounds are excerpts of captioned clips" in (corpus.shards / "README.md").read_text()
