"""Render: which samples of a shard are held in memory together."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from pipelines.builder.render import TOGETHER, _runs


@given(st.lists(st.integers(1, 2 * TOGETHER), max_size=40))
@example([TOGETHER, 1])
@example([1, TOGETHER])
@example([])
def test_a_run_holds_no_more_than_fits_or_one_sample(frames: list[int]) -> None:
    runs = list(_runs(frames))
    assert [k for run in runs for k in run] == list(range(len(frames)))
    for run in runs:
        assert len(run) == 1 or sum(frames[k] for k in run) <= TOGETHER
    for run, following in pairwise(runs):
        assert sum(frames[k] for k in run) + frames[following[0]] > TOGETHER
