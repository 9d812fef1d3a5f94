"""The sigmoid loss: the identities promised."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import ModuleType

import pytest
import torch

from train.losses.batch import Alone, Embedded
from train.losses.captions import sigmoid_loss

EXACT = 1e-9
Make = Callable[..., Embedded]
Change = Callable[[Embedded], Embedded]


def sigmoid(batch: Embedded) -> torch.Tensor:
    return sigmoid_loss(batch, Alone())


def test_it_is_that_of_open_clip(
    ragged: Make, distinct: Change, bare: Change, open_clip_losses: ModuleType
) -> None:
    batch = bare(distinct(ragged(2, rows=7)))
    theirs = open_clip_losses.SigLipLoss()(batch.audio, batch.captions, batch.scale, batch.bias)
    assert sigmoid(batch).item() == pytest.approx(theirs.item(), abs=EXACT)


def test_pairs_that_say_the_same_are_left_out(ragged: Make, bare: Change) -> None:
    batch = dataclasses.replace(bare(ragged(3, rows=4)), texts=torch.zeros(4, dtype=torch.long))
    own = batch.scale * (batch.audio * batch.captions).sum(dim=1) + batch.bias
    expected = -torch.nn.functional.logsigmoid(own).mean()
    assert sigmoid(batch).item() == pytest.approx(expected.item(), abs=EXACT)


def test_a_sharp_scale_does_not_overflow(ragged: Make) -> None:
    batch = ragged(4, rows=5)
    sharp = dataclasses.replace(batch, scale=torch.tensor(1e5, dtype=torch.float64))
    assert sigmoid(sharp).isfinite()
