"""Batches are prepared ahead by threads that share the processors with torch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from synth.corpus.corpus import Corpus
from tests.kit.waiting import PATIENCE_S
from train.config.run import TrainConfig
from train.data import loader
from train.data.batch import Batch
from train.data.loader import ASKED, Assembler, Loader, compute_alone, share_processors
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


def test_a_thread_that_computes_alone_leaves_the_others_theirs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(ASKED, raising=False)
    monkeypatch.setattr(loader, "processors", lambda: 4)
    with share_processors(1), ThreadPoolExecutor(2, "alone", compute_alone) as pool:
        assert pool.submit(torch.get_num_threads).result() == 1
        assert torch.get_num_threads() == 3
