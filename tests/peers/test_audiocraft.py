"""audiocraft's own datasets read the export `audiocraft`, without the models beside them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from synth.corpus.corpus import Corpus
from tests.kit.export_corpora import Exported

PACKAGES = ("data", "modules", "utils")
MODELS = ("spacy", "xformers", "xformers.ops")
"""What its conditioners import for text models and attention."""


@pytest.fixture
def audiocraft(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, torchaudio: None
) -> types.SimpleNamespace:
    """Its data modules; the packages they are in would import every model."""
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text("default: {}\n", encoding="utf-8")
    monkeypatch.setenv("AUDIOCRAFT_CONFIG", str(cluster))
    spec = importlib.util.find_spec("audiocraft")
    assert spec is not None
    assert spec.submodule_search_locations
    (root,) = map(Path, spec.submodule_search_locations)
    importlib.import_module("transformers")  # looks for what stands in below
    for name in MODELS:
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            stand_in = MagicMock(__spec__=ModuleSpec(name, None), __path__=[])
            monkeypatch.setitem(sys.modules, name, stand_in)
    for name in ("", *PACKAGES):
        package = types.ModuleType(".".join(filter(None, ("audiocraft", name))))
        package.__path__ = [str(root / name)]
        monkeypatch.setitem(sys.modules, package.__name__, package)
    names = ("audio_dataset", "sound_dataset", "music_dataset")
    return types.SimpleNamespace(
        **{name: importlib.import_module(f"audiocraft.data.{name}") for name in names}
    )


@pytest.fixture
def folder(exported: Exported, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The export, where audiocraft is started."""
    folder = exported(corpus, "audiocraft")
    monkeypatch.chdir(folder)
    return folder


def options(corpus: Corpus) -> dict[str, Any]:
    return {"sample_rate": corpus.sample_rate, "channels": 1, "shuffle": False}


def test_it_lists_the_files_as_audiocraft_does(
    audiocraft: Any, folder: Path, corpus: Corpus
) -> None:
    for split in corpus.splits:
        listed = audiocraft.audio_dataset.load_audio_meta(folder / split / "data.jsonl")
        found = audiocraft.audio_dataset.find_audio_files(f"audio/{split}", minimal=False)
        assert sorted(listed) == found
        assert len(listed) == corpus.samples(split).num_rows


def test_its_datasets_read_every_sample(audiocraft: Any, folder: Path, corpus: Corpus) -> None:
    sound, music = audiocraft.sound_dataset.SoundDataset, audiocraft.music_dataset.MusicDataset
    for split in corpus.splits:
        rows = corpus.samples(split).to_pylist()
        for kind in (sound, music):
            dataset = kind.from_meta(split, **options(corpus))
            assert len(dataset) == len(rows)
            for number, row in enumerate(rows):
                audio, info = dataset[number]
                stored = corpus.stored_pcm(split, row["shard"], row["offset"], row["size"])
                assert np.array_equal(audio.numpy(), stored[np.newaxis] / np.float32(32768))
                assert Path(info.meta.path) == folder / "audio" / split / f"{row['id']}.flac"
                assert info.description.lower() == row["caption"].lower()
                told = info.to_condition_attributes().text["description"]
                assert told.lower() == row["caption"].lower()


def test_with_the_settings_of_the_readme_no_sample_is_cut(
    audiocraft: Any, folder: Path, corpus: Corpus
) -> None:
    rows = {row["id"]: row for row in corpus.samples("test").to_pylist()}
    dataset = audiocraft.sound_dataset.SoundDataset.from_meta(
        "test", segment_duration=2.0, min_segment_ratio=1.0, num_samples=100, **options(corpus)
    )
    _, infos = dataset.collater([dataset[number] for number in range(100)])
    assert {info.seek_time for info in infos} == {0}
    for info in infos:
        row = rows[Path(info.meta.path).stem]
        assert info.n_frames == row["frames"]
        assert info.description == row["caption"].lower()
