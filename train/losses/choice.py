"""The loss that the settings name."""

from __future__ import annotations

from typing import assert_never

from jaxtyping import Float
from torch import Tensor

from train.config.loss import (
    CustomLoss,
    HardNegatives,
    InfoNce,
    Loss,
    Modular,
    Sigmoid,
    TeminalA,
    TeminalB,
    TextSwap,
)
from train.losses.batch import Embedded, World
from train.losses.captions import (
    hard_negative_loss,
    info_nce,
    modular_loss,
    sigmoid_loss,
    textswap_loss,
)
from train.losses.teminal import teminal_a_loss, teminal_b_loss


def apply_loss(settings: Loss | CustomLoss, batch: Embedded, world: World) -> Float[Tensor, ""]:
    """The loss of a batch in nats: this process's part, of which the processes' average is all."""
    match settings:
        case InfoNce():
            return info_nce(batch, world)
        case HardNegatives():
            return hard_negative_loss(batch, world)
        case Modular():
            return modular_loss(batch, world, settings.variant)
        case TeminalA():
            return teminal_a_loss(batch, world, settings)
        case TeminalB():
            return teminal_b_loss(batch, world, settings)
        case TextSwap():
            return textswap_loss(batch, world, settings.share_at(batch.step))
        case Sigmoid():
            return sigmoid_loss(batch, world)
        case CustomLoss():
            loss: Float[Tensor, ""] = settings.loss(batch, world)
            return loss
        case _:
            assert_never(settings)
