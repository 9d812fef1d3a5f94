"""Swapped captions in place of wrong ones (TextSwap, Manco et al., section 5.1)."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from train.losses.batch import Embedded, World
from train.losses.contrastive import (
    LossPlan,
    candidates_of,
    caption_plan,
    contrastive_rows,
    owner_mask,
)


def textswap_loss(batch: Embedded, world: World, share: float) -> Float[Tensor, ""]:
    """InfoNCE in which some wrong captions give way to the sound's own swapped ones, in nats.

    Each wrong caption that a sound sees is replaced with probability `share`, independently, by one
    of the sound's swapped captions, each as likely as the next. Rows that have none replace
    nothing; captions see sounds as in InfoNCE. The paper leaves open how many are replaced by
    what; this keeps the size of the denominator.

    Args:
        batch: Its negatives are the swapped captions; its uniform numbers alone decide, so equal
            numbers give an equal loss.
        share: 0 to 1. At 0 it is InfoNCE; at 1 a row sees its own caption and swapped ones only.
    """
    if batch.uniform is None:
        raise ValueError("TextSwap needs numbers that decide what is replaced")
    others = candidates_of(batch, world)
    plan = caption_plan(others)
    choice = _choose_swaps(share, batch.uniform, ~others.same, batch)
    drawn = _count_swaps(choice, batch)
    kept = plan.weight * (choice < 0)
    texts = torch.cat([others.captions, batch.negatives.values])
    to_text = contrastive_rows(
        batch.scale * batch.audio @ texts.T,
        LossPlan(kept, plan.target).concat(drawn, torch.zeros_like(drawn)),
    )
    to_audio = contrastive_rows(batch.scale * batch.captions @ others.audio.T, plan)
    return world.mean((to_text + to_audio) / 2)


def _choose_swaps(
    share: float,
    uniform: Float[Tensor, "rows candidates"],
    wrong: Bool[Tensor, "rows candidates"],
    batch: Embedded,
) -> Int[Tensor, "rows candidates"]:
    """Which of the row's swapped captions takes a candidate's place, -1 where none does."""
    count = owner_mask(batch.negatives, batch).sum(dim=1, keepdim=True).long()
    replaced = wrong & (uniform < share) & (count > 0)
    # A number below `share` is evenly spread up to it, and so draws the caption too. (Nothing is
    # below a share of 0, which must not divide.)
    drawn = (uniform / max(share, 1e-12) * count).long()
    return torch.where(replaced, torch.minimum(drawn, count - 1), -1)


def _count_swaps(
    choice: Int[Tensor, "rows candidates"], batch: Embedded
) -> Float[Tensor, "rows swapped"]:
    """How often each swapped caption stands in its row, 0 in the rows of others."""
    own = owner_mask(batch.negatives, batch)
    owner = batch.negatives.owner
    each = torch.arange(len(owner), device=owner.device)
    place = own.cumsum(dim=1)[owner, each].long() - 1
    times = (choice[owner] == place[:, None]).sum(dim=1)
    return own * times
