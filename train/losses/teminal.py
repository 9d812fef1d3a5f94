"""Compositions of the same clips against each other (TeminAL, section III D and appendix A.4).

The batch is one of rows of several views: of single and combined sounds (stage A), or of forward,
reversed and overlaid pairs (stage B). Every row is matched with the row of its own view: equations
8 and A1, which pair each sound with the captions of the other views, contradict figures 6 to 9. How
much a wrong candidate weighs depends on the two views and on whether the two rows are akin.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from synth.base.errors import SpecError
from train.config.loss import OverlayRow, TeminalA, TeminalB
from train.losses.batch import Embedded, World
from train.losses.contrastive import (
    Candidates,
    LossPlan,
    candidates_of,
    caption_plan,
    contrastive_rows,
    exact_type,
)

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
    weight = _look_up(tables, akin, views[others.mine], views, exact_type(batch.audio))
    return _weighted_loss(batch, others, world, weight, settings.beta)


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
    weight = _look_up(tables, akin, views[others.mine], views, exact_type(batch.audio))
    return _weighted_loss(batch, others, world, weight, settings.beta)


def _table(reversal: float, overlay: float, overlay_row: OverlayRow) -> Table:
    literal = overlay_row is OverlayRow.LITERAL
    last = [1, reversal, 1] if literal else [overlay, overlay, 1]
    return [[1, reversal, overlay], [reversal, 1, overlay], last]


def _look_up(
    tables: tuple[Table, Table],
    akin: Bool[Tensor, "rows candidates"],
    anchors: Int[Tensor, " rows"],
    views: Int[Tensor, " candidates"],
    dtype: torch.dtype,
) -> Float[Tensor, "rows candidates"]:
    """Weights by views, from the first table for strangers, from the second for those akin."""
    weights = torch.tensor(tables, dtype=dtype).to(views.device, non_blocking=True)
    return weights[akin.long(), anchors[:, None], views[None, :]]


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


def _weighted_loss(
    batch: Embedded,
    others: Candidates,
    world: World,
    weight: Float[Tensor, "rows candidates"],
    beta: float,
) -> Float[Tensor, ""]:
    """(L_t + beta * L_a) / (1 + beta), a mean over rows; the paper's is a sum, not divided.

    L_t has sounds choose captions (eq. 8), L_a has captions choose sounds (eq. 14).
    """
    plain = caption_plan(others)
    plan = LossPlan(plain.weight * weight, plain.target)
    to_text = contrastive_rows(batch.scale * batch.audio @ others.captions.T, plan)
    to_audio = contrastive_rows(batch.scale * batch.captions @ others.audio.T, plan)
    return world.mean((to_text + beta * to_audio) / (1 + beta))
