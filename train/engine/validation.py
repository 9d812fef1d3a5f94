"""The validation loss, by which the weights to keep are chosen."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from synth.corpus.corpus import Corpus
from train.config.run import TrainConfig
from train.config.text import TextSampling
from train.data.audio import FeatureCache, feature_cache
from train.data.loader import Assembler
from train.data.split import VAL, SplitData
from train.data.tokenizer import TextTokenizer
from train.engine.step import Encoder, compute_loss, load_inputs
from train.losses.batch import Alone
from train.model.clap import Clap


@dataclass(frozen=True)
class Validator:
    """Measures the loss of the last stage on the split `val`, always on the same batches.

    Args:
        config: The run.
        assembler: Makes the batches, each sample described by its main caption.
        pool: Positions of the samples in play in the last stage.
        cache: Features of the split, where they are kept.
    """

    config: TrainConfig
    assembler: Assembler
    pool: tuple[int, ...]
    cache: FeatureCache | None

    @classmethod
    def of(
        cls, corpus: Corpus, tokenizer: TextTokenizer, config: TrainConfig, model: Clap
    ) -> Validator | None:
        """A validator, or None where fewer than two samples of `val` are in play."""
        if VAL not in corpus.splits:
            return None
        data = SplitData(corpus, VAL, config.mode)
        pool = tuple(data.find_in_play(config.stages[-1]))
        if len(pool) < 2:
            return None
        plain = config.model_copy(update={"text": TextSampling(restatements=False)})
        cache = feature_cache(data, config, model.audio_tower, model.scale.log.device)
        assembler = Assembler.of(data, tokenizer, plain, cached=cache is not None)
        assembler.check(config.stages[-1], pool, model.audio_tower.longest)
        return cls(config, assembler, pool, cache)

    @torch.no_grad()
    def loss(self, model: Clap) -> float:
        """Mean loss of the batches in nats, by their size; leaves the model in evaluation mode."""
        model.eval()
        config = self.config
        encoder = Encoder(model, config.precision)
        total = 0.0
        for start in range(0, len(self.pool), config.batch):
            positions = self.pool[start : start + config.batch]
            batch = self.assembler.batch(positions, config.stages[-1], config.steps - 1)
            outputs = encoder(*load_inputs(batch, model, self.cache))
            # One process validates, and holds the whole batch.
            total += compute_loss(outputs, batch, config, Alone()).item() * len(positions)
        return total / len(self.pool)
