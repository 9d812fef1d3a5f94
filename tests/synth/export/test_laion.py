"""48 kHz shards, read in the ways of LAION-CLAP's and open_clip's loaders.

Neither can be imported as a whole here, so their contracts are written out: which files they look
for, which members they take, what they make of them. Where open_clip's training package is
installed, its own functions are called.
"""

from __future__ import annotations

import importlib.util
import io
import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import webdataset

from pipelines.export import export_corpus
from synth.base.errors import CorpusError, SpecError
from synth.base.units import resampled_frames
from synth.corpus.corpus import Corpus
from synth.export.items import list_shards
from synth.export.laion import count_longer
from tests.kit.cases import cases
from tests.kit.export_corpora import WIDE, Exported, built

SPLITS = {"wide": ("train", "valid", "test"), "tiny": ("train", "test")}


def laion_clap(folder: Path, name: str, split: str, max_len: int = 480_000) -> Iterator[Any]:
    """What LAION-CLAP's loader makes of `--datasetpath folder --datasetnames name`.

    The tars are the keys of sizes.json. Of each sample it decodes the FLAC at whatever rate it
    has, takes channel 0, makes 16-bit steps of it, and fills up or crops to `max_len`; of the JSON
    it takes `text`, a random one of a list of several, and `tag`.
    """
    place = folder / name / split
    tars = [str(place / tar) for tar in json.loads((place / "sizes.json").read_text())]
    for sample in webdataset.WebDataset(tars, shardshuffle=False):
        audio, rate = soundfile.read(io.BytesIO(sample["flac"]), dtype="float32", always_2d=True)
        quantised = (np.clip(audio.T[0], -1, 1) * 32767).astype(np.int16)
        document = json.loads(sample["json"])
        texts = document["text"]
        assert isinstance(texts, list)
        assert all(isinstance(text, str) and text for text in texts)
        missing = max_len - len(quantised)
        yield {
            "key": sample["__key__"],
            "rate": rate,
            "channels": audio.shape[1],
            "frames": len(quantised),
            "waveform": np.pad(quantised, (0, missing)) if missing > 0 else quantised,
            "texts": texts,
            "tag": document["tag"],
            "document": document,
        }


@cases("which", ["corpus", "wide"])
def test_laion_clap_finds_48_khz_mono_and_true_texts(
    which: str, exported: Exported, request: pytest.FixtureRequest
) -> None:
    corpus: Corpus = request.getfixturevalue(which)
    folder = exported(corpus, "laion")
    rows = {row["id"]: row for row in corpus.samples().to_pylist()}
    found = [
        each for split in SPLITS[corpus.name] for each in laion_clap(folder, corpus.name, split)
    ]
    assert [each["key"] for each in found] == list(rows)
    for each in found:
        row = rows[each["key"]]
        assert (each["rate"], each["channels"]) == (48_000, 1)
        assert each["frames"] == resampled_frames(row["frames"], row["sample_rate"], 48_000)
        assert len(each["waveform"]) == 480_000
        assert each["texts"] == [row["caption"], *(one["text"] for one in row["positives"])]
        assert not set(each["texts"]) & {one["text"] for one in row["negatives"]}
        assert each["tag"] == list(dict.fromkeys(row["labels"]))
        assert each["document"]["original_data"]["frames"] == each["frames"]
    assert len({tuple(each["document"]["original_data"]) for each in found}) == 1


def test_flac_at_48_khz_is_not_encoded_again(wide: Corpus, exported: Exported) -> None:
    for split, own in zip(SPLITS["wide"], wide.splits, strict=True):
        place = exported(wide, "laion") / "wide" / split
        sizes = json.loads((place / "sizes.json").read_text())
        assert set(sizes) == {path.name for path in place.glob("*.tar")}
        samples = []
        for name, size in sizes.items():
            tar = list(webdataset.WebDataset(str(place / name), shardshuffle=False))
            assert size == len(tar)
            samples += tar
        rows = {row["id"]: row for row in wide.samples(own).to_pylist()}
        assert len(samples) == len(rows)
        for sample in samples:
            row = rows[sample["__key__"]]
            pcm, _ = soundfile.read(io.BytesIO(sample["flac"]), dtype="int16")
            stored = wide.stored_pcm(row["split"], row["shard"], row["offset"], row["size"])
            assert np.array_equal(pcm, stored)
            assert len(sample["flac"]) == row["size"]
    assert "Every sample has 480,000 frames" in (exported(wide, "laion") / "README.md").read_text()


def test_resampling_keeps_the_sound(corpus: Corpus, exported: Exported) -> None:
    first = next(laion_clap(exported(corpus, "laion"), "tiny", "train"))
    row = corpus.samples("train").to_pylist()[0]
    stored = corpus.stored_pcm(row["split"], row["shard"], row["offset"], row["size"])
    every_third = first["waveform"][: first["frames"] : 3].astype(np.float64)
    wanted = stored.astype(np.float64)
    gain = every_third @ wanted / (wanted @ wanted)
    assert 0.8 < gain < 1.001  # lower where what lies between samples would have clipped
    assert np.abs(every_third - gain * wanted).max() < 0.02 * np.abs(wanted).max()


def test_samples_that_loaders_cut_are_refused_unless_asked_for(
    corpus: Corpus,
    exported: Exported,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    audio = {"sample_rate": 16000, "length": "exact 12 s"}
    long = built(tmp_path_factory, WIDE | {"corpus": "long", "audio": audio})
    with pytest.raises(CorpusError, match="18 of 18 samples last longer than 10 s") as refused:
        export_corpus(long, "laion", tmp_path / "out")
    assert "length: exact 10 s" in refused.value.fix
    assert "--allow-long" in refused.value.fix
    assert not (tmp_path / "out").exists()
    export_corpus(long, "laion", tmp_path / "out", ["test"], allow_long=True)
    assert "6 samples do not last 10 s" in (tmp_path / "out" / "README.md").read_text()
    assert "144 samples do not last 10 s" in (exported(corpus, "laion") / "README.md").read_text()
    lasting = sorted(
        row["frames"] / row["sample_rate"] for row in corpus.samples("test").to_pylist()
    )
    shards = list_shards(corpus, ["test"])
    for limit in (lasting[-1], lasting[len(lasting) // 2]):
        assert count_longer(shards, limit) == sum(seconds > limit for seconds in lasting)
    assert count_longer((), 0.0) == 0
    with pytest.raises(SpecError, match="--allow-long is for --to laion"):
        export_corpus(corpus, "nemo", tmp_path / "other", allow_long=True)


@pytest.fixture
def open_clip_data(monkeypatch: pytest.MonkeyPatch) -> Any:
    """open_clip's own loader module; torchvision, which it needs for images only, may be absent."""
    if importlib.util.find_spec("open_clip_train") is None:
        pytest.skip("open_clip's training package is not installed")
    if importlib.util.find_spec("torchvision") is None:
        stand_in = types.ModuleType("torchvision")
        stand_in.datasets = types.ModuleType("torchvision.datasets")  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "torchvision", stand_in)
        monkeypatch.setitem(sys.modules, "torchvision.datasets", stand_in.datasets)
    monkeypatch.delitem(sys.modules, "open_clip_train.data", raising=False)
    return importlib.import_module("open_clip_train.data")


def test_open_clips_own_functions_size_and_group_the_shards(
    open_clip_data: Any, wide: Corpus, exported: Exported
) -> None:
    place = exported(wide, "laion") / "wide" / "train"
    names = sorted(json.loads((place / "sizes.json").read_text()))
    numbers = [name.removesuffix(".tar").rsplit("-", 1)[1] for name in names]
    urls = str(place / f"wide-train-{{{numbers[0]}..{numbers[-1]}}}.tar")
    rows = wide.samples("train").to_pylist()
    assert open_clip_data.get_dataset_size(urls) == (len(rows), len(names))
    expanded, _ = open_clip_data.expand_urls(urls)
    streams = open_clip_data.url_opener({"url": url} for url in expanded)
    # webdataset 1 ends each tar with an empty mark, which open_clip's function does not know yet.
    members = (member for member in open_clip_data.tar_file_expander(streams) if member)
    found = list(open_clip_data.group_by_keys_nothrow(members))
    assert [sample["__key__"] for sample in found] == [row["id"] for row in rows]
    assert all({"flac", "json"} <= set(sample) for sample in found)
