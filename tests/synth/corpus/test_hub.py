"""What the Hub is told of a corpus."""

from __future__ import annotations

import pytest

from synth.corpus.facts import size_category


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (1, "n<1K"),
        (999, "n<1K"),
        (1_000, "1K<n<10K"),
        (99_999, "10K<n<100K"),
        (10_000_000, "10M<n<100M"),
        (1_000_000_000, "1B<n<10B"),
    ],
)
def test_sizes_are_told_in_the_hubs_steps(samples: int, expected: str) -> None:
    assert size_category(samples) == expected
