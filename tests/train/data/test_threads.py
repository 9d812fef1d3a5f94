"""Torch and the loader share the processors of this process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from train.data import loader
from train.data.loader import ASKED, compute_alone, share_processors


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
