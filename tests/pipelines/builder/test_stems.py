"""Recipes built whole: stems are the sample, sample for sample; `acba` from caption files."""

from __future__ import annotations

import io
import struct
import tarfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import mlcroissant
import numpy as np
import pyarrow.parquet as pq
import pytest
import soundfile
import webdataset
from etils import epath

from pipelines.builder.build import build
from pipelines.checks.audit import audit
from pipelines.config.spec import Spec
from synth.audio.render import Mixdown, render
from synth.corpus.corpus import Corpus
from synth.corpus.schema import read_timeline
from synth.export.items import list_shards
from synth.recipes import recipe_class, recipe_names
from synth.scene.scene import from_text
from tests.kit.builds import TINY, merged
from tests.kit.cases import cases
from tests.kit.libraries import RATE, sound, write_csv
from tests.kit.tables import read_data

RECIPES: dict[str, dict[str, Any]] = {
    "acba": {"pairs": 8},
    "attributes": {"pairs": 12, "attributes": ["louder", "background", "onset"]},
    "counts": {"repeats": 1},
    "edits": {"pairs": 8},
    "moments": {"pairs": 6, "length_s": [6, 7], "sounds": 1, "pause_s": 0.3, "max_event_s": 1.0},
    "scenes": {"scenes": 8, "max_events": 4, "background": {"of": ["wind"], "snr_db": 10}},
    "triplets": {"repeats": 1, "crossfade_s": 0.25, "max_event_s": 1.0},
}


def test_recipes_that_play_single_clips_are_all_that_lack_them() -> None:
    assert {name for name in recipe_names() if recipe_class(name).mixes} == {*RECIPES}


@cases("name", sorted({*recipe_names()} - {*RECIPES}))
def test_they_are_refused_where_they_would_be_the_sample_again(name: str) -> None:
    values = merged(TINY, {"recipe": {name: {}}, "audio": {"stems": True}})
    with pytest.raises(ValueError, match=f"recipe {name} plays one clip a sample"):
        Spec.model_validate(values)


@cases("name", sorted(RECIPES))
def test_stems_add_up_to_the_sample(corpus_of: Callable[..., Corpus], name: str) -> None:
    audio_format = "wav" if name == "triplets" else "flac"
    length = "natural" if name == "moments" else "exact 7 s"
    audio = {"stems": True, "format": audio_format, "length": length}
    corpus = corpus_of(recipe={name: RECIPES[name]}, audio=audio, corpus=f"stems-{name}")
    count = 0
    for shard in list_shards(corpus):
        path = corpus.shard(shard.split, shard.name)
        places = struct.iter_unpack("<Q", path.with_name(f"{path.name}.idx").read_bytes())
        data = path.read_bytes()
        stretches = pairwise(place for (place,) in places)
        items = [*shard.items()]
        for item, (start, end) in zip(items, stretches, strict=True):
            row, members = item.row, read_members(data[start:end])
            key = item.id
            names = [f"{key}.stems.{audio_format}", f"{key}.{audio_format}", f"{key}.json"]
            assert [*members] == names
            assert members[names[1]] == item.audio
            mix = corpus.virtual_pcm(row)
            assert np.array_equal(decode(item.audio), mix)
            stems = decode(members[names[0]]).reshape(-1, row["frames"])
            assert np.array_equal(stems.sum(axis=0, dtype=np.int64), mix)
            timeline = read_timeline(row)
            for stem, place, event in zip(
                stems, timeline.placements, item.document["events"], strict=True
            ):
                assert stem[place.onset : place.offset].any()
                assert not stem[: place.onset].any()
                assert not stem[place.offset :].any()
                assert event["clip"] == place.excerpt.clip
            plain = render(
                from_text(row["scene"]),
                corpus.bank,
                Mixdown(corpus.fade, corpus.facts["peak_db"]),
                row["frames"],
                row["lead"],
            )
            assert np.array_equal(plain.pcm, mix) == (plain.gain_db == row["gain_db"])
            count += len(stems) > 1
    assert count


def test_readers_find_stems_beside_their_samples(
    corpus_of: Callable[..., Corpus], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = corpus_of(audio={"stems": True}, corpus="stems-read", splits={"test": [1, 2]})
    rows = {row["id"]: row for row in corpus.samples().to_pylist()}
    shards = sorted(str(path) for path in corpus.shards.rglob("*.tar"))
    for sample in webdataset.WebDataset(shards, shardshuffle=False):
        frames = rows[sample["__key__"]]["frames"]
        stems = decode(sample["stems.flac"]).reshape(-1, frames)
        assert np.array_equal(stems.sum(axis=0, dtype=np.int64), decode(sample["flac"]))
    # It keeps what it extracts by file name alone, for all corpora of this machine.
    monkeypatch.setattr(
        "mlcroissant._src.operation_graph.operations.extract.EXTRACT_PATH", epath.Path(tmp_path)
    )
    described = mlcroissant.Dataset(jsonld=str(corpus.shards / "croissant.json"))
    assert not described.metadata.issues.errors
    sounds = {each["audio/id"].decode(): each for each in described.records("audio")}
    assert {*sounds} == {*rows}
    for name, each in sounds.items():
        assert len(decode(each["audio/audio"])) == rows[name]["frames"]
    assert "KEY.stems.flac" in (corpus.shards / "README.md").read_text(encoding="utf-8")
    assert corpus.facts["stems"]


def read_members(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


def decode(data: bytes) -> np.ndarray:
    return np.asarray(soundfile.read(io.BytesIO(data), dtype="int16")[0])


def test_they_change_neither_the_plan_nor_specs_without_them() -> None:
    plain, kept = (
        Spec.model_validate(merged(TINY, {"audio": audio})) for audio in ({}, {"stems": True})
    )
    assert "stems" not in plain.model_dump()["audio"]
    assert kept.model_dump()["audio"]["stems"]
    assert plain.plan_digest("x") == kept.plan_digest("x")
    assert plain.render_digest() != kept.render_digest()


# `acba` from caption files to shards.


CAPTIONS = read_data("findings/acba_captions.yaml")


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


def test_captions_with_ordering_words_are_left_out(make: Callable[..., Corpus]) -> None:
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


def test_excerpts_of_captioned_clips_are_told(audiocaps: Path, make: Callable[..., Corpus]) -> None:
    assert make().facts["excerpts_of_captioned_clips"] == 0
    corpus = make(max_event_s=2.5)
    assert corpus.facts["excerpts_of_captioned_clips"] == 2 * 14
    assert all(row["excerpts"] == 2 for row in corpus.samples(columns=["excerpts"]).to_pylist())
    assert "28 sounds are excerpts of captioned clips" in (corpus.shards / "README.md").read_text()
