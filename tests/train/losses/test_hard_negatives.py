"""InfoNCE and hard negatives: the identities promised."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import ModuleType

import pytest
import torch

from train.losses.batch import Alone, Embedded, Ragged
from train.losses.captions import hard_negative_loss, info_nce

EXACT = 1e-9
Change = Callable[[Embedded], Embedded]


def hard(batch: Embedded) -> torch.Tensor:
    return hard_negative_loss(batch, Alone())


def test_without_negatives_it_is_info_nce(ragged: Callable[..., Embedded], bare: Change) -> None:
    batch = bare(ragged(1, rows=6))
    assert hard(batch).item() == pytest.approx(info_nce(batch, Alone()).item(), abs=EXACT)


def test_info_nce_and_its_gradients_are_those_of_a_naive_formula(
    ragged: Callable[..., Embedded], distinct: Change
) -> None:
    batch = distinct(ragged(1, rows=5))
    leaves = [leaf.clone().requires_grad_() for leaf in (batch.audio, batch.captions, batch.scale)]
    audio, captions, scale = leaves
    total = torch.zeros((), dtype=torch.float64)
    for i in range(5):
        own = torch.exp(scale * audio[i] @ captions[i])
        texts = sum(torch.exp(scale * audio[i] @ captions[j]) for j in range(5))
        sounds = sum(torch.exp(scale * captions[i] @ audio[j]) for j in range(5))
        total = total - torch.log(own / texts) - torch.log(own / sounds)
    changed = dataclasses.replace(batch, audio=audio, captions=captions, scale=scale)
    loss = info_nce(changed, Alone())
    assert loss.item() == pytest.approx((total / 10).item(), abs=EXACT)
    for ours, theirs in zip(
        torch.autograd.grad(loss, leaves), torch.autograd.grad(total / 10, leaves), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)


def test_info_nce_is_that_of_open_clip(
    ragged: Callable[..., Embedded], distinct: Change, open_clip_losses: ModuleType
) -> None:
    batch = distinct(ragged(2, rows=7))
    theirs = open_clip_losses.ClipLoss()(batch.audio, batch.captions, batch.scale)
    assert info_nce(batch, Alone()).item() == pytest.approx(theirs.item(), abs=EXACT)


def test_negatives_of_others_are_not_seen(ragged: Callable[..., Embedded]) -> None:
    batch = ragged(3, rows=4)
    owner = torch.tensor([0, 1, 3])
    values = batch.audio[:3].clone().requires_grad_()
    with_negatives = dataclasses.replace(batch, negatives=Ragged(values, owner))
    audio = batch.audio.clone().requires_grad_()
    loss = hard(dataclasses.replace(with_negatives, audio=audio))
    # The gradient of a negative points along its owner's audio, and no other's.
    (gradient,) = torch.autograd.grad(loss, values)
    for negative, row in zip(gradient, owner, strict=True):
        cosine = torch.nn.functional.cosine_similarity(negative, batch.audio[row], dim=0)
        assert cosine.item() == pytest.approx(1, abs=EXACT)


@pytest.mark.parametrize("key", ["texts", "meanings"])
def test_equal_captions_are_not_negatives_of_each_other(
    key: str, ragged: Callable[..., Embedded], distinct: Change, bare: Change
) -> None:
    batch = bare(distinct(ragged(4, rows=2)))
    assert info_nce(batch, Alone()) > 0.1
    alike = dataclasses.replace(batch, **{key: torch.tensor([5, 5])})
    assert info_nce(alike, Alone()).item() == pytest.approx(0, abs=EXACT)
