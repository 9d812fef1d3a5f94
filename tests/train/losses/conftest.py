"""Random batches of unequally many extras, and what every loss is held against."""

from __future__ import annotations

import dataclasses
import importlib.util
import math
import os
import random
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from train.losses.batch import Embedded, Ragged

DIM = 5
Loss = Callable[[Embedded], Tensor]


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
    each = torch.arange(len(batch.texts))
    none = torch.zeros_like(batch.unrefuted)
    return dataclasses.replace(batch, texts=each, meanings=each, unrefuted=none)


def make_bare(batch: Embedded) -> Embedded:
    """The batch without extras."""
    none = Ragged(batch.audio[:0], torch.zeros(0, dtype=torch.long))
    return dataclasses.replace(batch, positives=none, negatives=none, denied=none)


def taken(batch: Embedded, order: Tensor) -> Embedded:
    """The rows of `order` in that order, and their extras."""

    def extras(of: Ragged) -> Ragged:
        kept = [(new, k) for new, old in enumerate(order) for k in _of(of, int(old))]
        return Ragged(
            of.values[[k for _, k in kept]] if kept else of.values[:0],
            torch.tensor([new for new, _ in kept], dtype=torch.long),
        )

    def _of(of: Ragged, row: int) -> list[int]:
        return [k for k, owner in enumerate(of.owner.tolist()) if owner == row]

    rows = ("audio", "captions", "texts", "meanings", "views", "groups", "classes")
    return dataclasses.replace(
        batch,
        **{name: getattr(batch, name)[order] for name in rows},
        unrefuted=batch.unrefuted[order][:, order],
        uniform=None if batch.uniform is None else batch.uniform[order][:, order],
        **{name: extras(getattr(batch, name)) for name in ("positives", "negatives", "denied")},
    )


def shuffled(batch: Embedded) -> Embedded:
    """The batch, the extras of each role in another order."""
    generator = torch.Generator().manual_seed(1)

    def shuffle(of: Ragged) -> Ragged:
        order = torch.randperm(len(of.owner), generator=generator)
        return Ragged(of.values[order], of.owner[order])

    roles = ("positives", "negatives", "denied")
    return dataclasses.replace(batch, **{role: shuffle(getattr(batch, role)) for role in roles})


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


@pytest.fixture(scope="session")
def ragged() -> Callable[..., Embedded]:
    return make_batch


@pytest.fixture(scope="session")
def distinct() -> Callable[[Embedded], Embedded]:
    return make_distinct


@pytest.fixture(scope="session")
def bare() -> Callable[[Embedded], Embedded]:
    return make_bare


@pytest.fixture(scope="session")
def take() -> Callable[[Embedded, Tensor], Embedded]:
    return taken


@pytest.fixture(scope="session")
def plain() -> type[PlainBatch]:
    return PlainBatch


@pytest.fixture(scope="session")
def shuffle() -> Callable[[Embedded], Embedded]:
    return shuffled


@pytest.fixture(scope="session")
def gradients_hold() -> Callable[[Loss, Embedded], None]:
    """Holds a loss's gradients against finite differences, in all that is learnt."""

    def check(loss: Loss, batch: Embedded) -> None:
        def of(*values: Tensor) -> Tensor:
            audio, captions, positives, negatives, denied, scale, bias = values
            changed = dataclasses.replace(
                batch,
                audio=audio,
                captions=captions,
                positives=Ragged(positives, batch.positives.owner),
                negatives=Ragged(negatives, batch.negatives.owner),
                denied=Ragged(denied, batch.denied.owner),
                scale=scale,
                bias=bias,
            )
            return loss(changed)

        extras = (batch.positives, batch.negatives, batch.denied)
        leaves = (
            batch.audio,
            batch.captions,
            *(of_role.values for of_role in extras),
            batch.scale,
            batch.bias,
        )
        inputs = [leaf.detach().clone().requires_grad_() for leaf in leaves]
        assert torch.autograd.gradcheck(of, inputs)

    return check


@pytest.fixture(scope="session")
def half_precision_is_exact_inside() -> Callable[[Loss, Embedded], None]:
    """A loss of bfloat16 embeddings is a float32 that is near that of exact ones."""

    def check(loss: Loss, batch: Embedded) -> None:
        def half(extras: Ragged) -> Ragged:
            return Ragged(extras.values.bfloat16(), extras.owner)

        rounded = dataclasses.replace(
            batch,
            audio=batch.audio.bfloat16(),
            captions=batch.captions.bfloat16(),
            positives=half(batch.positives),
            negatives=half(batch.negatives),
            denied=half(batch.denied),
            scale=batch.scale.float(),
            bias=batch.bias.float(),
        )
        assert loss(rounded).dtype is torch.float32
        assert loss(rounded).item() == pytest.approx(loss(batch).item(), abs=0.1)

    return check


@pytest.fixture(scope="session")
def open_clip_losses() -> ModuleType:
    """open_clip's losses alone: the package at large needs torchvision, they need torch."""
    found = importlib.util.find_spec("open_clip")
    if found is None or not found.submodule_search_locations:
        reason = "open_clip_torch is not installed"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    file = Path(found.submodule_search_locations[0]) / "loss.py"
    spec = importlib.util.spec_from_file_location("open_clip_losses", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
