"""Segue's trainer as a contender."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.trainer.setting import (
    GRAD_CLIP,
    LEARNING_RATE,
    SEED,
    WEIGHT_DECAY,
    Setup,
    count_parameters,
)
from synth.corpus.corpus import Corpus
from train.config.loss import Loss
from train.config.run import AudioMode, Stage, TrainConfig
from train.config.text import TextSampling
from train.data.audio import AudioBatch, FeatureCache
from train.data.batch import Batch
from train.data.loader import Assembler, Loader
from train.data.split import TRAIN, SplitData
from train.data.tokenizer import TextTokenizer
from train.engine.checkpoint import create_state
from train.engine.ranks import RankProcess
from train.engine.step import build_encoder, train_step
from train.model.clap import clap_config


class Segue:
    """The pieces of `train.engine.loop.train`, put together as it does, with no cache of features.

    Args:
        setup: Of the run.
        mode: Where audio comes from.
        loss: What is minimised.
    """

    def __init__(self, setup: Setup, mode: AudioMode, loss: Loss) -> None:
        config = TrainConfig(
            corpus=Path(setup.corpus),
            out=Path(setup.corpus) / "unused",
            mode=mode,
            model=clap_config(setup.clap),
            stages=(Stage(steps=2 * setup.fed, loss=loss),),
            batch=setup.batch,
            # One main caption a sample, all different: as many texts as the peer encodes.
            text=TextSampling(restatements=False),
            lr=LEARNING_RATE,
            weight_decay=WEIGHT_DECAY,
            grad_clip=GRAD_CLIP,
            seed=SEED,
            device=setup.device,
            precision=setup.precision,
            workers=setup.workers,
            prefetch=setup.prefetch,
            cache_mb=0,
        )
        corpus = Corpus.open(config.corpus)
        tokenizer = TextTokenizer.of_model(config.model.text.name)
        self._config = config
        self._process = RankProcess(0, 1, torch.device(setup.device))
        self._state = create_state(config, corpus.sample_rate, len(tokenizer), self._process)
        data = SplitData(corpus, TRAIN, mode)
        tower = self._state.model.audio_tower
        assembler = Assembler.of(data, tokenizer, config, cached=False, tower=tower)
        self._loader = Loader(assembler, config)
        self._encoder = build_encoder(self._state.model, config, self._process)
        self._fed = setup.fed
        self.parameters = count_parameters(self._state.model)
        self.texts = 0

    def feed(self) -> Iterator[Batch]:
        return self._loader.iterate(0, self._fed)

    def learn(self, batch: Batch) -> Tensor:
        self.texts = len(batch.texts.ids)
        return self._learn(batch, None)

    def held(self) -> Callable[[], Tensor]:
        device, tower = self._state.device, self._state.model.audio_tower
        batch = self._loader.batch(0)
        cache = FeatureCache.of(batch.audio.chunks(None, tower, device))
        audio = AudioBatch(tuple(range(len(batch.audio.positions))))
        batch = replace(batch, audio=audio).to(device)
        return lambda: self._learn(batch, cache)

    def _learn(self, batch: Batch, cache: FeatureCache | None) -> Tensor:
        state = self._state
        figures = train_step(batch, self._config, state, self._encoder, self._process, cache)
        # Not as a number: that would wait for the device, and the trainer does so to log.
        return figures.latest[0]
