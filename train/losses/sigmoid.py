"""The pairwise sigmoid loss (SigLIP, Zhai et al. 2023)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softplus

from train.losses.batch import Embedded, World
from train.losses.contrastive import candidates_of, exact_type, owner_mask


def sigmoid_loss(batch: Embedded, world: World) -> Float[Tensor, ""]:
    """Sum over pairs of -log sigmoid(z * (scale * cosine + bias)), per row of audio, in nats.

    z is 1 for a sound and its caption and -1 for other pairs (SigLIP, algorithm 1), to which a
    sound's own negatives add. Pairs of a sound and another caption that says the same as its own
    are left out.
    """
    others = candidates_of(batch, world)
    dtype = exact_type(batch.audio)
    pairs = (batch.scale * batch.audio @ others.captions.T + batch.bias).to(dtype)
    sign = torch.where(others.own, -1.0, 1.0).to(dtype)
    counted = (others.own | ~others.same).to(dtype)
    wrong = (batch.scale * batch.audio @ batch.negatives.values.T + batch.bias).to(dtype)
    rows = (softplus(sign * pairs) * counted).sum(dim=1)
    # -log sigmoid(-x) is softplus(x).
    return world.mean(rows + (softplus(wrong) * owner_mask(batch.negatives, batch)).sum(dim=1))
