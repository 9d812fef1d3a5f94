"""Sizes packed into batches: full, whole, and no size left out of every epoch."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from synth.base.packing import pack_sizes


@given(st.lists(st.integers(1, 24), min_size=2, max_size=14), st.integers(0, 12))
def test_every_size_has_its_turn_and_what_is_left_out_fits_nowhere(
    sizes: list[int], spare: int
) -> None:
    batch = max(sizes) + spare
    kinds, groups = np.unique(sizes, return_counts=True)
    packing = pack_sizes(np.array(sizes), batch)
    loads = packing @ kinds
    assert packing.any(axis=(0, 1)).all()
    assert loads.max() <= batch
    for turn, held in zip(loads, packing.sum(axis=1), strict=True):
        assert (held <= groups).all()
        assert all((turn + size > batch).all() for size in kinds[held < groups])
    # The second turn asks for no fewer groups a batch, which is what processes share.
    fewest = packing.sum(axis=2).min(axis=1)
    assert fewest[-1] >= fewest[0]
    # A sample is alone only where all others fill a batch.
    if loads.min() == 1 and len(kinds) > 1:
        assert kinds.tolist() == [1, batch]
        assert groups[0] == 1
