"""Which settings give which loss."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from train.config.loss import TextSwap
from train.losses.batch import Alone, Embedded
from train.losses.choice import loss_of
from train.losses.textswap import textswap_loss

HERE = Alone()


def test_textswap_replaces_by_the_numbers_it_is_given(ragged: Callable[..., Embedded]) -> None:
    batch = ragged(1, rows=6)
    uniform = torch.rand(6, 6, generator=torch.Generator().manual_seed(0))
    swapped = loss_of(TextSwap(), batch, HERE, 0.5, uniform)
    assert torch.equal(swapped, textswap_loss(batch, HERE, 0.5, uniform))
    assert not torch.equal(swapped, loss_of(TextSwap(), batch, HERE))
    with pytest.raises(ValueError, match="needs numbers"):
        loss_of(TextSwap(), batch, HERE, 0.5)
