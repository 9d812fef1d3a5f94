"""Random batches of unequally many extras, and the losses that are tried on them."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable, Iterable

import torch
from torch import Tensor
from torch.nn.functional import normalize

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
from train.losses.batch import Embedded, Ragged

DIM = 5
EXACT = 1e-9
ROLES = ("positives", "negatives", "denied")
SINGLE = 0
A = TeminalA(alpha_same=0.4, alpha_cross=1.6, beta=0.2)
B = TeminalB(alpha_st=2.0, alpha_ct=0.5, alpha_so=0.0, alpha_co=0.3, beta=0.7)
LOSSES: dict[str, Loss] = {
    "info_nce": InfoNce(),
    "hard_negatives": HardNegatives(),
    "hard_negatives, weighed": HardNegatives(weight=8),
    "modular": Modular(),
    "modular, literal": Modular(variant=ModularVariant.LITERAL),
    "teminal_a": A,
    "teminal_b": B,
    "teminal_b, literal": B.model_copy(update={"overlay_row": OverlayRow.LITERAL}),
    "textswap": TextSwap(share=0.6),
    "sigmoid": Sigmoid(),
}
"""One of each, with weights that all differ."""


def _unit(generator: torch.Generator, rows: int) -> Tensor:
    return normalize(torch.randn(rows, DIM, generator=generator, dtype=torch.float64), dim=1)


def _extras(generator: torch.Generator, counts: Iterable[int]) -> Ragged:
    owner = [row for row, count in enumerate(counts) for _ in range(count)]
    return Ragged(_unit(generator, len(owner)), torch.tensor(owner, dtype=torch.long))


def make_batch(seed: int, rows: int | None = None, most: int = 3) -> Embedded:
    """A random batch in float64; captions repeat, and rows have 0 to `most` extras of each role."""
    generator, draw = torch.Generator().manual_seed(seed), random.Random(seed)
    rows = draw.randint(1, 7) if rows is None else rows
    numbers = torch.tensor([[draw.randrange(2 * rows) for _ in range(rows)] for _ in range(2)])
    classes = torch.tensor([[draw.randrange(3), draw.randrange(3)] for _ in range(rows)])
    return Embedded(
        audio=_unit(generator, rows),
        captions=_unit(generator, rows),
        positives=_extras(generator, [draw.randint(0, most) for _ in range(rows)]),
        negatives=_extras(generator, [draw.randint(0, most) for _ in range(rows)]),
        denied=_extras(generator, [draw.randint(0, min(most, 1)) for _ in range(rows)]),
        texts=numbers[0],
        meanings=numbers[1],
        views=torch.tensor([draw.randrange(3) for _ in range(rows)]),
        groups=torch.tensor([draw.randrange(max(rows // 2, 1)) for _ in range(rows)]),
        classes=classes,
        unrefuted=torch.tensor(
            [[i != j and draw.random() < 0.2 for j in range(rows)] for i in range(rows)]
        ),
        scale=torch.tensor(4.0, dtype=torch.float64),
        bias=torch.tensor(-2.0, dtype=torch.float64),
    )


def make_distinct(batch: Embedded) -> Embedded:
    """The batch, with captions that all say different things."""
    numbers = torch.arange(len(batch.texts))
    none = torch.zeros_like(batch.unrefuted)
    return dataclasses.replace(batch, texts=numbers, meanings=numbers, unrefuted=none)


def drop_extras(batch: Embedded, *roles: str) -> Embedded:
    """The batch without extras of these roles, of any by default."""
    none = Ragged(batch.audio[:0], torch.zeros(0, dtype=torch.long))
    return dataclasses.replace(batch, **dict.fromkeys(roles or ROLES, none))


def map_extras(batch: Embedded, change: Callable[[Ragged], Ragged]) -> Embedded:
    return dataclasses.replace(batch, **{role: change(getattr(batch, role)) for role in ROLES})


def take(batch: Embedded, order: Tensor) -> Embedded:
    """The rows of `order` in that order, and their extras."""

    def extras(flat: Ragged) -> Ragged:
        new, kept = torch.nonzero(order[:, None] == flat.owner[None, :], as_tuple=True)
        return Ragged(flat.values[kept], new)

    rows = ("audio", "captions", "texts", "meanings", "views", "groups", "classes")
    return dataclasses.replace(
        map_extras(batch, extras),
        **{name: getattr(batch, name)[order] for name in rows},
        unrefuted=batch.unrefuted[order][:, order],
        uniform=None if batch.uniform is None else batch.uniform[order][:, order],
    )


def shuffle_extras(batch: Embedded, within_rows: bool = True) -> Embedded:
    """The batch, the extras of each role in another order."""
    generator = torch.Generator().manual_seed(1)

    def shuffle(flat: Ragged) -> Ragged:
        order = torch.randperm(len(flat.owner), generator=generator)
        if not within_rows:
            order = torch.argsort(-flat.owner, stable=True)
        return Ragged(flat.values[order], flat.owner[order])

    return map_extras(batch, shuffle)


def as_singles_and_pairs(batch: Embedded) -> Embedded:
    views = torch.arange(len(batch.views)) % 2
    single = batch.classes[:, :1].expand(-1, 2)
    classes = torch.where(views[:, None] == SINGLE, single, batch.classes)
    return dataclasses.replace(batch, views=views, classes=classes)


def as_whole_groups(batch: Embedded) -> Embedded:
    """Forward, reversed and overlay of each group; of the last what there are rows for."""
    numbers = torch.arange(len(batch.views))
    return dataclasses.replace(batch, views=numbers % 3, groups=numbers // 3)


def with_numbers(batch: Embedded) -> Embedded:
    """With the numbers that TextSwap draws by."""
    rows = len(batch.audio)
    generator = torch.Generator().manual_seed(rows)
    uniform = torch.rand(rows, rows, generator=generator, dtype=torch.float64)
    return dataclasses.replace(batch, uniform=uniform)


class PlainBatch:
    """A batch as plain Python lists."""

    def __init__(self, batch: Embedded) -> None:
        self.audio: list[list[float]] = batch.audio.tolist()
        self.captions: list[list[float]] = batch.captions.tolist()
        self.rows = range(len(self.audio))
        self.scale, self.bias = batch.scale.item(), batch.bias.item()
        self.batch = batch

    def logit(self, left: list[float], right: list[float]) -> float:
        return self.scale * sum(a * b for a, b in zip(left, right, strict=True))

    def exp(self, left: list[float], right: list[float]) -> float:
        return math.exp(self.logit(left, right))

    def seen(self, row: int) -> list[int]:
        """The row itself, and the rows whose captions say something else that is false of it."""
        texts, meanings = self.batch.texts.tolist(), self.batch.meanings.tolist()
        unrefuted = self.batch.unrefuted.tolist()
        return [
            other
            for other in self.rows
            if other == row
            or (
                texts[other] != texts[row]
                and meanings[other] != meanings[row]
                and not (unrefuted[row][other] or unrefuted[other][row])
            )
        ]

    def of(self, role: str, row: int) -> list[list[float]]:
        """The row's own extras of a role."""
        extras: Ragged = getattr(self.batch, role)
        pairs = zip(extras.owner.tolist(), extras.values.tolist(), strict=True)
        return [value for owner, value in pairs if owner == row]
