"""A loss. Each sound's caption must be nearer to it than each of its own false captions."""

from typing import ClassVar, Literal

from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from train.config.loss import CustomLoss, Role
from train.losses.batch import Embedded, World


class Margin(CustomLoss):
    """InfoNCE's simple sister: a hinge on the difference of two cosines.

    Args:
        margin: By how much the true caption must be nearer, as a cosine.
    """

    roles: ClassVar[frozenset[Role]] = frozenset({Role.NEGATIVES})
    name: Literal["margin"] = "margin"
    margin: float = Field(default=0.2, ge=0, le=2)

    def loss(self, batch: Embedded, world: World) -> Float[Tensor, ""]:
        """The mean over rows of the hinges of a row's false captions, summed."""
        own = (batch.audio * batch.captions).sum(dim=1)
        false = batch.negatives
        wrong = (batch.audio[false.owner] * false.values).sum(dim=1)
        hinge = (self.margin - own[false.owner] + wrong).clamp(min=0)
        return world.mean(own.new_zeros(len(own)).index_add(0, false.owner, hinge))
