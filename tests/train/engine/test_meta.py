"""A whole training step on the device that holds no numbers: what asks for one fails at once.

A GPU would have to be waited for there. A tensor that was left on the CPU fails, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from synth.corpus.corpus import Corpus
from tests.kit.loss_batches import LOSSES
from train.config.loss import Loss, TeminalA
from train.config.run import Stage, TrainConfig
from train.data.audio import FeatureCache
from train.data.batch import Batch
from train.data.loader import Assembler, Loader
from train.data.split import TRAIN, SplitData
from train.data.tokenizer import TextTokenizer
from train.engine.checkpoint import State, create_state, settle
from train.engine.ranks import RankProcess
from train.engine.step import build_encoder, train_step

META = torch.device("meta")
Settings = Callable[..., TrainConfig]


@pytest.fixture(autouse=True)
def meta_is_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    """AdamW steps there in one kernel, as on a GPU, although torch's list does not say so."""
    name = "_get_fused_kernels_supported_devices"
    module = sys.modules["torch.optim.optimizer"]  # torch hides it as an attribute
    kinds = [*getattr(module, name)(), "meta"]
    monkeypatch.setattr(module, name, lambda: kinds)


def prepare(config: TrainConfig, process: RankProcess) -> tuple[State, Batch]:
    """A model there, and a batch from the loader as it is for a GPU."""
    data = SplitData(Corpus.open(config.corpus), TRAIN, config.mode)
    tokenizer = TextTokenizer.of_texts(data.vocabulary())
    state = create_state(config, data.corpus.sample_rate, len(tokenizer), process)
    tower = state.model.audio_tower
    assembler = Assembler.of(data, tokenizer, config, cached=False, tower=tower)
    loader = Loader(replace(assembler, hears=False), config)
    return state, loader.batch(0)


def learn(state: State, batch: Batch, config: TrainConfig, cache: FeatureCache | None) -> None:
    process = RankProcess(0, 1, META)
    encoder = build_encoder(state.model, config, process)
    figures = train_step(batch, config, state, encoder, process, cache)
    learning = [one for one in state.model.parameters() if one.requires_grad]
    assert all(one.grad is not None and one.grad.device == META for one in learning)
    assert figures.latest.device == figures.scale.device == META
    with pytest.raises((RuntimeError, NotImplementedError)):
        settle(state, config)  # the only place that waits for the device


@pytest.mark.parametrize("accumulate", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_no_loss_waits_for_the_device(settings: Settings, loss: Loss, accumulate: int) -> None:
    stages = (Stage(steps=5, loss=loss, dissimilarity=0.1),)
    config = settings(stages=stages, accumulate=accumulate, ema=0.5, crop_s=1.0)
    state, batch = prepare(config, RankProcess(0, 1, META))
    if isinstance(loss, TeminalA):
        batch = replace(batch, views=batch.views % 2)
    assert batch.audio.pcm.dtype == torch.int16
    learn(state, batch, config, None)


def test_features_that_are_kept_on_the_device_are_not_waited_for(settings: Settings) -> None:
    config = settings()
    state, batch = prepare(config, RankProcess(0, 1, META))
    on_cpu, _ = prepare(config, RankProcess(0, 1, torch.device("cpu")))
    chunks = batch.audio.chunks(None, on_cpu.model.audio_tower, torch.device("cpu"))
    kept = FeatureCache.of(chunks)
    there = replace(chunks, values=chunks.values.to(META), mask=chunks.mask.to(META))
    audio = replace(batch.audio, positions=tuple(range(len(batch.audio.positions))), pcm=None)
    learn(state, replace(batch, audio=audio), config, FeatureCache(there, kept.counts))
