"""The losses of sounds and their captions, true, false, swapped and denied.

Those of TeminAL (section III D and appendix A.4) set compositions of the same clips against each
other. The batch is one of rows of several views: of single and combined sounds (stage A), or of
forward, reversed and overlaid pairs (stage B). Every row is matched with the row of its own view:
equations 8 and A1, which pair each sound with the captions of the other views, contradict figures 6
to 9. How much a wrong candidate weighs depends on the two views and on whether the two rows are
akin.
"""

from __future__ import annotations

from typing import assert_never

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import softplus

from synth.base.errors import SpecError
from train.config.loss import (
    CustomLoss,
    HardNegatives,
    InfoNce,
    Loss,
    Modular,
    ModularVariant,
    OverlayRow,
    Sigmoid,
    TeminalA,
    TeminalB,
    TextSwap,
)
from train.losses.batch import Embedded, World
from train.losses.contrastive import (
    Candidates,
    LossPlan,
    candidates_of,
    caption_plan,
    contrastive_rows,
    exact_type,
    owner_mask,
)


def info_nce(batch: Embedded, world: World) -> Float[Tensor, ""]:
    """Symmetric InfoNCE, the mean of both directions, in nats.

    Captions that say the same are not negatives of each other; extras are not looked at.
    """
    others = candidates_of(batch, world)
    plan = caption_plan(others)
    return _choose_both_ways(batch, others, world, plan, plan)


def _choose_both_ways(
    batch: Embedded,
    others: Candidates,
    world: World,
    to_text: LossPlan,
    to_audio: LossPlan,
    beta: float = 1.0,
) -> Float[Tensor, ""]:
    """(L_t + beta * L_a) / (1 + beta), a mean over rows: sounds choose texts, captions sounds.

    Args:
        to_text: Of the captions of all rows, and then of this process's negatives, if it has more.
    """
    texts = others.captions
    if to_text.weight.shape[1] > len(texts):
        texts = torch.cat([texts, batch.negatives.values])
    of_sounds = contrastive_rows(batch.scale * batch.audio @ texts.T, to_text)
    of_captions = contrastive_rows(batch.scale * batch.captions @ others.audio.T, to_audio)
    return world.mean((of_sounds + beta * of_captions) / (1 + beta))


def hard_negative_loss(batch: Embedded, world: World, weight: float = 1.0) -> Float[Tensor, ""]:
    """Contrastive loss with hard negatives (CompA, eq. 4-5), the mean of both directions, in nats.

    Audio sees the captions and its own negatives (eq. 5); a caption sees audio only (eq. 4). The
    paper's factors of the two directions are 1. Rows may have any number of negatives; without any
    it is `info_nce`.

    Args:
        weight: Of a row's own negatives, and of what else stands in its group, against 1 of others.
    """
    others = candidates_of(batch, world)
    plan = caption_plan(others)
    own = owner_mask(batch.negatives, batch)
    if weight != 1:
        groups = world.gather(batch.groups)
        hard = (groups[others.mine][:, None] == groups[None, :]) & ~others.own
        plan = LossPlan(torch.where(hard, weight * plan.weight, plan.weight), plan.target)
        own = own * weight
    return _choose_both_ways(batch, others, world, plan.concat(own), plan)


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
        answers.concat(negative),
    )

    # Every true caption is an anchor; it sees the sounds that its sample's main caption sees.
    anchors = torch.cat([batch.captions, batch.positives.values])
    rows = torch.arange(len(batch.captions), device=batch.positives.owner.device)
    owner = torch.cat([rows, batch.positives.owner])
    anchor_rows = contrastive_rows(
        batch.scale * anchors @ others.audio.T, LossPlan(plan.weight[owner], plan.target[owner])
    )
    own = torch.eye(len(rows), dtype=positive.dtype, device=positive.device)
    true = torch.cat([own, positive], dim=1)
    to_audio = (true * share) @ anchor_rows.to(true)
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
        answers.concat(negative),
    )

    # The answers of eq. 6 are the positives against the audio, the denominator is the caption's.
    sounds = batch.scale * batch.captions @ others.audio.T
    agreement = batch.scale * batch.audio @ batch.positives.values.T
    to_audio = contrastive_rows(torch.cat([sounds, agreement], dim=1), answers)
    return (to_text + to_audio) / 2


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
    weight = plan.weight * (choice < 0)
    to_text = LossPlan(weight, plan.target).concat(drawn)
    return _choose_both_ways(batch, others, world, to_text, plan)


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
    numbers = torch.arange(len(owner), device=owner.device)
    place = own.cumsum(dim=1)[owner, numbers].long() - 1
    times = (choice[owner] == place[:, None]).sum(dim=1)
    return own * times


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


def dissimilarity(batch: Embedded, world: World) -> Float[Tensor, ""]:
    """1 + the mean cosine of captions and their fully negated versions (eq. 1), 0 to 2.

    The mean is one over the rows of all processes that have such a version; without any it is 0.
    """
    captions = batch.captions[batch.denied.owner].to(exact_type(batch.captions))
    return world.mean(1 + (captions * batch.denied.values).sum(dim=1))


Table = list[list[float]]
"""Weights by the anchor's view (row) and the candidate's (column)."""


def teminal_a_loss(batch: Embedded, world: World, settings: TeminalA) -> Float[Tensor, ""]:
    """Single against combined sounds (TeminAL A, eq. A13-A17), in nats.

    Candidates of the anchor's view weigh 1; those of the other view `alpha_same` where the
    combined sound holds the single one's class, `alpha_cross` elsewhere (eq. A15). With all
    weights and beta 1 it is symmetric InfoNCE over all rows.

    Args:
        batch: Of views 0, single, and 1, combined.
    """
    views = _views(batch, world, 2, "single and combined sounds (triplets, stage A)")
    classes = world.gather(batch.classes)
    others = candidates_of(batch, world)
    shared = classes[others.mine][:, None, :, None] == classes[None, :, None, :]
    akin = shared.flatten(start_dim=2).any(dim=2)
    tables = (
        [[1, settings.alpha_cross], [settings.alpha_cross, 1]],
        [[1, settings.alpha_same], [settings.alpha_same, 1]],
    )
    plan = _weigh(others, tables, akin, views)
    return _choose_both_ways(batch, others, world, plan, plan, settings.beta)


def teminal_b_loss(batch: Embedded, world: World, settings: TeminalB) -> Float[Tensor, ""]:
    """Forward, reversed and overlaid pairs against each other (TeminAL B, eq. 8-15), in nats.

    Candidates of the anchor's view weigh 1; between forward and reversed `alpha_st` within the
    group and `alpha_ct` across groups (eq. 11); between overlay and the others `alpha_so` and
    `alpha_co` (eq. 12). As eq. 13 is printed, an overlay sees forward ones with weight 1 and
    reversed ones with `alpha_st` and `alpha_ct`. With all weights and beta 1 it is symmetric
    InfoNCE over all rows; with all alpha 0 it is InfoNCE within each view.

    Args:
        batch: Of views 0, forward, 1, reversed, and 2, overlay.
    """
    views = _views(batch, world, 3, "triplets (forward, reversed and overlay)")
    groups = world.gather(batch.groups)
    others = candidates_of(batch, world)
    akin = groups[others.mine][:, None] == groups[None, :]
    tables = (
        _table(settings.alpha_ct, settings.alpha_co, settings.overlay_row),
        _table(settings.alpha_st, settings.alpha_so, settings.overlay_row),
    )
    plan = _weigh(others, tables, akin, views)
    return _choose_both_ways(batch, others, world, plan, plan, settings.beta)


def _table(reversal: float, overlay: float, overlay_row: OverlayRow) -> Table:
    literal = overlay_row is OverlayRow.LITERAL
    last = [1, reversal, 1] if literal else [overlay, overlay, 1]
    return [[1, reversal, overlay], [reversal, 1, overlay], last]


def _weigh(
    others: Candidates,
    tables: tuple[Table, Table],
    akin: Bool[Tensor, "rows candidates"],
    views: Int[Tensor, " candidates"],
) -> LossPlan:
    """Weights by views, from the first table for strangers, from the second for those akin."""
    plain = caption_plan(others)
    weights = torch.tensor(tables, dtype=plain.weight.dtype).to(views.device, non_blocking=True)
    weight = weights[akin.long(), views[others.mine][:, None], views[None, :]]
    return LossPlan(plain.weight * weight, plain.target)


def _views(batch: Embedded, world: World, count: int, what: str) -> Int[Tensor, " candidates"]:
    # Of all processes, so that all stop where one must.
    views = world.gather(batch.views)
    # A GPU would be waited for at every step; `refuse_unsuitable` has asked the corpus before.
    if views.device.type == "cpu" and bool(((views < 0) | (views >= count)).any()):
        raise SpecError(
            f"the loss of this stage needs a corpus of {what}",
            fix="train on such a corpus, or choose another loss",
        )
    return views


def apply_loss(settings: Loss | CustomLoss, batch: Embedded, world: World) -> Float[Tensor, ""]:
    """The loss of a batch in nats: this process's part, of which the processes' average is all."""
    match settings:
        case InfoNce():
            return info_nce(batch, world)
        case HardNegatives():
            return hard_negative_loss(batch, world, settings.weight)
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
