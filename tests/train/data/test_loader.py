"""The loader: audio becomes features anywhere, frames are told, processors are shared."""

from __future__ import annotations

import json
import tarfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from synth.base.errors import SpecError
from synth.corpus.corpus import Corpus
from synth.truth.frames import Audibility
from tests.kit.tiny_models import save_wav2vec2_bert
from tests.kit.waiting import PATIENCE_S
from train.config.model import AudioConfig, HeadConfig, HeadKind, ModelConfig, TokenKind, TowerKind
from train.config.run import AudioMode, Stage, TrainConfig
from train.data import audio, loader
from train.data.audio import AudioBatch, count_chunks, feature_cache, find_places
from train.data.batch import Batch
from train.data.frames import sounds_of, text_of, token_states
from train.data.loader import (
    ASKED,
    Assembler,
    Loader,
    compute_alone,
    refuse_unsuitable,
    share_processors,
)
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


# When the sounds of a batch are heard, as the loader tells it.


RATE, FRAME = 16_000, 640


def test_tokens_of_40_ms_are_the_frames_of_the_shards(data: SplitData) -> None:
    stored = {}
    for path in data.corpus.shards.rglob("*.tar"):
        with tarfile.open(path) as tar:
            for member in tar:
                if member.name.endswith(".json"):
                    told = json.loads(tar.extractfile(member).read())  # type: ignore[union-attr]
                    stored[told["id"]] = told["heard_40ms"]
    rows = data.rows(range(len(data)))
    labels = sounds_of(data, rows)
    assert set(labels) == {"dog", "rain", "siren", "wind"}
    states = token_states(data, rows, labels, FRAME)
    for row, found in zip(rows, states, strict=True):
        expected = torch.full_like(found, Audibility.FAINT)
        expected[:, : -(-row["frames"] // FRAME)] = Audibility.ABSENT
        for told in stored[row["id"]]:
            line = expected[labels.index(told["label"])]
            for name, state in (("faint", Audibility.FAINT), ("clear", Audibility.CLEAR)):
                for start, stop in told[name]:
                    line[start:stop] = state
        assert torch.equal(found, expected)


def test_a_crop_has_the_tokens_of_its_part(data: SplitData) -> None:
    (row,) = data.rows([3])
    (whole,) = token_states(data, [row], ["dog", "rain", "siren"], FRAME)
    part = replace(row, crop=(5 * FRAME, 20 * FRAME))
    (found,) = token_states(data, [part], ["dog", "rain", "siren"], FRAME)
    assert torch.equal(found, whole[:, 5:25])


def test_of_samples_without_labelled_times_nothing_is_judged(
    build_corpus: Callable[..., Path], settings: Callable[..., TrainConfig]
) -> None:
    folder = build_corpus(source={"jam": {"tracks": 16}}, recipe="negation", splits={"train": [1]})
    music = SplitData(Corpus.open(folder), "train", AudioMode.SHARDS)
    rows = music.rows(range(3))
    assert sounds_of(music, rows) == ()
    assert (token_states(music, rows, ["dog"], FRAME) == Audibility.FAINT).all()
    with pytest.raises(SpecError, match="`frames` needs sounds that are named by labels"):
        refuse_unsuitable(music, Stage(steps=1, frames=1.0))
    refuse_unsuitable(music, Stage(steps=1))


def test_all_sounds_are_known(data: SplitData, settings: Callable[..., TrainConfig]) -> None:
    tokenizer = TextTokenizer.of_texts({*data.vocabulary(), *map(text_of, data.find_labels())})
    model = ModelConfig(dim=16, frames=True, audio=AudioConfig(width=8, mels=16))
    tower = build_model(model, RATE, len(tokenizer)).audio_tower
    assembler = Assembler.of(data, tokenizer, settings(model=model), cached=False, tower=tower)
    stage = Stage(steps=1, frames=1.0)
    everywhere = list(range(12))
    whole = assembler.batch(everywhere, stage, 0)
    part = assembler.batch(everywhere[4:7], stage, 0, (4, 3, 5), 1, everywhere)
    width = part.sounds.states.shape[2]
    assert torch.equal(part.sounds.states, whole.sounds.states[4:7, :, :width])
    ids = [
        each.texts.ids[each.sounds.texts].tolist()
        for each in (whole, part)
        if each.sounds is not None
    ]
    assert [[i for i in text if i] for text in ids[0]] == [
        [i for i in text if i] for text in ids[1]
    ]
    assert assembler.batch(everywhere, Stage(steps=1), 0).sounds is None


def test_a_model_without_tokens_over_time_is_refused(
    settings: Callable[..., TrainConfig], clap_folder: Path
) -> None:
    with pytest.raises(ValueError, match=r"frames of a stage needs model\.frames: true"):
        TrainConfig.model_validate(
            settings().model_dump() | {"stages": [{"steps": 1, "frames": 0.5}]}
        )
    pooled = AudioConfig(
        kind=TowerKind.TRANSFORMERS, name=str(clap_folder), tokens=TokenKind.POOLED
    )
    model = ModelConfig(frames=True, head=HeadConfig(kind=HeadKind.MLP), audio=pooled)
    with pytest.raises(SpecError, match=r"`model\.frames` needs tokens over time"):
        build_model(model, 48_000, 5)


# Batches are prepared ahead by threads that share the processors with torch.


@pytest.mark.parametrize(("workers", "prefetch"), [(4, 1), (4, 3), (3, 8)])
def test_no_worker_is_idle_whatever_the_prefetch(
    settings: Callable[..., TrainConfig],
    monkeypatch: pytest.MonkeyPatch,
    workers: int,
    prefetch: int,
) -> None:
    """Each of the first batches waits until every worker has begun one."""
    config = settings(workers=workers, prefetch=prefetch)
    data = SplitData(Corpus.open(config.corpus), TRAIN, config.mode)
    tokenizer = TextTokenizer.of_texts(data.vocabulary())
    loader = Loader(Assembler.of(data, tokenizer, config, cached=True), config)
    make, all_at_work = loader.batch, threading.Barrier(workers)

    def meets(step: int) -> Batch:
        if step < workers:
            all_at_work.wait(PATIENCE_S)  # only a loader that leaves workers idle waits so long
        return make(step)

    monkeypatch.setattr(loader, "batch", meets)
    assert [batch.step for batch in loader.iterate(0, 12)] == list(range(12))


@pytest.mark.parametrize(
    ("there", "workers", "expected"), [(16, 4, 12), (2, 1, 1), (1, 1, 1), (4, 9, 1)]
)
def test_torch_gets_the_processors_that_the_loader_leaves(
    monkeypatch: pytest.MonkeyPatch, there: int, workers: int, expected: int
) -> None:
    monkeypatch.delenv(ASKED, raising=False)
    monkeypatch.setattr(loader, "processors", lambda: there)
    before = torch.get_num_threads()
    with share_processors(workers):
        assert torch.get_num_threads() == expected
    assert torch.get_num_threads() == before


def test_what_the_user_asks_for_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ASKED, "3")
    monkeypatch.setattr(loader, "processors", lambda: 64)
    before = torch.get_num_threads()
    with share_processors(1):
        assert torch.get_num_threads() == before


def test_who_computes_alone_takes_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ASKED, raising=False)
    monkeypatch.setattr(loader, "processors", lambda: 4)
    with share_processors(1), ThreadPoolExecutor(2, "alone", compute_alone) as pool:
        assert pool.submit(torch.get_num_threads).result() == 1
        assert torch.get_num_threads() == 3
