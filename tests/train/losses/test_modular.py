"""The modular loss: the identities promised."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import pytest
import torch

from train.config.loss import ModularVariant
from train.losses.batch import Alone, Embedded, Ragged
from train.losses.captions import hard_negative_loss, info_nce, modular_loss

EXACT = 1e-9
Change = Callable[[Embedded], Embedded]
both = pytest.mark.parametrize("variant", list(ModularVariant))


@both
def test_without_extras_it_is_info_nce(
    variant: ModularVariant, ragged: Callable[..., Embedded], bare: Change
) -> None:
    batch = bare(ragged(1, rows=6))
    loss = modular_loss(batch, Alone(), variant).item()
    assert loss == pytest.approx(info_nce(batch, Alone()).item(), abs=EXACT)


@both
def test_without_positives_it_is_hard_negatives(
    variant: ModularVariant, ragged: Callable[..., Embedded], bare: Change
) -> None:
    batch = ragged(2, rows=6)
    batch = dataclasses.replace(batch, positives=bare(batch).positives)
    loss = modular_loss(batch, Alone(), variant).item()
    assert loss == pytest.approx(hard_negative_loss(batch, Alone()).item(), abs=EXACT)


def test_as_printed_it_can_go_negative_and_with_positives_in_the_denominator_it_cannot(
    ragged: Callable[..., Embedded], distinct: Change, bare: Change
) -> None:
    batch = bare(distinct(ragged(3, rows=3)))
    # Positives that fit the sounds perfectly, captions that do not fit at all.
    batch = dataclasses.replace(
        batch,
        captions=-batch.audio.mean(dim=0, keepdim=True).expand(3, -1),
        positives=Ragged(batch.audio, torch.arange(3)),
    )
    assert modular_loss(batch, Alone(), ModularVariant.LITERAL) < 0
    assert modular_loss(batch, Alone(), ModularVariant.IN_DENOMINATOR) > 0


def test_a_sample_weighs_the_same_however_many_positives_it_has(
    ragged: Callable[..., Embedded], bare: Change
) -> None:
    batch = bare(ragged(8, rows=1))
    # One sample alone: nothing stands against its caption, so text rows cost nothing, and one
    # positive equal to the caption makes the audio row log 2, two make it log 3.
    for count in (1, 2):
        same = Ragged(batch.captions.repeat(count, 1), torch.zeros(count, dtype=torch.long))
        loss = modular_loss(
            dataclasses.replace(batch, positives=same), Alone(), ModularVariant.IN_DENOMINATOR
        )
        assert loss.item() == pytest.approx(math.log(count + 1) / 2, abs=EXACT)
