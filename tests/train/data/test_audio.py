"""Audio of a batch becomes features wherever it is computed, at once or in parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from synth.corpus.corpus import Corpus
from tests.kit.tiny_models import save_wav2vec2_bert
from train.config.model import AudioConfig, TowerKind
from train.config.run import TrainConfig
from train.data import audio
from train.data.audio import AudioBatch, count_chunks, feature_cache, find_places
from train.data.loader import Assembler
from train.data.split import TRAIN, SplitData
from train.data.tokenizer import TextTokenizer
from train.model.clap import build_model
from train.model.features import split_chunks
from train.model.loading import transformers_model
from train.model.towers.base import AudioTower, Chunks
from train.model.towers.frames import frame_tower

Made = tuple[Assembler, TrainConfig, AudioTower]


@pytest.fixture
def made(settings: Callable[..., TrainConfig]) -> Made:
    config = settings()
    data = SplitData(Corpus.open(config.corpus), TRAIN, config.mode)
    tower = build_model(config.model, data.corpus.sample_rate, 10).audio_tower
    tokenizer = TextTokenizer.of_texts(data.vocabulary())
    return Assembler.of(data, tokenizer, config, cached=False, tower=tower), config, tower


def audio_of(assembler: Assembler, config: TrainConfig, positions: list[int]) -> AudioBatch:
    return assembler.batch(positions, config.stages[1], 0).audio


def assert_alike(found: Chunks, expected: Chunks) -> None:
    """Equal where the sounds are; behind them there may be anything."""
    count = min(found.mask.shape[1], expected.mask.shape[1])
    assert torch.equal(found.mask[:, :count], expected.mask[:, :count])
    assert not found.mask[:, count:].any()
    assert not expected.mask[:, count:].any()
    torch.testing.assert_close(found.values[found.mask], expected.values[expected.mask])


def test_loader_step_and_cache_give_the_same_features(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    assembler, config, tower = made
    cpu, positions = torch.device("cpu"), [7, 0, 3, 11, 5]
    monkeypatch.setattr(audio, "_TOGETHER", 2)
    in_loader = audio_of(assembler, config, positions)
    assert in_loader.pcm is None
    in_step = audio_of(replace(assembler, tower=None), config, positions)
    assert in_step.features is None
    kept = feature_cache(assembler.data, config, tower, cpu)
    from_cache = audio_of(replace(assembler, cached=True), config, positions)
    assert from_cache.pcm is None
    assert from_cache.features is None
    expected = in_loader.chunks(None, tower, cpu)
    assert_alike(in_step.chunks(None, tower, cpu), expected)
    assert_alike(from_cache.chunks(kept, tower, cpu), expected)
    with pytest.raises(ValueError, match="needs the cache"):
        from_cache.chunks(None, tower, cpu)


@pytest.mark.parametrize("in_loader", [True, False])
def test_parts_are_the_whole_and_hold_only_what_they_need(made: Made, in_loader: bool) -> None:
    assembler, config, tower = made
    whole = audio_of(
        assembler if in_loader else replace(assembler, tower=None), config, [4, 1, 9, 2, 6]
    )
    parts = whole.split(2)
    assert [part.positions for part in parts] == [(4, 1, 9), (2, 6)]
    if not in_loader:
        assert [len(part.pcm) for part in parts if part.pcm is not None] == [3, 2]
    found = [part.chunks(None, tower, torch.device("cpu")) for part in parts]
    joined = Chunks(
        torch.cat([one.values for one in found]), torch.cat([one.mask for one in found])
    )
    assert_alike(joined, whole.chunks(None, tower, torch.device("cpu")))


@pytest.mark.parametrize("samples", [1, 7, 8, 9, 24, 29])
def test_chunks_are_counted_as_the_device_finds_them(samples: int) -> None:
    generator = torch.Generator().manual_seed(samples)
    pcm = torch.randint(-9, 9, (40, samples), generator=generator, dtype=torch.int16)
    for row, sound in enumerate(pcm):
        sound[min(row, samples) :] = 0  # silence at the end, or all of it
        sound[4:12] = 0  # and in the midst
    counts = count_chunks(pcm, 8)
    mask = split_chunks(pcm.float(), 8)[1]
    assert counts.tolist() == mask.sum(dim=1).tolist()
    assert torch.equal(find_places(counts, mask.shape[1]), mask.flatten().nonzero()[:, 0])


def test_what_a_gpu_does_not_compute_is_computed_by_the_loader(
    made: Made, settings: Callable[..., TrainConfig], tmp_path: Path
) -> None:
    assembler, config, _ = made
    model = transformers_model(str(save_wav2vec2_bert(tmp_path / "model")))
    name = str(tmp_path / "model")
    tower = frame_tower(model, AudioConfig(kind=TowerKind.TRANSFORMERS, name=name), 16_000)
    on_gpu = settings(device="cuda")
    made_there = Assembler.of(assembler.data, assembler.tokenizer, on_gpu, False, tower)
    batch = audio_of(made_there, config, [7, 0, 3])
    assert batch.pcm is None
    found = batch.chunks(None, tower, torch.device("meta"))
    assert found.places is not None
    assert {part.device.type for part in (found.values, found.mask, found.places)} == {"meta"}
    here = batch.chunks(None, tower, torch.device("cpu"))
    assert torch.equal(here.places, here.mask.flatten().nonzero()[:, 0])
