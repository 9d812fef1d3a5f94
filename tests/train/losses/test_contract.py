"""What holds for every loss: a naive loop agrees, gradients hold, the order of rows is nothing."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from train.config.loss import (
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
from train.losses.batch import Alone, Embedded, Ragged
from train.losses.captions import apply_loss, dissimilarity

EXACT = 1e-9
SEEDS = range(20)
FORWARD, REVERSED, OVERLAY = range(3)
SINGLE = 0
Make = Callable[..., Embedded]
Weight = Callable[[int, int], float]
A = TeminalA(alpha_same=0.4, alpha_cross=1.6, beta=0.2)
B = TeminalB(alpha_st=2.0, alpha_ct=0.5, alpha_so=0.0, alpha_co=0.3, beta=0.7)


def as_made(batch: Embedded) -> Embedded:
    return batch


def as_singles_and_pairs(batch: Embedded) -> Embedded:
    views = torch.arange(len(batch.views)) % 2
    single = batch.classes[:, :1].expand(-1, 2)
    classes = torch.where(views[:, None] == SINGLE, single, batch.classes)
    return dataclasses.replace(batch, views=views, classes=classes)


def as_whole_groups(batch: Embedded) -> Embedded:
    """Forward, reversed and overlay of each group; of the last what there are rows for."""
    each = torch.arange(len(batch.views))
    return dataclasses.replace(batch, views=each % 3, groups=each // 3)


def with_numbers(batch: Embedded) -> Embedded:
    """With the numbers that TextSwap draws by."""
    rows = len(batch.audio)
    generator = torch.Generator().manual_seed(rows)
    uniform = torch.rand(rows, rows, generator=generator, dtype=torch.float64)
    return dataclasses.replace(batch, uniform=uniform)


def sum_sounds(data: Any, row: int, text: list[float]) -> float:
    """A text against every sound that the row's caption stands against, and its own."""
    return sum(data.exp(text, data.audio[other]) for other in data.seen(row))


def sum_captions(data: Any, row: int) -> float:
    return sum(data.exp(data.audio[row], data.captions[other]) for other in data.seen(row))


def sum_extras(data: Any, role: str, row: int) -> float:
    return sum(data.exp(data.audio[row], text) for text in data.of(role, row))


def naive_hard_negatives(data: Any, negatives: bool = True) -> float:
    total = 0.0
    for row in data.rows:
        texts = sum_captions(data, row) + sum_extras(data, "negatives", row) * negatives
        sounds = sum_sounds(data, row, data.captions[row])
        own = data.exp(data.audio[row], data.captions[row])
        total -= math.log(own / texts) + math.log(own / sounds)
    return total / (2 * len(data.rows))


def naive_info_nce(data: Any) -> float:
    return naive_hard_negatives(data, negatives=False)


def naive_in_denominator(data: Any) -> float:
    total = 0.0
    for row in data.rows:
        true = [data.captions[row], *data.of("positives", row)]
        texts = sum_captions(data, row)
        texts += sum_extras(data, "positives", row) + sum_extras(data, "negatives", row)
        for text in true:
            own = data.logit(data.audio[row], text)
            total += (math.log(texts) - own) / len(true)
            total += (math.log(sum_sounds(data, row, text)) - own) / len(true)
    return total / (2 * len(data.rows))


def naive_literal(data: Any) -> float:
    total = 0.0
    for row in data.rows:
        true = data.of("positives", row) or [data.captions[row]]
        texts = sum_captions(data, row) + sum_extras(data, "negatives", row)
        sounds = sum_sounds(data, row, data.captions[row])
        answer = sum(data.logit(data.audio[row], text) for text in true) / len(true)
        total += math.log(texts) - answer + math.log(sounds) - answer
    return total / (2 * len(data.rows))


def naive_weighted(data: Any, weight: Weight, beta: float) -> float:
    total = 0.0
    for row in data.rows:
        own = data.logit(data.audio[row], data.captions[row])
        texts, sounds = (
            sum(weight(row, other) * data.exp(ones[row], others[other]) for other in data.seen(row))
            for ones, others in ((data.audio, data.captions), (data.captions, data.audio))
        )
        total += math.log(texts) - own + beta * (math.log(sounds) - own)
    return total / len(data.rows) / (1 + beta)


def naive_teminal_a(data: Any) -> float:
    views, classes = data.batch.views.tolist(), data.batch.classes.tolist()

    def weight(row: int, other: int) -> float:
        if views[row] == views[other]:
            return 1
        single, combined = (row, other) if views[row] == SINGLE else (other, row)
        return A.alpha_same if classes[single][0] in classes[combined] else A.alpha_cross

    return naive_weighted(data, weight, A.beta)


def naive_teminal_b(data: Any, overlay_row: OverlayRow = OverlayRow.SYMMETRIC) -> float:
    views, groups = data.batch.views.tolist(), data.batch.groups.tolist()

    def weight(row: int, other: int) -> float:
        same = groups[row] == groups[other]
        reversal = B.alpha_st if same else B.alpha_ct
        if views[row] == views[other]:
            return 1
        if OVERLAY not in (views[row], views[other]):
            return reversal
        if views[row] == OVERLAY and overlay_row is OverlayRow.LITERAL:
            return 1 if views[other] == FORWARD else reversal
        return B.alpha_so if same else B.alpha_co

    return naive_weighted(data, weight, B.beta)


def naive_textswap(share: float) -> Callable[[Any], float]:
    def naive(data: Any) -> float:
        uniform = data.batch.uniform.tolist()
        total = 0.0
        for row in data.rows:
            swapped, texts = data.of("negatives", row), 0.0
            for other in data.seen(row):
                text = data.captions[other]
                if other != row and swapped and uniform[row][other] < share:
                    text = swapped[math.floor(uniform[row][other] / share * len(swapped))]
                texts += data.exp(data.audio[row], text)
            sounds = sum_sounds(data, row, data.captions[row])
            own = data.logit(data.audio[row], data.captions[row])
            total += math.log(texts) + math.log(sounds) - 2 * own
        return total / (2 * len(data.rows))

    return naive


def naive_sigmoid(data: Any) -> float:
    total = 0.0
    for row in data.rows:
        own = data.logit(data.audio[row], data.captions[row]) + data.bias
        total += math.log(1 + math.exp(-own))
        wrong = [data.captions[other] for other in data.seen(row) if other != row]
        for text in (*wrong, *data.of("negatives", row)):
            total += math.log(1 + math.exp(data.logit(data.audio[row], text) + data.bias))
    return total / len(data.rows)


def naive_dissimilarity(data: Any) -> float:
    cosines = [
        data.logit(data.captions[row], denied) / data.scale
        for row in data.rows
        for denied in data.of("denied", row)
    ]
    return 1 + sum(cosines) / len(cosines) if cosines else 0


@dataclass(frozen=True)
class LossCase:
    """A loss, the same in plain Python, and what makes a random batch one that it takes."""

    loss: Callable[[Embedded], torch.Tensor]
    naive: Callable[[Any], float]
    prepare: Callable[[Embedded], Embedded] = as_made
    order_of_extras: bool = True

    @classmethod
    def of(cls, settings: Loss, naive: Callable[[Any], float], *prepared: Any) -> LossCase:
        return cls(lambda batch: apply_loss(settings, batch, Alone()), naive, *prepared)


CASES = {
    "info_nce": LossCase.of(InfoNce(), naive_info_nce),
    "hard_negatives": LossCase.of(HardNegatives(), naive_hard_negatives),
    "modular": LossCase.of(Modular(), naive_in_denominator),
    "modular, literal": LossCase.of(Modular(variant=ModularVariant.LITERAL), naive_literal),
    "teminal_a": LossCase.of(A, naive_teminal_a, as_singles_and_pairs),
    "teminal_b": LossCase.of(B, naive_teminal_b),
    "teminal_b, whole groups": LossCase.of(B, naive_teminal_b, as_whole_groups),
    "teminal_b, literal": LossCase.of(
        B.model_copy(update={"overlay_row": OverlayRow.LITERAL}),
        lambda data: naive_teminal_b(data, OverlayRow.LITERAL),
    ),
    **{
        # Within a row the order of swapped captions says which number draws which.
        f"textswap, {share}": LossCase.of(
            TextSwap(share=share), naive_textswap(share), with_numbers, False
        )
        for share in (0.0, 0.15, 0.6, 1.0)
    },
    "sigmoid": LossCase.of(Sigmoid(), naive_sigmoid),
    "dissimilarity": LossCase(lambda batch: dissimilarity(batch, Alone()), naive_dissimilarity),
}
every_loss = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@every_loss
def test_it_agrees_with_a_naive_loop(case: LossCase, ragged: Make, plain: Any) -> None:
    for seed in SEEDS:
        batch = case.prepare(ragged(seed))
        assert case.loss(batch).item() == pytest.approx(case.naive(plain(batch)), abs=EXACT), seed


@every_loss
def test_order_changes_nothing(case: LossCase, ragged: Make, take: Any, shuffle: Any) -> None:
    for seed in range(3):
        batch = case.prepare(ragged(seed, rows=6))
        order = torch.randperm(6, generator=torch.Generator().manual_seed(seed))
        moved = take(batch, order)
        if case.order_of_extras:
            moved = shuffle(moved)
        assert case.loss(moved).item() == pytest.approx(case.loss(batch).item(), abs=EXACT)


@every_loss
def test_gradients_are_those_of_finite_differences(
    case: LossCase, ragged: Make, gradients_hold: Callable[..., None]
) -> None:
    gradients_hold(case.loss, case.prepare(ragged(6, rows=4)))


@every_loss
def test_half_precision_is_summed_in_float32(
    case: LossCase, ragged: Make, half_precision_is_exact_inside: Callable[..., None]
) -> None:
    half_precision_is_exact_inside(case.loss, case.prepare(ragged(7, rows=6)))


def test_a_loss_that_draws_says_so_and_fails_without_numbers(ragged: Make) -> None:
    assert [settings.draws for settings in (TextSwap(), InfoNce())] == [True, False]
    with pytest.raises(ValueError, match="needs numbers"):
        apply_loss(TextSwap(), ragged(1), Alone())


def test_dissimilarity_is_0_of_opposites_2_of_equals_and_0_where_nothing_is_denied(
    ragged: Make, bare: Callable[[Embedded], Embedded]
) -> None:
    batch = ragged(1, rows=4)
    owner = torch.tensor([3, 1])
    for sign, expected in ((-1, 0.0), (1, 2.0)):
        denied = Ragged(sign * batch.captions[owner], owner)
        changed = dataclasses.replace(batch, denied=denied)
        assert dissimilarity(changed, Alone()).item() == pytest.approx(expected, abs=EXACT)
    assert dissimilarity(bare(batch), Alone()).item() == 0
