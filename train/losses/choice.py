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
from train.losses.hard_negatives import hard_negative_loss, info_nce
from train.losses.modular import modular_loss
from train.losses.sigmoid import sigmoid_loss
from train.losses.teminal import teminal_a_loss, teminal_b_loss
from train.losses.textswap import textswap_loss


def loss_of(
    settings: Loss | CustomLoss,
    batch: Embedded,
    world: World,
    share: float = 0.0,
    uniform: Float[Tensor, "rows candidates"] | None = None,
) -> Float[Tensor, ""]:
    """The loss of a batch: this process's part, of which the processes' average is the whole.

    Args:
        settings: Which loss, and its weights.
        share: Of TextSwap: the share of wrong captions that is replaced at this step.
        uniform: Of TextSwap: the numbers that decide which. None where none is replaced.
    """
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
        case TextSwap() if uniform is not None:
            return textswap_loss(batch, world, share, uniform)
        case TextSwap():
            if share > 0:
                raise ValueError("TextSwap needs numbers that decide what is replaced")
            return info_nce(batch, world)
        case Sigmoid():
            return sigmoid_loss(batch, world)
        case CustomLoss():
            found: Float[Tensor, ""] = settings.loss(batch, world)
            return found
        case _:
            assert_never(settings)
