"""The validation loss, by which the weights to keep are chosen."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from synth.corpus import Corpus
from train.audio import FeatureCache, cache_features
from train.config import Stage, TrainConfig
from train.data import VAL, SplitData
from train.loader import assemble
from train.model import Clap
from train.objective import batch_loss
from train.tokenizer import TextTokenizer


@dataclass(frozen=True)
class Validator:
    """Measures the loss of the last stage on the split `val`, always on the same batches.

    Args:
        data: The split.
        tokenizer: Of the run.
        config: The run.
        stage: The last stage.
        pool: Positions of the samples in play in it.
        cache: Features of the split, where they are kept.
    """

    data: SplitData
    tokenizer: TextTokenizer
    config: TrainConfig
    stage: Stage
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
        stage = config.stages[-1]
        pool = tuple(data.in_play(stage))
        if len(pool) < 2:
            return None
        device = model.scale.log.device
        cache = cache_features(data, model.audio_tower, device, config.cache_mb, _unseen)
        return cls(data, tokenizer, config, stage, pool, cache)

    @torch.no_grad()
    def loss(self, model: Clap) -> float:
        """Mean loss of the batches, by their size, in nats; leaves the model in evaluation mode."""
        model.eval()
        total, count = 0.0, 0
        for start in range(0, len(self.pool), self.config.batch):
            rows = self.data.rows(self.pool[start : start + self.config.batch])
            texts = self.data.texts(rows, self.stage, False, self.config.seed, 0)
            cached = self.cache is not None
            batch = assemble(self.data, self.tokenizer, rows, texts, cached, 0)
            loss = batch_loss(model, batch, self.cache, self.config.precision)
            total += loss.item() * len(rows)
            count += len(rows)
        return total / count


def _unseen(done: int) -> None:
    """Reading the small validation split is not worth a progress bar."""
