"""The one contrastive loss, and the plans over it.

Every loss here is a mean of rows of one primitive over logits `l` (anchor i against candidate c):

    row_i = logsumexp_c(l_ic + log w_ic) - sum_c p_ic * l_ic

A plan says with what weight `w` a candidate stands in the denominator (0: left out) and with what
share `p` it is the answer. A new loss is a new plan.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Plan:
    """What each candidate is to each anchor.

    Args:
        weight: Factor of the candidate's exponential in the denominator, at least 0; every row
            needs one that is positive.
        target: Share of the candidate in the answer, 0 to 1; a row sums to 1.
    """

    weight: Float[Tensor, "rows columns"]
    target: Float[Tensor, "rows columns"]


def contrastive_rows(logits: Float[Tensor, "rows columns"], plan: Plan) -> Float[Tensor, " rows"]:
    """The primitive, in float32 at least whatever the precision of the logits.

    Returns:
        One loss a row, in nats.
    """
    exact = logits.to(torch.promote_types(logits.dtype, torch.float32))
    weight = plan.weight.to(exact)
    target = plan.target.to(exact)
    return (exact + weight.log()).logsumexp(dim=1) - (target * exact).sum(dim=1)


def same_meaning(*keys: Int[Tensor, " batch"]) -> Bool[Tensor, "batch batch"]:
    """Which captions of a batch say the same: those that share any of the keys.

    Args:
        keys: Numbers that are equal where texts (or canonical claims) are equal.
    """
    first, *rest = (key[:, None] == key[None, :] for key in keys)
    for other in rest:
        first = first | other
    return first


def caption_plan(same: Bool[Tensor, "batch batch"], like: Tensor) -> Plan:
    """InfoNCE: the own caption is the answer, all others stand against it.

    Captions that say the same as the own one are not negatives of each other.

    Args:
        same: Which captions say the same.
        like: Gives dtype and device.
    """
    own = torch.eye(len(same), dtype=like.dtype, device=like.device)
    return Plan(weight=(~same).to(like) * (1 - own) + own, target=own)


def with_own_negatives(plan: Plan, owner: Int[Tensor, " negatives"]) -> Plan:
    """The plan with hard negatives beside the captions; each stands against its owner alone.

    Args:
        plan: The plan over the batch's captions.
        owner: Row that each negative belongs to; rows may have none, or unequally many.
    """
    rows = torch.arange(len(plan.weight), device=owner.device)
    own = (rows[:, None] == owner[None, :]).to(plan.weight)
    return Plan(
        weight=torch.cat([plan.weight, own], dim=1),
        target=torch.cat([plan.target, torch.zeros_like(own)], dim=1),
    )


def hard_negative_loss(
    audio: Float[Tensor, "batch dim"],
    captions: Float[Tensor, "batch dim"],
    negatives: Float[Tensor, "negatives dim"],
    owner: Int[Tensor, " negatives"],
    scale: Float[Tensor, ""],
    same: Bool[Tensor, "batch batch"],
) -> Float[Tensor, ""]:
    """Contrastive loss with hard negatives (CompA, eq. 4-5), the mean of both directions.

    Audio sees the batch's captions and its own negatives; a caption sees the batch's audio only.
    Without negatives it is symmetric InfoNCE.

    Args:
        audio: Unit-length embeddings.
        captions: Unit-length embeddings of the main captions, row by row.
        negatives: Unit-length embeddings of every sample's negatives, flat.
        owner: Row that each negative belongs to.
        scale: Factor from cosine to logit (one over the temperature).
        same: Which captions say the same (`same_meaning`).
    """
    plan = caption_plan(same, audio)
    texts = torch.cat([captions, negatives])
    to_text = contrastive_rows(scale * audio @ texts.T, with_own_negatives(plan, owner))
    to_audio = contrastive_rows(scale * captions @ audio.T, plan)
    return (to_text.mean() + to_audio.mean()) / 2


def info_nce(
    audio: Float[Tensor, "batch dim"],
    captions: Float[Tensor, "batch dim"],
    scale: Float[Tensor, ""],
    same: Bool[Tensor, "batch batch"],
) -> Float[Tensor, ""]:
    """Symmetric InfoNCE in which captions that say the same are not negatives."""
    nobody = torch.zeros(0, dtype=torch.long, device=audio.device)
    return hard_negative_loss(audio, captions, captions[:0], nobody, scale, same)
