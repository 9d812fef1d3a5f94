"""InfoNCE, and InfoNCE with each sample's own false captions (CompA, section 3.3)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from train.losses.batch import Embedded, World
from train.losses.contrastive import candidates_of, caption_plan, contrastive_rows, owner_mask


def info_nce(batch: Embedded, world: World) -> Float[Tensor, ""]:
    """Symmetric InfoNCE, the mean of both directions, in nats.

    Captions that say the same are not negatives of each other; extras are not looked at.
    """
    others = candidates_of(batch, world)
    plan = caption_plan(others)
    to_text = contrastive_rows(batch.scale * batch.audio @ others.captions.T, plan)
    to_audio = contrastive_rows(batch.scale * batch.captions @ others.audio.T, plan)
    return world.mean((to_text + to_audio) / 2)


def hard_negative_loss(batch: Embedded, world: World) -> Float[Tensor, ""]:
    """Contrastive loss with hard negatives (CompA, eq. 4-5), the mean of both directions, in nats.

    Audio sees the captions and its own negatives (eq. 5); a caption sees audio only (eq. 4). The
    paper's factors of the two directions are 1. Rows may have any number of negatives; without any
    it is `info_nce`.
    """
    others = candidates_of(batch, world)
    plan = caption_plan(others)
    own = owner_mask(batch.negatives, batch)
    texts = torch.cat([others.captions, batch.negatives.values])
    to_text = contrastive_rows(
        batch.scale * batch.audio @ texts.T, plan.concat(own, torch.zeros_like(own))
    )
    to_audio = contrastive_rows(batch.scale * batch.captions @ others.audio.T, plan)
    return world.mean((to_text + to_audio) / 2)
