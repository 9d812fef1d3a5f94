"""The validation loss, by which the weights to keep are chosen."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil

import numpy as np
import torch
from jaxtyping import Int

from synth.corpus.corpus import Corpus
from train.config.run import TrainConfig
from train.config.text import TextSampling
from train.data.audio import FeatureCache, feature_cache
from train.data.loader import Assembler
from train.data.split import VAL, SplitData
from train.data.tokenizer import TextTokenizer
from train.engine.ranks import RankProcess
from train.engine.step import Encoder, compute_loss, load_parts
from train.losses.batch import World
from train.model.clap import Clap


@dataclass(frozen=True)
class Validator:
    """Measures the loss of the last stage on the split `val`, always on the same batches.

    Args:
        assembler: Makes the batches, each sample described by its main caption.
        pool: Positions of the samples in play in the last stage.
    """

    config: TrainConfig
    assembler: Assembler
    pool: Int[np.ndarray, " samples"]
    cache: FeatureCache | None

    @classmethod
    def of(
        cls, corpus: Corpus, tokenizer: TextTokenizer, config: TrainConfig, model: Clap
    ) -> Validator | None:
        """A validator, or None where fewer than two samples of `val` are in play."""
        if VAL not in corpus.splits:
            return None
        data = SplitData(corpus, VAL, config.mode)
        pool = data.find_in_play(config.stages[-1])
        if len(pool) < 2:
            return None
        plain = config.model_copy(update={"text": TextSampling(restatements=False)})
        tower = model.audio_tower
        cache = feature_cache(data, config, tower, model.scale.log.device)
        assembler = Assembler.of(data, tokenizer, plain, cached=cache is not None, tower=tower)
        assembler.check(config.stages[-1], pool, tower.longest)
        return cls(config, assembler, pool, cache)

    @property
    def batches(self) -> list[Int[np.ndarray, " _batch"]]:
        """Positions of the samples of each batch.

        The loss of a batch grows with its size, and that of a single sample is 0: sizes differ by
        one at most, and are `config.batch` at most (3 where that is 2).
        """
        count = min(ceil(len(self.pool) / self.config.batch), len(self.pool) // 2)
        ends = [ceil(len(self.pool) * number / count) for number in range(count + 1)]
        return [self.pool[start:stop] for start, stop in pairwise(ends)]

    @torch.no_grad()
    def loss(self, model: Clap, process: RankProcess) -> float:
        """Measure the loss, every process on some of the batches.

        None waits long for the others, as it would in a collective call that has a timeout.

        Args:
            model: The model; equal on all processes, but for statistics of batch norms, which
                become the first one's. Is left in evaluation mode.

        Returns:
            Mean loss of the batches in nats, by their size; the same on every process.
        """
        process.share_statistics(model)
        model.eval()
        config = self.config
        encoder = Encoder(model, config.precision)
        batches = self.batches
        totals = torch.zeros(len(batches), dtype=torch.float64)
        for number in range(process.rank, len(batches), process.ranks):
            positions = batches[number]
            batch = self.assembler.batch(positions.tolist(), config.stages[-1], config.steps - 1)
            batch = batch.to(model.scale.log.device)
            (load,) = load_parts(batch, model, self.cache)
            outputs = encoder(*load())
            # This process holds the whole batch.
            loss = compute_loss(outputs, batch, config, World()).item()
            totals[number] = loss * len(positions)
        # Added up in the order of the batches, however many processes there are.
        total: float = sum(process.sum(totals).tolist())
        return total / len(self.pool)
