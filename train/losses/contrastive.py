"""The one contrastive loss, the plans over it, and the candidates they are plans for.

Every contrastive loss here is a mean of rows of one primitive over logits `l` (anchor i against
candidate c):

    row_i = logsumexp_c(l_ic + log w_ic) - sum_c p_ic * l_ic

A plan says with what weight `w` a candidate stands in the denominator (0: left out) and with what
share `p` it is the answer. A new loss is a new plan.

Anchors are the rows of this process; candidates are the rows of all processes. Texts beside the
captions stand against their owners alone, and never leave their process.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from train.losses.batch import Embedded, Ragged, World


@dataclass(frozen=True, slots=True)
class LossPlan:
    """What each candidate is to each anchor.

    Args:
        weight: Factor of the candidate's exponential in the denominator, at least 0; every row
            needs one that is positive.
        target: Share of the candidate in the answer, 0 to 1; a row sums to 1.
    """

    weight: Float[Tensor, "rows columns"]
    target: Float[Tensor, "rows columns"]

    def concat(
        self, weight: Float[Tensor, "rows more"], target: Float[Tensor, "rows more"] | None = None
    ) -> LossPlan:
        """The plan with more candidates, after those it has; no answers without `target`."""
        target = torch.zeros_like(weight) if target is None else target
        return LossPlan(
            torch.cat([self.weight, weight], dim=1), torch.cat([self.target, target], dim=1)
        )


def exact_type(like: Tensor) -> torch.dtype:
    """Of losses and plans: float32 at least, whatever the precision of the embeddings."""
    return torch.promote_types(like.dtype, torch.float32)


def contrastive_rows(
    logits: Float[Tensor, "rows columns"], plan: LossPlan
) -> Float[Tensor, " rows"]:
    """The primitive, in float32 at least whatever the precision of the logits.

    A candidate is left out by adding -inf to its logit, which no logit outweighs.

    Returns:
        One loss a row, in nats.
    """
    exact = logits.to(exact_type(logits))
    weight = plan.weight.to(exact)
    target = plan.target.to(exact)
    return (exact + weight.log()).logsumexp(dim=1) - (target * exact).sum(dim=1)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The rows of all processes, as the rows of this one see them.

    Args:
        audio: Unit-length embeddings; gradients flow back to the processes that hold the rows.
        captions: Likewise.
        own: Which candidate is the row itself, one a row.
        same: Which captions say the same as the row's, its own among them; and those of its group
            that may be true of its sound, or its own of theirs.
        mine: Where the rows of this process stand among the candidates.
    """

    audio: Float[Tensor, "candidates dim"]
    captions: Float[Tensor, "candidates dim"]
    own: Bool[Tensor, "rows candidates"]
    same: Bool[Tensor, "rows candidates"]
    mine: slice


def candidates_of(batch: Embedded, world: World) -> Candidates:
    """Gathers the batch's rows from all processes."""
    # One gather for both: processes must enter collectives in one order, backward too.
    both = world.gather(torch.cat([batch.audio, batch.captions], dim=1))
    audio, captions = both.chunk(2, dim=1)
    keys = world.gather(torch.stack([batch.texts, batch.meanings], dim=1))
    mine = slice(world.first, world.first + len(batch.audio))
    same = (keys[mine, None] == keys).any(dim=2)
    same[:, mine] |= batch.unrefuted | batch.unrefuted.T
    return Candidates(
        audio=audio,
        captions=captions,
        own=torch.eye(len(both), dtype=torch.bool, device=both.device)[mine],
        same=same,
        mine=mine,
    )


def caption_plan(candidates: Candidates) -> LossPlan:
    """InfoNCE: the own caption is the answer, all others stand against it.

    Captions that say the same as the own one are not negatives of each other. The plan serves both
    directions: a caption has as many wrong sounds as its sound has wrong captions.
    """
    dtype = exact_type(candidates.captions)
    own, same = candidates.own, candidates.same
    return LossPlan(weight=(own | ~same).to(dtype), target=own.to(dtype))


def owner_mask(texts: Ragged, batch: Embedded) -> Float[Tensor, "rows texts"]:
    """1 where a text belongs to the row, 0 elsewhere."""
    rows = torch.arange(len(batch.audio), device=texts.owner.device)
    return (rows[:, None] == texts.owner[None, :]).to(exact_type(batch.audio))
