"""TeminAL: the identities promised."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
import torch

from synth.base.errors import SpecError
from train.config.loss import OverlayRow, TeminalA, TeminalB
from train.losses.batch import Alone, Embedded
from train.losses.captions import info_nce, teminal_a_loss, teminal_b_loss

EXACT = 1e-9
FORWARD, REVERSED, OVERLAY = range(3)
SINGLE, COMBINED = range(2)
Change = Callable[[Embedded], Embedded]
Take = Callable[[Embedded, torch.Tensor], Embedded]
Make = Callable[..., Embedded]

UNEVEN = TeminalB(alpha_st=2.0, alpha_ct=0.5, alpha_so=0.0, alpha_co=0.3, beta=0.7)


def a(batch: Embedded, settings: TeminalA) -> float:
    return teminal_a_loss(batch, Alone(), settings).item()


def b(batch: Embedded, settings: TeminalB) -> float:
    return teminal_b_loss(batch, Alone(), settings).item()


def triplets(ragged: Make, seed: int, groups: int = 4) -> Embedded:
    """Whole groups: forward, reversed and overlay of each."""
    batch = ragged(seed, rows=3 * groups)
    each = torch.arange(3 * groups)
    return dataclasses.replace(batch, views=each % 3, groups=each // 3)


def pairs(ragged: Make, seed: int, rows: int | None = None) -> Embedded:
    """Single and combined sounds."""
    batch = ragged(seed, rows=rows)
    views = torch.arange(len(batch.views)) % 2
    single = batch.classes[:, :1].expand(-1, 2)
    classes = torch.where(views[:, None] == SINGLE, single, batch.classes)
    return dataclasses.replace(batch, views=views, classes=classes)


@pytest.mark.parametrize("overlay_row", list(OverlayRow))
def test_b_with_all_weights_one_is_info_nce_over_all_rows(
    overlay_row: OverlayRow, ragged: Make
) -> None:
    batch = triplets(ragged, 1)
    expected = info_nce(batch, Alone()).item()
    assert b(batch, TeminalB(overlay_row=overlay_row)) == pytest.approx(expected, abs=EXACT)


def test_b_with_all_alpha_zero_is_the_mean_of_info_nce_in_each_view(
    ragged: Make, take: Take
) -> None:
    batch = triplets(ragged, 2)
    views = [take(batch, torch.nonzero(batch.views == view).flatten()) for view in range(3)]
    expected = sum(info_nce(view, Alone()).item() for view in views) / 3
    zero = TeminalB(alpha_st=0, alpha_ct=0, alpha_so=0, alpha_co=0)
    assert b(batch, zero) == pytest.approx(expected, abs=EXACT)


def test_b_does_not_tell_forward_from_reversed_but_equation_13_does(ragged: Make) -> None:
    batch = triplets(ragged, 3)
    turned = dataclasses.replace(batch, views=torch.tensor([1, 0, 2])[batch.views])
    assert b(turned, UNEVEN) == pytest.approx(b(batch, UNEVEN), abs=EXACT)
    literal = UNEVEN.model_copy(update={"overlay_row": OverlayRow.LITERAL})
    assert b(turned, literal) != pytest.approx(b(batch, literal), abs=1e-3)


@pytest.mark.parametrize("name", ["alpha_st", "alpha_ct", "alpha_so", "alpha_co"])
def test_b_each_weight_counts_and_adds_to_the_loss(name: str, ragged: Make) -> None:
    batch = triplets(ragged, 4)
    assert b(batch, TeminalB.model_validate({name: 0})) < b(batch, TeminalB())
    assert b(batch, TeminalB.model_validate({name: 3})) > b(batch, TeminalB())


def test_b_group_weights_do_not_touch_strangers(ragged: Make) -> None:
    # Every row is of its own group: the weights within a group have nothing to weigh.
    batch = dataclasses.replace(triplets(ragged, 5), groups=torch.arange(12))
    within = UNEVEN.model_copy(update={"alpha_st": 9.0, "alpha_so": 9.0})
    assert b(batch, within) == pytest.approx(b(batch, UNEVEN), abs=EXACT)


def test_a_with_all_weights_one_is_info_nce_over_all_rows(ragged: Make) -> None:
    batch = pairs(ragged, 1, rows=8)
    assert a(batch, TeminalA()) == pytest.approx(info_nce(batch, Alone()).item(), abs=EXACT)


def test_a_with_all_alpha_zero_is_the_mean_of_info_nce_in_each_view(
    ragged: Make, take: Take
) -> None:
    batch = pairs(ragged, 2, rows=8)
    views = [take(batch, torch.nonzero(batch.views == view).flatten()) for view in range(2)]
    expected = sum(info_nce(view, Alone()).item() for view in views) / 2
    assert a(batch, TeminalA(alpha_same=0, alpha_cross=0)) == pytest.approx(expected, abs=EXACT)


def test_beta_zero_leaves_sounds_that_choose_captions(ragged: Make, distinct: Change) -> None:
    batch = distinct(triplets(ragged, 3))
    logits = batch.scale * batch.audio @ batch.captions.T
    expected = torch.nn.functional.cross_entropy(logits, torch.arange(12)).item()
    assert b(batch, TeminalB(beta=0)) == pytest.approx(expected, abs=EXACT)
    batch = dataclasses.replace(batch, views=batch.views % 2)
    assert a(batch, TeminalA(beta=0)) == pytest.approx(expected, abs=EXACT)


def test_captions_that_say_the_same_are_not_negatives(ragged: Make, bare: Change) -> None:
    batch = dataclasses.replace(bare(triplets(ragged, 5)), meanings=torch.ones(12).long())
    assert b(batch, UNEVEN) == pytest.approx(0, abs=EXACT)
    batch = dataclasses.replace(batch, views=batch.views % 2)
    assert a(batch, TeminalA(alpha_same=5)) == pytest.approx(0, abs=EXACT)


def test_another_corpus_is_refused(ragged: Make) -> None:
    batch = dataclasses.replace(ragged(1, rows=4), views=torch.tensor([0, 1, 2, -1]))
    with pytest.raises(SpecError, match="needs a corpus of triplets"):
        b(batch, TeminalB())
    with pytest.raises(SpecError, match="needs a corpus of single and combined"):
        a(dataclasses.replace(batch, views=torch.tensor([0, 1, 2, 0])), TeminalA())
