"""TextSwap: the identities promised."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable

import pytest
import torch

from train.losses.batch import Alone, Embedded, Ragged
from train.losses.captions import info_nce, textswap_loss

EXACT = 1e-9
Make = Callable[..., Embedded]


def numbers(batch: Embedded, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(len(batch.audio), len(batch.audio), generator=generator)


def swap(batch: Embedded, share: float, uniform: torch.Tensor | None = None) -> torch.Tensor:
    uniform = numbers(batch) if uniform is None else uniform
    return textswap_loss(dataclasses.replace(batch, uniform=uniform), Alone(), share)


def test_share_zero_is_info_nce(ragged: Make) -> None:
    batch = ragged(1, rows=6)
    expected = info_nce(batch, Alone()).item()
    assert swap(batch, 0).item() == pytest.approx(expected, abs=EXACT)
    assert swap(batch, 0, torch.zeros(6, 6)).item() == pytest.approx(expected, abs=EXACT)


def test_rows_without_swapped_captions_replace_nothing(
    ragged: Make, bare: Callable[[Embedded], Embedded]
) -> None:
    batch = ragged(2, rows=6)
    batch = dataclasses.replace(batch, negatives=bare(batch).negatives)
    assert swap(batch, 1).item() == pytest.approx(info_nce(batch, Alone()).item(), abs=EXACT)


def test_share_one_sees_the_own_caption_and_swapped_ones_only(
    ragged: Make, distinct: Callable[[Embedded], Embedded]
) -> None:
    batch = distinct(ragged(3, rows=4))
    owner = torch.arange(4)
    batch = dataclasses.replace(batch, negatives=Ragged(batch.audio.flip(0), owner))
    to_audio = torch.nn.functional.cross_entropy(
        batch.scale * batch.captions @ batch.audio.T, owner
    )
    own = batch.scale * (batch.audio * batch.captions).sum(dim=1)
    # Three wrong captions, each replaced by the row's one swapped caption.
    wrong = batch.scale * (batch.audio * batch.negatives.values).sum(dim=1) + math.log(3)
    to_text = (torch.logaddexp(own, wrong) - own).mean()
    assert swap(batch, 1).item() == pytest.approx((to_text + to_audio).item() / 2, abs=EXACT)


@pytest.mark.parametrize("share", [0.1, 0.15, 0.3, 0.7, 1.0])
def test_numbers_up_to_the_share_draw_from_the_first_caption_to_the_last(
    share: float, ragged: Make, distinct: Callable[[Embedded], Embedded]
) -> None:
    batch = distinct(ragged(4, rows=2))
    below = torch.nextafter(torch.tensor(share), torch.tensor(0.0))
    for number, place in ((torch.tensor(0.0), 0), (below, 2)):
        values = batch.audio[[0, 0, 0]].clone().requires_grad_()
        swapped = dataclasses.replace(
            batch, negatives=Ragged(values, torch.zeros(3, dtype=torch.long))
        )
        (pull,) = torch.autograd.grad(swap(swapped, share, number.expand(2, 2)), values)
        assert pull.any(dim=1).tolist() == [place == each for each in range(3)]


def test_as_many_are_replaced_as_the_share_says_and_by_each_as_often(ragged: Make) -> None:
    # A swapped caption's logit is known by its gradient: one over the denominator, times its count.
    rows = 200
    batch = dataclasses.replace(
        ragged(5, rows=rows, most=0),
        texts=torch.arange(rows),
        meanings=torch.arange(rows),
        unrefuted=torch.zeros(rows, rows, dtype=torch.bool),
    )
    values = torch.zeros(2 * rows, 5, dtype=torch.float64)
    owner = torch.arange(rows).repeat_interleave(2)
    weak = dataclasses.replace(
        batch, negatives=Ragged(values, owner), scale=torch.zeros((), dtype=torch.float64)
    )
    leaf = torch.zeros_like(values).requires_grad_()
    scale = torch.tensor(1e-9, dtype=torch.float64)
    known = dataclasses.replace(weak, negatives=Ragged(leaf, owner), scale=scale)
    (gradient,) = torch.autograd.grad(swap(known, 0.3), leaf)
    count = gradient.norm(dim=1) / scale * 2 * rows * rows
    first, second = (count[place::2].sum() / (rows * (rows - 1)) for place in (0, 1))
    assert first.item() == pytest.approx(0.15, abs=0.01)
    assert second.item() == pytest.approx(0.15, abs=0.01)
    whole = Counter(bool(abs(value - round(value)) < 1e-3) for value in count.tolist())
    assert whole[False] == 0


def test_order_of_extras_across_rows_does_not_matter(ragged: Make) -> None:
    # Within a row it says which number draws which caption, so there it is kept.
    batch = ragged(7, rows=6)
    flat = batch.negatives
    order = torch.argsort(-flat.owner, stable=True)
    moved = dataclasses.replace(batch, negatives=Ragged(flat.values[order], flat.owner[order]))
    assert swap(moved, 0.5).item() == pytest.approx(swap(batch, 0.5).item(), abs=EXACT)
