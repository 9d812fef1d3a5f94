"""The order of batches is a pure function of the step."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

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


def pack(sizes: list[int], batch: int, seed: int = 0) -> tuple[BatchOrder, list[int]]:
    """The order of groups of these sizes, and the group of each sample."""
    groups = [number for number, size in enumerate(sizes) for _ in range(size)]
    pool = np.arange(len(groups), dtype=np.int64)
    names = [str(group) for group in groups]
    return BatchOrder.of(pool, names, batch, True, seed, "stage-0"), groups


def test_one_large_group_leaves_the_batches_full() -> None:
    order, _ = pack([3] * 700 + [20], 64)
    assert order.batches == 34
    for epoch in range(2):
        loads = [len(order.batch(epoch * 34 + step)) for step in range(34)]
        assert sum(loads) == 3 * 700 + 20
        assert min(loads) >= 60
        assert max(loads) <= 64


@given(
    st.lists(st.integers(1, 12), min_size=2, max_size=50),
    st.integers(12, 40),
    st.integers(1, 3),
    st.integers(0, 5),
)
def test_groups_of_any_sizes_are_packed_whole(
    sizes: list[int], batch: int, ranks: int, seed: int
) -> None:
    order, groups = pack(sizes, batch, seed)
    assume(order.per_batch >= ranks)
    for epoch in range(2):
        steps = range(epoch * order.batches, (epoch + 1) * order.batches)
        loads, seen = [], list[int]()
        for step in steps:
            parts = [order.batch(step, rank, ranks).tolist() for rank in range(ranks)]
            assert all(parts)
            joint = [sample for part in parts for sample in part]
            assert joint == order.batch(step).tolist()
            for part in parts:
                held = [groups[sample] for sample in part]
                assert all(held.count(group) == sizes[group] for group in held)
            loads.append(len(joint))
            seen += joint
        assert len(seen) == len(set(seen))
        assert max(loads) <= batch
        # The naive oracle: a group that was left out fits nowhere.
        if len(set(sizes)) > 1:
            left = {groups[sample] for sample in set(range(len(groups))) - set(seen)}
            assert all(load + sizes[group] > batch for load in loads for group in left)
            assert sum(sizes[group] for group in left) * 2 < batch
