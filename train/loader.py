"""Batches by global step, prepared ahead in threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from train.audio import AudioBatch
from train.config import TrainConfig
from train.data import Row, SplitData, Texts, numbered
from train.loss import same_meaning
from train.schedule import BatchOrder, place
from train.tokenizer import TextTokenizer, TokenIds


@dataclass(frozen=True, slots=True)
class Batch:
    """All that one step learns from.

    Args:
        step: Global step.
        audio: The sounds.
        texts: Ids of every different text, encoded once each: the members of a minimal-pair group
            share most of their sentences.
        said: Which text each caption is, row by row, then each negative.
        owner: Row that each negative belongs to.
        same: Which captions say the same.
    """

    step: int
    audio: AudioBatch
    texts: TokenIds
    said: Int[Tensor, " captions_and_negatives"]
    owner: Int[Tensor, " negatives"]
    same: Bool[Tensor, "batch batch"]


class Loader:
    """Makes the batch of any step; a resumed run asks for the same steps and gets the same.

    Args:
        data: The split.
        tokenizer: For the texts.
        config: The run.
        cached: Whether features are at hand, so that no audio need be read.
    """

    def __init__(
        self, data: SplitData, tokenizer: TextTokenizer, config: TrainConfig, cached: bool
    ) -> None:
        self._data = data
        self._tokenizer = tokenizer
        self._config = config
        self._cached = cached
        self._orders = [_order(data, config, number) for number in range(len(config.stages))]

    def batch(self, step: int) -> Batch:
        """The batch of a global step."""
        where = place(step, self._config.stages)
        rows = self._data.rows(self._orders[where.stage].batch(where.step).tolist())
        texts = self._data.texts(
            rows,
            self._config.stages[where.stage],
            self._config.restatements,
            self._config.seed,
            step,
        )
        return assemble(self._data, self._tokenizer, rows, texts, self._cached, step)

    def between(self, start: int, stop: int) -> Iterator[Batch]:
        """The batches of steps `start` to `stop - 1`, a few of them made ahead."""
        waiting: deque[Future[Batch]] = deque()
        ahead = start
        with ThreadPoolExecutor(self._config.workers, "segue-batch") as pool:
            try:
                for _ in range(start, stop):
                    while ahead < stop and len(waiting) < self._config.prefetch:
                        waiting.append(pool.submit(self.batch, ahead))
                        ahead += 1
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


def assemble(
    data: SplitData,
    tokenizer: TextTokenizer,
    rows: Sequence[Row],
    texts: Texts,
    cached: bool,
    step: int,
) -> Batch:
    """Audio and texts of the samples in `rows` as one batch."""
    said = [*texts.captions, *texts.negatives]
    positions = tuple(row["position"] for row in rows)
    audio = AudioBatch(positions, None if cached else data.waveforms(rows))
    return Batch(
        step=step,
        audio=audio,
        texts=tokenizer(list(dict.fromkeys(said))),
        said=numbered(said),
        owner=torch.tensor(texts.owner, dtype=torch.long),
        same=same_meaning(numbered(texts.captions), numbered(texts.meanings)),
    )


def _order(data: SplitData, config: TrainConfig, number: int) -> BatchOrder:
    pool = data.pool(config.stages[number])
    return BatchOrder.of(
        pool,
        [data.groups[position] for position in pool],
        config.batch,
        config.keep_groups,
        config.seed,
        f"stage-{number}",
    )
