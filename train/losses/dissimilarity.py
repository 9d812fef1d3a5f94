"""What keeps captions and their negations apart (Vasilakis et al., section 2.2)."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from train.losses.batch import Embedded, World
from train.losses.contrastive import exact_type


def dissimilarity(batch: Embedded, world: World) -> Float[Tensor, ""]:
    """1 + the mean cosine of captions and their fully negated versions (eq. 1), 0 to 2.

    The mean is one over the rows of all processes that have such a version; without any it is 0.
    """
    captions = batch.captions[batch.denied.owner].to(exact_type(batch.captions))
    return world.mean(1 + (captions * batch.denied.values).sum(dim=1))
