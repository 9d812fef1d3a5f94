"""The order of batches is a pure function of the step."""

import numpy as np
import pytest

from synth.base.errors import SpecError
from train.data.order import BatchOrder

POOL = np.arange(0, 60, 2)
GROUPS = [f"g{number // 3}" for number in range(30)]


def order(keep_groups: bool, seed: int = 0, batch: int = 8) -> BatchOrder:
    return BatchOrder.of(POOL, GROUPS, batch, keep_groups, seed, "stage-0")


@pytest.mark.parametrize("keep_groups", [False, True])
def test_a_step_is_the_same_whenever_it_is_asked_for(keep_groups: bool) -> None:
    forward = [order(keep_groups).batch(step).tolist() for step in range(20)]
    backward = [order(keep_groups).batch(step).tolist() for step in reversed(range(20))]
    assert forward == backward[::-1]
    other = [order(keep_groups, seed=1).batch(step).tolist() for step in range(20)]
    assert forward != other


@pytest.mark.parametrize("keep_groups", [False, True])
def test_an_epoch_holds_no_sample_twice_and_all_but_a_batch(keep_groups: bool) -> None:
    made = order(keep_groups)
    for epoch in range(3):
        steps = range(epoch * made.batches, (epoch + 1) * made.batches)
        seen = [sample for step in steps for sample in made.batch(step).tolist()]
        assert len(seen) == len(set(seen)) > len(POOL) - 8
        assert set(seen) <= set(POOL.tolist())
    assert made.batch(0).tolist() != made.batch(made.batches).tolist()


def test_all_samples_are_seen_in_time() -> None:
    made = order(keep_groups=False)
    seen = {sample for step in range(5 * made.batches) for sample in made.batch(step).tolist()}
    assert seen == set(POOL.tolist())


def test_groups_share_a_batch() -> None:
    made = order(keep_groups=True)
    group = dict(zip(POOL.tolist(), GROUPS, strict=True))
    for step in range(10):
        names = [group[sample] for sample in made.batch(step).tolist()]
        assert len(names) <= 8
        assert all(names.count(name) == 3 for name in names)


def test_a_pool_smaller_than_a_batch_is_one_batch() -> None:
    assert sorted(order(keep_groups=False, batch=64).batch(3).tolist()) == POOL.tolist()


def test_a_group_that_fits_no_batch_is_told() -> None:
    with pytest.raises(SpecError, match="a group of 3 samples does not fit a batch of 2"):
        order(keep_groups=True, batch=2)


@pytest.mark.parametrize("ranks", [2, 3])
def test_processes_share_out_a_batch(ranks: int) -> None:
    made = order(keep_groups=False)
    for step in range(5):
        parts = [made.batch(step, rank, ranks).tolist() for rank in range(ranks)]
        assert [sample for part in parts for sample in part] == made.batch(step).tolist()
    with pytest.raises(SpecError, match="cannot be shared by 9"):
        made.batch(0, 0, 9)
