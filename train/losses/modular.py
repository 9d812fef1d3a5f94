"""Several true and several false captions a sample (CompA, section 3.4)."""

from __future__ import annotations

from typing import assert_never

import torch
from jaxtyping import Float
from torch import Tensor

from train.config.loss import ModularVariant
from train.losses.batch import Embedded, World
from train.losses.contrastive import (
    Candidates,
    LossPlan,
    candidates_of,
    caption_plan,
    contrastive_rows,
    owner_mask,
)


def modular_loss(batch: Embedded, world: World, variant: ModularVariant) -> Float[Tensor, ""]:
    """Modular contrastive loss (CompA, eq. 6-7), the mean of both directions, in nats.

    Positives and negatives stand for their own sample alone. Without either it is InfoNCE.

    Args:
        batch: Rows may have any number K of positives, and any number of negatives.
        variant: `in_denominator`: the caption is one of K + 1 answers, all of which stand in the
            denominator, and each of which is an anchor of weight 1 / (K + 1). `literal`: as
            printed; the K positives alone are the answers and stand in no denominator, so the loss
            may be negative. The paper leaves K = 0 open: there the caption is the answer.
    """
    others = candidates_of(batch, world)
    match variant:
        case ModularVariant.IN_DENOMINATOR:
            rows = _in_denominator_rows(batch, others)
        case ModularVariant.LITERAL:
            rows = _literal_rows(batch, others)
        case _:
            assert_never(variant)
    return world.mean(rows)


def _in_denominator_rows(batch: Embedded, others: Candidates) -> Float[Tensor, " rows"]:
    plan = caption_plan(others)
    positive, negative = owner_mask(batch.positives, batch), owner_mask(batch.negatives, batch)
    share = 1 / (1 + positive.sum(dim=1, keepdim=True))

    texts = torch.cat([others.captions, batch.positives.values, batch.negatives.values])
    answers = LossPlan(plan.weight, plan.target * share).concat(positive, positive * share)
    to_text = contrastive_rows(
        batch.scale * batch.audio @ texts.T,
        answers.concat(negative, torch.zeros_like(negative)),
    )

    # Every true caption is an anchor; it sees the sounds that its sample's main caption sees.
    anchors = torch.cat([batch.captions, batch.positives.values])
    each = torch.arange(len(batch.captions), device=batch.positives.owner.device)
    owner = torch.cat([each, batch.positives.owner])
    anchor_rows = contrastive_rows(
        batch.scale * anchors @ others.audio.T, LossPlan(plan.weight[owner], plan.target[owner])
    )
    own = torch.eye(len(each), dtype=positive.dtype, device=positive.device)
    said = torch.cat([own, positive], dim=1)
    to_audio = (said * share) @ anchor_rows.to(said)
    return (to_text + to_audio) / 2


def _literal_rows(batch: Embedded, others: Candidates) -> Float[Tensor, " rows"]:
    plan = caption_plan(others)
    positive, negative = owner_mask(batch.positives, batch), owner_mask(batch.negatives, batch)
    count = positive.sum(dim=1, keepdim=True)
    captions = LossPlan(plan.weight, plan.target * (count == 0))
    answers = captions.concat(torch.zeros_like(positive), positive / count.clamp(min=1))

    texts = torch.cat([others.captions, batch.positives.values, batch.negatives.values])
    to_text = contrastive_rows(
        batch.scale * batch.audio @ texts.T,
        answers.concat(negative, torch.zeros_like(negative)),
    )

    # The answers of eq. 6 are the positives against the audio, the denominator is the caption's.
    sounds = batch.scale * batch.captions @ others.audio.T
    agreement = batch.scale * batch.audio @ batch.positives.values.T
    to_audio = contrastive_rows(torch.cat([sounds, agreement], dim=1), answers)
    return (to_text + to_audio) / 2
