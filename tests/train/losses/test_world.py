"""Two processes that share a batch learn what one learns from the whole."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.kit.loss_batches import LOSSES, make_batch, map_extras, with_numbers
from train.losses.batch import Ragged, World

SCRIPT = Path(__file__).with_name("two_processes.py")
NAMES = (*LOSSES, "dissimilarity", "frames")
# The first process holds 3 rows of 8; then but one, without extras; then none.
CUTS = (3, 1, 0)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each of two processes found."""
    folder = tmp_path_factory.mktemp("two")
    batch = with_numbers(map_extras(make_batch(11, rows=8), _drop_those_of_the_first))
    # Captions of different processes say the same.
    batch = dataclasses.replace(batch, texts=torch.tensor([0, 1, 2, 3, 0, 5, 1, 7]))
    assert len(batch.denied.owner) >= 2
    torch.save({"batch": batch, "cuts": CUTS}, folder / "batch.pt")
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, SCRIPT, folder],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(2)]


def _drop_those_of_the_first(extras: Ragged) -> Ragged:
    kept = extras.owner > 0
    return Ragged(extras.values[kept], extras.owner[kept])


@pytest.mark.parametrize("name", NAMES)
def test_loss_and_gradients_are_those_of_the_joint_batch(
    name: str, results: list[dict[str, Any]]
) -> None:
    for result, cut in product(results, CUTS):
        for own, joint in result[f"{name} {cut}"].values():
            torch.testing.assert_close(own, joint, rtol=0, atol=1e-9)
    _, (weight, *_) = results[0][f"{name} 3"]["gradients"]
    assert weight.abs().max() > 1e-3


def test_rows_come_in_order_of_rank_whatever_their_type(results: list[dict[str, Any]]) -> None:
    for rank, result in enumerate(results):
        seen = result["gathered"]
        assert seen["integers"].tolist() == [0, 1, 10, 11, 12]
        assert seen["pairs"].tolist() == [[0, 0], [1, -1], [10, -10], [11, -11], [12, -12]]
        assert seen["truths"].tolist() == [False, True, True, True, True]
        assert seen["nothing"].shape == (0, 3)
        assert seen["first"] == 2 * rank


def test_the_average_of_the_parts_is_the_mean(results: list[dict[str, Any]]) -> None:
    parts = [result["gathered"]["mean"].item() for result in results]
    assert sum(parts) / 2 == pytest.approx((0 + 1 + 10 + 11 + 12) / 5, abs=1e-9)
    assert [result["gathered"]["mean_of_none"].item() for result in results] == [0, 0]


def test_one_process_is_a_world_of_its_own() -> None:
    world = World()
    rows = torch.tensor([1.0, 2.0])
    assert world.gather(rows) is rows
    assert world.first == 0
    assert world.mean(rows) == 1.5
    assert world.mean(rows[:0]) == 0
