"""The primitive, and what counts as the same."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import pytest
import torch

from train.losses.batch import Alone, Embedded
from train.losses.contrastive import (
    LossPlan,
    candidates_of,
    caption_plan,
    contrastive_rows,
    same_meaning_mask,
)

EXACT = 1e-9


def test_a_weight_multiplies_the_exponential_and_zero_leaves_out() -> None:
    logits = torch.tensor([[1.0, 2.0, 300.0]], dtype=torch.float64)
    plan = LossPlan(
        weight=torch.tensor([[1.0, 0.5, 0.0]], dtype=torch.float64),
        target=torch.tensor([[0.25, 0.75, 0.0]], dtype=torch.float64),
    )
    expected = math.log(math.e + 0.5 * math.e**2) - (0.25 + 1.5)
    assert contrastive_rows(logits, plan).item() == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize("logit", [-1e4, -1.0, 1e4])
def test_what_is_left_out_has_no_gradient_however_large_it_is(logit: float) -> None:
    logits = torch.tensor([[1.0, 2.0, logit]], dtype=torch.float64, requires_grad=True)
    plan = LossPlan(torch.tensor([[1.0, 1.0, 0.0]]), torch.tensor([[1.0, 0.0, 0.0]]))
    loss = contrastive_rows(logits, plan).sum()
    (gradient,) = torch.autograd.grad(loss, logits)
    assert loss.item() == pytest.approx(math.log(1 + math.e), abs=EXACT)
    assert gradient[0, 2] == 0
    assert gradient.isfinite().all()


def test_half_precision_logits_are_summed_in_float32() -> None:
    logits = torch.full((1, 4096), 20.0, dtype=torch.bfloat16)
    plan = LossPlan(torch.ones(1, 4096), torch.eye(1, 4096))
    loss = contrastive_rows(logits, plan)
    assert loss.dtype is torch.float32
    assert loss.item() == pytest.approx(math.log(4096), rel=1e-5)


def test_same_meaning_holds_for_equal_texts_or_equal_claims() -> None:
    texts = torch.tensor([0, 1, 2, 2])
    claims = torch.tensor([0, 0, 1, 2])
    expected = torch.eye(4, dtype=torch.bool)
    expected[0, 1] = expected[1, 0] = expected[2, 3] = expected[3, 2] = True
    assert torch.equal(same_meaning_mask(texts, claims), expected)


def test_the_own_caption_is_the_answer_and_those_that_say_the_same_are_left_out(
    ragged: Callable[..., Embedded],
) -> None:
    batch = dataclasses.replace(
        ragged(0, rows=3), texts=torch.tensor([0, 1, 1]), meanings=torch.tensor([0, 0, 1])
    )
    plan = caption_plan(candidates_of(batch, Alone()))
    assert plan.weight.tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    assert plan.target.tolist() == torch.eye(3).tolist()


class Second:
    """A process that holds the last rows of a batch; another holds the first."""

    def __init__(self, whole: Embedded, first: int) -> None:
        self._whole, self._first = whole, first

    def gather(self, rows: torch.Tensor) -> torch.Tensor:
        if rows.dtype.is_floating_point:
            return torch.cat([self._whole.audio, self._whole.captions], dim=1)
        return torch.stack([self._whole.texts, self._whole.meanings], dim=1)

    @property
    def first(self) -> int:
        return self._first

    def mean(self, rows: torch.Tensor) -> torch.Tensor:
        return rows.mean()


def test_anchors_are_own_rows_and_candidates_are_those_of_all(
    ragged: Callable[..., Embedded],
    take: Callable[[Embedded, torch.Tensor], Embedded],
) -> None:
    whole = ragged(3, rows=6)
    known = whole.unrefuted.clone()  # of the rows of its own process only
    known[:2, 2:] = known[2:, :2] = False
    whole = dataclasses.replace(whole, unrefuted=known)
    part = take(whole, torch.arange(2, 6))
    all_of = candidates_of(whole, Alone())
    seen = candidates_of(part, Second(whole, 2))
    assert torch.equal(seen.audio, all_of.audio)
    assert torch.equal(seen.captions, all_of.captions)
    assert torch.equal(seen.own, all_of.own[2:])
    assert torch.equal(seen.same, all_of.same[2:])
