"""The dissimilarity term against a naive loop, and its ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch

from train.losses.batch import Alone, Embedded, Ragged
from train.losses.dissimilarity import dissimilarity

EXACT = 1e-9
Make = Callable[..., Embedded]


def term(batch: Embedded) -> torch.Tensor:
    return dissimilarity(batch, Alone())


@pytest.mark.parametrize("seed", range(20))
def test_it_agrees_with_a_naive_loop(seed: int, ragged: Make, plain: Any) -> None:
    batch = ragged(seed)
    data = plain(batch)
    cosines = [
        data.logit(data.captions[i], denied) / data.scale
        for i in data.rows
        for denied in data.of("denied", i)
    ]
    expected = 1 + sum(cosines) / len(cosines) if cosines else 0
    assert term(batch).item() == pytest.approx(expected, abs=EXACT)


def test_it_is_0_of_opposites_2_of_equals_and_0_where_nothing_is_denied(
    ragged: Make, bare: Callable[[Embedded], Embedded]
) -> None:
    batch = ragged(1, rows=4)
    owner = torch.tensor([3, 1])
    for sign, expected in ((-1, 0.0), (1, 2.0)):
        denied = Ragged(sign * batch.captions[owner], owner)
        changed = dataclasses.replace(batch, denied=denied)
        assert term(changed).item() == pytest.approx(expected, abs=EXACT)
    assert term(bare(batch)).item() == 0
