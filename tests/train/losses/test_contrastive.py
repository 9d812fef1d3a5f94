"""The primitive."""

from __future__ import annotations

import math

import pytest
import torch

from tests.kit.loss_batches import EXACT
from train.losses.contrastive import LossPlan, contrastive_rows


def test_a_weight_multiplies_the_exponential_and_zero_leaves_out() -> None:
    plan = LossPlan(
        weight=torch.tensor([[1.0, 0.5, 0.0]], dtype=torch.float64),
        target=torch.tensor([[0.25, 0.75, 0.0]], dtype=torch.float64),
    )
    expected = math.log(math.e + 0.5 * math.e**2) - (0.25 + 1.5)
    for left_out in (-1e4, -1.0, 300.0, 1e4):
        logits = torch.tensor([[1.0, 2.0, left_out]], dtype=torch.float64, requires_grad=True)
        loss = contrastive_rows(logits, plan).sum()
        (gradient,) = torch.autograd.grad(loss, logits)
        assert loss.item() == pytest.approx(expected, abs=EXACT)
        assert gradient[0, 2] == 0
        assert gradient.isfinite().all()


def test_half_precision_logits_are_summed_in_float32() -> None:
    logits = torch.full((1, 4096), 20.0, dtype=torch.bfloat16)
    loss = contrastive_rows(logits, LossPlan(torch.ones(1, 4096), torch.eye(1, 4096)))
    assert loss.dtype is torch.float32
    assert loss.item() == pytest.approx(math.log(4096), rel=1e-5)
