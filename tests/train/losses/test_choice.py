"""Which settings give which loss."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from pydantic import TypeAdapter

from train.config.loss import (
    HardNegatives,
    InfoNce,
    Loss,
    Modular,
    ModularVariant,
    Sigmoid,
    TeminalA,
    TeminalB,
    TextSwap,
)
from train.losses.batch import Alone, Embedded
from train.losses.choice import loss_of
from train.losses.hard_negatives import hard_negative_loss, info_nce
from train.losses.modular import modular_loss
from train.losses.sigmoid import sigmoid_loss
from train.losses.teminal import teminal_a_loss, teminal_b_loss
from train.losses.textswap import textswap_loss

HERE = Alone()
A, B = TeminalA(alpha_cross=0.5), TeminalB(alpha_st=0.5)
EXPECTED: list[tuple[Loss, Callable[[Embedded], torch.Tensor]]] = [
    (InfoNce(), lambda batch: info_nce(batch, HERE)),
    (HardNegatives(), lambda batch: hard_negative_loss(batch, HERE)),
    (Modular(), lambda batch: modular_loss(batch, HERE, ModularVariant.IN_DENOMINATOR)),
    (
        Modular(variant=ModularVariant.LITERAL),
        lambda batch: modular_loss(batch, HERE, ModularVariant.LITERAL),
    ),
    (A, lambda batch: teminal_a_loss(batch, HERE, A)),
    (B, lambda batch: teminal_b_loss(batch, HERE, B)),
    (Sigmoid(), lambda batch: sigmoid_loss(batch, HERE)),
    (TextSwap(), lambda batch: info_nce(batch, HERE)),
]


@pytest.fixture
def batch(ragged: Callable[..., Embedded]) -> Embedded:
    # Of two views, so that both stages of TeminAL take it.
    values = ragged(1, rows=6)
    values.views.remainder_(2)
    return values


@pytest.mark.parametrize(
    ("settings", "expected"), EXPECTED, ids=[repr(settings)[:40] for settings, _ in EXPECTED]
)
def test_settings_choose_the_loss(
    settings: Loss, expected: Callable[[Embedded], torch.Tensor], batch: Embedded
) -> None:
    read = TypeAdapter(Loss).validate_python(settings.model_dump())
    assert torch.equal(loss_of(read, batch, HERE), expected(batch))


def test_textswap_replaces_by_the_numbers_it_is_given(batch: Embedded) -> None:
    uniform = torch.rand(6, 6, generator=torch.Generator().manual_seed(0))
    swapped = loss_of(TextSwap(), batch, HERE, 0.5, uniform)
    assert torch.equal(swapped, textswap_loss(batch, HERE, 0.5, uniform))
    assert not torch.equal(swapped, loss_of(TextSwap(), batch, HERE))
    with pytest.raises(ValueError, match="needs numbers"):
        loss_of(TextSwap(), batch, HERE, 0.5)


def test_all_settings_are_tried() -> None:
    tried = {settings.name for settings, _ in EXPECTED}
    schema = TypeAdapter(Loss).json_schema()
    assert set(schema["discriminator"]["mapping"]) == tried
