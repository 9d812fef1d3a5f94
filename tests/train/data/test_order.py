"""Which samples a batch holds is a pure function of the step, and follows the weights."""

from __future__ import annotations

import math
import re
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from synth.base.errors import SpecError
from synth.base.packing import pack_sizes
from synth.base.rng import Randomness
from train.data.order import BatchOrder, Blend, Epoch, Stream

POOL = np.arange(0, 60, 2)
GROUPS = np.arange(30) // 3


def order(keep_groups: bool, seed: int = 0, batch: int = 8) -> BatchOrder:
    return BatchOrder.of(POOL, GROUPS, batch, keep_groups, seed, "stage-0")


def test_a_small_pool_is_one_batch_and_what_fits_none_is_told() -> None:
    assert sorted(order(keep_groups=False, batch=64).batch(3).tolist()) == POOL.tolist()
    with pytest.raises(SpecError, match="a group of 3 samples does not fit a batch of 2"):
        order(keep_groups=True, batch=2)
    with pytest.raises(SpecError, match="cannot be shared by 9"):
        order(keep_groups=False).batch(0, 0, 9)


def pack(sizes: list[int], batch: int, seed: int = 0) -> tuple[BatchOrder, list[int]]:
    """The order of groups of these sizes, and the group of each sample."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    pool = np.arange(len(groups))
    return BatchOrder.of(pool, groups, batch, True, seed, "stage-0"), groups.tolist()


def test_one_large_group_leaves_the_batches_full() -> None:
    order, _ = pack([3] * 700 + [20], 64)
    assert order.batches == 34
    for epoch in range(2):
        loads = [len(order.batch(epoch * 34 + step)) for step in range(34)]
        assert sum(loads) == 3 * 700 + 20
        assert min(loads) >= 60
        assert max(loads) <= 64


def test_a_sample_that_would_be_alone_in_a_batch_is_told() -> None:
    """Alone there is nothing to tell it apart from: its loss is 0."""
    for sizes, batch in (([9] * 7 + [1], 9), ([2, 2, 1], 2)):
        with pytest.raises(SpecError, match="1 group of 1 sample would be alone") as error:
            pack(sizes, batch)
        assert f"at least {batch + 1}" in str(error.value.fix)


class NaiveOrder:
    """The order as it is meant, drawn anew at every step, as `BatchOrder` once was."""

    def __init__(self, units: list[list[int]], batch: int, seed: int) -> None:
        self.units = units
        self.sizes = np.array([len(unit) for unit in units])
        self.seed = seed
        self.packing = None if len(set(self.sizes)) == 1 else pack_sizes(self.sizes, batch)
        self.per_batch = max(min(batch // int(max(self.sizes)), len(units)), 1)

    @property
    def batches(self) -> int:
        if self.packing is None:
            return len(self.units) // self.per_batch
        return self.packing.shape[1]

    def batch(self, step: int) -> list[int]:
        epoch, position = divmod(step, self.batches)
        random = Randomness(self.seed).at("order/stage-0", epoch)
        order = random.permutation(len(self.units)).tolist()
        if self.packing is None:
            chosen = order[position * self.per_batch : (position + 1) * self.per_batch]
        else:
            packing = self.packing[epoch % len(self.packing)].tolist()
            number = int(random.permutation(self.batches)[position])
            taken = set[int]()
            for kind, size in enumerate(sorted(set(self.sizes.tolist()))):
                of_size = [unit for unit in order if len(self.units[unit]) == size]
                start = sum(each[kind] for each in packing[:number])
                taken.update(of_size[start : start + packing[number][kind]])
            chosen = [unit for unit in order if unit in taken]
        return [sample for unit in chosen for sample in self.units[unit]]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=2, max_size=60),
    st.integers(6, 24),
    st.booleans(),
    st.integers(0, 5),
)
def test_the_order_is_that_of_the_naive_sampler(
    rows: list[tuple[int, bool]], batch: int, keep: bool, seed: int
) -> None:
    """Samples of a group need not be neighbours, and not all are in play."""
    pool = np.array([position for position, (_, plays) in enumerate(rows) if plays])
    groups = np.array([rows[position][0] for position in pool])
    assume(len(pool))
    units: dict[int, list[int]] = {}
    for position in pool.tolist():
        units.setdefault(rows[position][0] if keep else 10 + position, []).append(position)
    try:
        order = BatchOrder.of(pool, groups, batch, keep, seed, "stage-0")
    except SpecError:
        assume(False)
    naive = NaiveOrder(list(units.values()), batch, seed)
    assert order.batches == naive.batches
    steps = range(3 * order.batches)
    expected = [naive.batch(step) for step in steps]
    assert [order.batch(step).tolist() for step in steps] == expected
    backwards = BatchOrder.of(pool, groups, batch, keep, seed, "stage-0")
    assert [backwards.batch(step).tolist() for step in reversed(steps)] == expected[::-1]


def test_an_epoch_is_drawn_once_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw takes time and memory by the number of rows; a step must not."""
    draw, drawn = BatchOrder._draw, []

    def counted(self: BatchOrder, number: int) -> Epoch:
        drawn.append(number)
        return draw(self, number)

    monkeypatch.setattr(BatchOrder, "_draw", counted)
    made = order(keep_groups=False)
    steps = [step for step in range(3 * made.batches) for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda step: made.batch(step).tolist(), steps))
    assert found == [order(keep_groups=False).batch(step).tolist() for step in steps]
    assert drawn[:3] == [0, 1, 2]


# Groups that fit beside no other were left out of every epoch, and nobody was told.
@example([9] * 7 + [2], 9, 1, 0)
@example([8, 5], 11, 1, 0)
@example([12, 11, 7, 5, 3], 16, 1, 0)
@example([18, 17, 15, 14, 10, 8, 7, 6, 5, 4, 3], 18, 1, 0)
@example([16] * 12 + [3, 2], 16, 1, 0)
@given(
    st.lists(st.integers(1, 12), min_size=2, max_size=50),
    st.integers(12, 40),
    st.integers(1, 3),
    st.integers(0, 5),
)
def test_groups_are_packed_whole(sizes: list[int], batch: int, ranks: int, seed: int) -> None:
    try:
        order, groups = pack(sizes, batch, seed)
    except SpecError:
        assume(False)
    assume(order.per_batch >= ranks)
    used = set[int]()
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
            used |= {sizes[groups[sample]] for sample in seen}
    # Which groups of a size are left out is drawn in every epoch; no size is in all of them.
    assert len(set(sizes)) == 1 or used == set(sizes)


WEIGHTS = st.lists(st.integers(1, 40), min_size=1, max_size=7)


@given(WEIGHTS, st.integers(1, 50))
def test_each_corpus_keeps_to_its_weight(weights: list[int], batch: int) -> None:
    blend = Blend.of(weights, batch)
    fewest, most = blend.extremes
    for step in range(100):
        seen = blend.before(step)
        assert sum(seen) == step * batch
        for count, weight in zip(seen, weights, strict=True):
            assert abs(count - Fraction(step * batch * weight, sum(weights))) < 1
        counts = np.subtract(blend.before(step + 1), seen)
        assert (fewest <= counts).all()
        assert (counts <= most).all()
    assert min(fewest) >= 0


@given(WEIGHTS, st.integers(1, 8))
def test_the_schedule_is_that_of_the_naive_one(weights: list[int], batch: int) -> None:
    """Place by place, of all samples that may come now the one that is due first."""
    blend = Blend.of(weights, batch)
    total = sum(weights)
    given_so_far = [0] * len(weights)
    for place in range(40 * batch):
        if place % batch == 0:
            assert blend.before(place // batch) == given_so_far
        due = [
            (math.ceil(Fraction((count + 1) * total, weight)), corpus)
            for corpus, (count, weight) in enumerate(zip(given_so_far, weights, strict=True))
            if math.floor(Fraction(count * total, weight)) <= place
        ]
        given_so_far[min(due)[1]] += 1


def test_weights_are_taken_as_they_are_written() -> None:
    assert Blend.of([0.7, 0.2, 0.1], 10).before(3) == [21, 6, 3]
    assert Blend.of([1 / 3, 1 / 3, 1 / 3], 3).before(7) == [7, 7, 7]
    assert Blend.of([3, 1], 4).before(10**9) == [3 * 10**9, 10**9]


@pytest.mark.parametrize("weights", [[1, 0], [0.5, -1], [math.nan, 1], [math.inf, 1]])
def test_weights_that_are_none_are_told(weights: list[float]) -> None:
    with pytest.raises(SpecError, match="expected numbers above 0"):
        Blend.of(weights, 4)


@pytest.mark.parametrize("weights", [[0.1234567, 0.8765434], [48_213, 120_007]])
def test_weights_that_are_too_fine_are_told(weights: list[float]) -> None:
    told = ", ".join(map(str, weights))
    with pytest.raises(SpecError, match=rf"weights {re.escape(told)} are too fine"):
        Blend.of(weights, 4)
    shares = [round(weight / sum(weights), 4) for weight in weights]
    assert sum(Blend.of(shares, 4).before(100)) == 400


SIZES = st.integers(1, 40)


@given(SIZES, st.lists(st.integers(0, 12), min_size=1, max_size=40), st.integers(0, 3))
def test_a_corpus_is_passed_through_wholly(size: int, counts: list[int], seed: int) -> None:
    samples = np.arange(100, 100 + size)
    stream = Stream(samples, max(counts), seed, "mix-0")
    ends = np.cumsum([0, *counts]).tolist()
    batches = [stream.take(*each).tolist() for each in pairwise(ends)]
    seen = [sample for batch in batches for sample in batch]
    for start in range(0, len(seen), size):
        epoch = seen[start : start + size]
        assert len(set(epoch)) == len(epoch)
        assert set(epoch) <= set(samples.tolist())
        assert len(epoch) < size or set(epoch) == set(samples.tolist())
    if size >= 3 * max(counts):
        assert all(len(set(batch)) == len(batch) for batch in batches)
    # Whoever begins in the middle, or goes back, gets the same.
    again = Stream(samples, max(counts), seed, "mix-0")
    for number in reversed(range(len(counts))):
        assert again.take(ends[number], ends[number + 1]).tolist() == batches[number]


def test_every_pass_has_another_order() -> None:
    stream = Stream(np.arange(50), 4, 0, "mix-0")
    orders = [tuple(stream.take(start, start + 50)) for start in range(0, 500, 50)]
    assert len(set(orders)) == 10
