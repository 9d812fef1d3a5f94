"""What holds for every loss, by the settings that choose it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch

from train.config.loss import (
    HardNegatives,
    InfoNce,
    Loss,
    Modular,
    ModularVariant,
    Sigmoid,
    TextSwap,
)
from train.losses.batch import Alone, Embedded
from train.losses.choice import loss_of
from train.losses.dissimilarity import dissimilarity
from train.losses.textswap import textswap_loss

HERE = Alone()
SETTINGS: tuple[Loss, ...] = (
    InfoNce(),
    HardNegatives(),
    *(Modular(variant=variant) for variant in ModularVariant),
    Sigmoid(),
)
LOSSES: list[Callable[[Embedded], torch.Tensor]] = [
    *(partial(loss_of, settings, world=HERE) for settings in SETTINGS),
    partial(dissimilarity, world=HERE),
]


@pytest.mark.parametrize("loss", LOSSES)
def test_order_changes_nothing_gradients_hold_and_sums_are_in_float32(
    loss: Callable[[Embedded], torch.Tensor],
    ragged: Callable[..., Embedded],
    order_does_not_matter: Callable[..., None],
    gradients_hold: Callable[..., None],
    half_precision_is_exact_inside: Callable[..., None],
) -> None:
    order_does_not_matter(loss, ragged(5, rows=6))
    gradients_hold(loss, ragged(6, rows=4))
    half_precision_is_exact_inside(loss, ragged(7, rows=6))


def test_textswap_replaces_by_the_numbers_it_is_given(ragged: Callable[..., Embedded]) -> None:
    batch = ragged(1, rows=6)
    uniform = torch.rand(6, 6, generator=torch.Generator().manual_seed(0))
    swapped = loss_of(TextSwap(), batch, HERE, 0.5, uniform)
    assert torch.equal(swapped, textswap_loss(batch, HERE, 0.5, uniform))
    assert not torch.equal(swapped, loss_of(TextSwap(), batch, HERE))
    with pytest.raises(ValueError, match="needs numbers"):
        loss_of(TextSwap(), batch, HERE, 0.5)
