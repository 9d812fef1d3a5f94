"""Batches are prepared ahead by as many threads as the settings say."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from synth.corpus.corpus import Corpus
from tests.kit.waiting import PATIENCE_S
from train.config.run import TrainConfig
from train.data.batch import Batch
from train.data.loader import Assembler, Loader, Share
from train.data.split import TRAIN, SplitData
from train.data.tokenizer import TextTokenizer


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
    loader = Loader(Assembler.of(data, tokenizer, config, cached=True), config, Share())
    make, all_at_work = loader.batch, threading.Barrier(workers)

    def meets(step: int) -> Batch:
        if step < workers:
            all_at_work.wait(PATIENCE_S)  # only a loader that leaves workers idle waits so long
        return make(step)

    monkeypatch.setattr(loader, "batch", meets)
    assert [batch.step for batch in loader.iterate(0, 12)] == list(range(12))
