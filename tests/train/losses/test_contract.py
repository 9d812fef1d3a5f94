"""Losses: a naive loop agrees, gradients hold, neither order nor the number of ranks counts."""

from __future__ import annotations

import dataclasses
import importlib.util
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from synth.base.errors import SpecError
from synth.truth.frames import Audibility
from tests.kit.loss_batches import (
    EXACT,
    LOSSES,
    ROLES,
    SINGLE,
    A,
    B,
    PlainBatch,
    as_singles_and_pairs,
    as_whole_groups,
    drop_extras,
    make_batch,
    make_distinct,
    map_extras,
    shuffle_extras,
    take,
    with_numbers,
)
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
from train.losses.batch import Embedded, Ragged, World
from train.losses.captions import apply_loss, dissimilarity
from train.losses.contrastive import LossPlan, contrastive_rows
from train.losses.frames import Localised, frame_loss

SEEDS = range(20)
FORWARD, REVERSED, OVERLAY = range(3)
Weight = Callable[[int, int], float]


def as_made(batch: Embedded) -> Embedded:
    return batch


def sum_sounds(data: Any, row: int, text: list[float]) -> float:
    """A text against every sound that the row's caption stands against, and its own."""
    return sum(data.exp(text, data.audio[other]) for other in data.seen(row))


def sum_captions(data: Any, row: int) -> float:
    return sum(data.exp(data.audio[row], data.captions[other]) for other in data.seen(row))


def sum_extras(data: Any, role: str, row: int) -> float:
    return sum(data.exp(data.audio[row], text) for text in data.of(role, row))


def naive_hard_negatives(data: Any, negatives: float = 1.0, group: float = 1.0) -> float:
    total = 0.0
    groups = data.batch.groups.tolist()
    for row in data.rows:
        texts = negatives * sum_extras(data, "negatives", row)
        sounds = 0.0
        for other in data.seen(row):
            weight = group if other != row and groups[other] == groups[row] else 1.0
            texts += weight * data.exp(data.audio[row], data.captions[other])
            sounds += weight * data.exp(data.captions[row], data.audio[other])
        own = data.exp(data.audio[row], data.captions[row])
        total -= math.log(own / texts) + math.log(own / sounds)
    return total / (2 * len(data.rows))


def naive_info_nce(data: Any) -> float:
    return naive_hard_negatives(data, negatives=0)


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

    loss: Callable[[Embedded], Tensor]
    naive: Callable[[Any], float]
    prepare: Callable[[Embedded], Embedded] = as_made
    order_within_rows: bool = False


def loss_of(settings: Loss, batch: Embedded) -> Tensor:
    return apply_loss(settings, batch, World())


def case_of(settings: Loss, naive: Callable[[Any], float], *prepared: Any) -> LossCase:
    return LossCase(lambda batch: loss_of(settings, batch), naive, *prepared)


NAIVE: dict[str, Callable[[Any], float]] = {
    "info_nce": naive_info_nce,
    "hard_negatives": naive_hard_negatives,
    "hard_negatives, weighed": lambda data: naive_hard_negatives(data, 8, 8),
    "modular": naive_in_denominator,
    "modular, literal": naive_literal,
    "teminal_b": naive_teminal_b,
    "teminal_b, literal": lambda data: naive_teminal_b(data, OverlayRow.LITERAL),
    "sigmoid": naive_sigmoid,
}
CASES = {
    **{name: case_of(LOSSES[name], naive) for name, naive in NAIVE.items()},
    "teminal_a": case_of(A, naive_teminal_a, as_singles_and_pairs),
    "teminal_b, whole groups": case_of(B, naive_teminal_b, as_whole_groups),
    **{
        # Within a row the order of swapped captions says which number draws which.
        f"textswap, {share}": case_of(
            TextSwap(share=share), naive_textswap(share), with_numbers, True
        )
        for share in (0.0, 0.15, 0.6, 1.0)
    },
    "dissimilarity": LossCase(lambda batch: dissimilarity(batch, World()), naive_dissimilarity),
}
every_loss = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@every_loss
def test_it_agrees_with_a_naive_loop(case: LossCase) -> None:
    for seed in SEEDS:
        batch = case.prepare(make_batch(seed))
        expected = case.naive(PlainBatch(batch))
        assert case.loss(batch).item() == pytest.approx(expected, abs=EXACT), seed


@every_loss
def test_order_changes_nothing(case: LossCase) -> None:
    for seed in range(3):
        batch = case.prepare(make_batch(seed, rows=6))
        moved = take(batch, torch.randperm(6, generator=torch.Generator().manual_seed(seed)))
        moved = shuffle_extras(moved, within_rows=not case.order_within_rows)
        assert case.loss(moved).item() == pytest.approx(case.loss(batch).item(), abs=EXACT)


@every_loss
def test_gradients_are_those_of_finite_differences(case: LossCase) -> None:
    """In all that is learnt."""
    batch = case.prepare(make_batch(6, rows=4))
    names = ("audio", "captions", "scale", "bias")

    def loss(*values: Tensor) -> Tensor:
        plain, extras = values[: len(names)], values[len(names) :]
        flat = {
            role: Ragged(texts, getattr(batch, role).owner)
            for role, texts in zip(ROLES, extras, strict=True)
        }
        learnt = dict(zip(names, plain, strict=True))
        return case.loss(dataclasses.replace(batch, **learnt, **flat))

    leaves = [getattr(batch, name) for name in names]
    leaves += [getattr(batch, role).values for role in ROLES]
    inputs = [leaf.detach().clone().requires_grad_() for leaf in leaves]
    assert torch.autograd.gradcheck(loss, inputs)


@every_loss
def test_half_precision_is_summed_in_float32(case: LossCase) -> None:
    batch = case.prepare(make_batch(7, rows=6))
    rounded = dataclasses.replace(
        map_extras(batch, lambda flat: Ragged(flat.values.bfloat16(), flat.owner)),
        audio=batch.audio.bfloat16(),
        captions=batch.captions.bfloat16(),
        scale=batch.scale.float(),
        bias=batch.bias.float(),
    )
    assert case.loss(rounded).dtype is torch.float32
    assert case.loss(rounded).item() == pytest.approx(case.loss(batch).item(), abs=0.1)


def test_losses_without_what_sets_them_apart_are_each_other() -> None:
    literal = Modular(variant=ModularVariant.LITERAL)
    without_positives = HardNegatives()
    for seed in range(3):
        batch = with_numbers(as_whole_groups(make_batch(seed, rows=9)))
        bare, denied = drop_extras(batch), drop_extras(batch, "positives")
        swapless = drop_extras(batch, "negatives")
        pairs = as_singles_and_pairs(batch)
        equal: list[tuple[Loss, Loss, Embedded]] = [
            (HardNegatives(), InfoNce(), bare),
            (Modular(), InfoNce(), bare),
            (literal, InfoNce(), bare),
            (Modular(), without_positives, denied),
            (literal, without_positives, denied),
            (TeminalA(), InfoNce(), pairs),
            *((TeminalB(overlay_row=row), InfoNce(), batch) for row in OverlayRow),
            (TextSwap(share=0), InfoNce(), batch),
            (TextSwap(share=1), InfoNce(), swapless),
        ]
        for one, other, data in equal:
            expected = loss_of(other, data).item()
            assert loss_of(one, data).item() == pytest.approx(expected, abs=EXACT), (one, other)


def test_teminal_without_weights_is_the_mean_of_info_nce_in_each_view() -> None:
    batch = as_whole_groups(make_batch(2, rows=12))
    without: list[tuple[Loss, int, Embedded]] = [
        (TeminalA(alpha_same=0, alpha_cross=0), 2, as_singles_and_pairs(batch)),
        (TeminalB(alpha_st=0, alpha_ct=0, alpha_so=0, alpha_co=0), 3, batch),
    ]
    for settings, count, data in without:
        views = [take(data, torch.nonzero(data.views == view).flatten()) for view in range(count)]
        expected = sum(loss_of(InfoNce(), view).item() for view in views) / count
        assert loss_of(settings, data).item() == pytest.approx(expected, abs=EXACT)


def test_teminal_b_does_not_tell_forward_from_reversed_but_equation_13_does() -> None:
    batch = as_whole_groups(make_batch(3, rows=12))
    turned = dataclasses.replace(batch, views=torch.tensor([1, 0, 2])[batch.views])
    for settings, same in ((LOSSES["teminal_b"], True), (LOSSES["teminal_b, literal"], False)):
        change = loss_of(settings, turned).item() - loss_of(settings, batch).item()
        assert (abs(change) < EXACT) == same
        assert same or abs(change) > 1e-3


def test_modular_as_printed_can_go_negative_and_with_positives_in_the_denominator_cannot() -> None:
    batch = drop_extras(make_distinct(make_batch(3, rows=3)))
    # Positives that fit the sounds perfectly, captions that do not fit at all.
    batch = dataclasses.replace(
        batch,
        captions=-batch.audio.mean(dim=0, keepdim=True).expand(3, -1),
        positives=Ragged(batch.audio, torch.arange(3)),
    )
    assert loss_of(LOSSES["modular, literal"], batch) < 0
    assert loss_of(LOSSES["modular"], batch) > 0


def test_info_nce_and_sigmoid_are_those_of_open_clip() -> None:
    spec = importlib.util.find_spec("open_clip")
    assert spec.submodule_search_locations
    # Its losses alone: the package at large needs torchvision, they need torch.
    file = Path(spec.submodule_search_locations[0]) / "loss.py"
    spec = importlib.util.spec_from_file_location("open_clip_losses", file)
    theirs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(theirs)
    batch = drop_extras(make_distinct(make_batch(2, rows=7)))
    pair = (batch.audio, batch.captions, batch.scale)
    for settings, expected in (
        (InfoNce(), theirs.ClipLoss()(*pair)),
        (Sigmoid(), theirs.SigLipLoss()(*pair, batch.bias)),
    ):
        assert loss_of(settings, batch).item() == pytest.approx(expected.item(), abs=EXACT)


def test_a_sharp_scale_does_not_overflow() -> None:
    sharp = dataclasses.replace(
        with_numbers(as_singles_and_pairs(make_batch(4, rows=5))),
        scale=torch.tensor(1e5, dtype=torch.float64),
    )
    assert [name for name, loss in LOSSES.items() if not loss_of(loss, sharp).isfinite()] == []


def test_a_batch_that_a_loss_cannot_take_is_refused() -> None:
    batch = make_batch(1, rows=4)
    strange = dataclasses.replace(batch, views=torch.tensor([0, 1, 2, -1]))
    whole = dataclasses.replace(batch, views=torch.tensor([0, 1, 2, 0]))
    with pytest.raises(SpecError, match="needs a corpus of triplets"):
        loss_of(TeminalB(), strange)
    with pytest.raises(SpecError, match="needs a corpus of single and combined"):
        loss_of(TeminalA(), whole)
    with pytest.raises(ValueError, match="needs numbers"):
        loss_of(TextSwap(), batch)


def test_dissimilarity_is_0_of_opposites_2_of_equals_and_0_where_nothing_is_denied() -> None:
    batch = make_batch(1, rows=4)
    owner = torch.tensor([3, 1])
    for sign, expected in ((-1, 0.0), (1, 2.0)):
        denied = Ragged(sign * batch.captions[owner], owner)
        changed = dataclasses.replace(batch, denied=denied)
        assert dissimilarity(changed, World()).item() == pytest.approx(expected, abs=EXACT)
    assert dissimilarity(drop_extras(batch), World()).item() == 0


# The primitive.


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


# The frame-wise loss, beside sums in plain Python.


ABSENT, FAINT, CLEAR = (int(state) for state in Audibility)


def make(seed: int, rows: int = 3, sounds: int = 4, tokens: int = 5) -> Localised:
    generator = torch.Generator().manual_seed(seed)

    def unit(*shape: int) -> Tensor:
        return normalize(torch.randn(*shape, 6, generator=generator, dtype=torch.float64), dim=-1)

    frames = unit(rows, tokens)
    frames[0, -1] = 0  # behind the end of a sound
    states = torch.randint(3, (rows, sounds, tokens), generator=generator).to(torch.int8)
    return Localised(frames, unit(sounds), states, torch.tensor(3.0, dtype=torch.float64))


def oracle(batch: Localised) -> float:
    """The mean, token by token and sound by sound."""
    frames, sounds, states = (
        batch.frames.tolist(),
        batch.sounds.tolist(),
        batch.states.tolist(),
    )
    total, count = 0.0, 0
    for number, sound in enumerate(sounds):
        judged = [
            (tokens[place], row[number][place])
            for row, tokens in zip(states, frames, strict=True)
            for place in range(min(len(tokens), len(row[number])))
            if row[number][place] != FAINT and any(tokens[place])
        ]
        clear = sum(state == CLEAR for _, state in judged)
        bias = math.log((clear + 1) / (len(judged) - clear + 1))
        for token, state in judged:
            cosine = sum(a * b for a, b in zip(token, sound, strict=True))
            logit = batch.scale.item() * cosine + bias
            right = 1 / (1 + math.exp(-logit if state == CLEAR else logit))
            total -= math.log(right)
        count += len(judged)
    return total / max(count, 1)


@pytest.mark.parametrize("seed", range(5))
def test_the_loss_is_the_mean_over_judged_tokens_and_sounds(seed: int) -> None:
    batch = make(seed)
    assert frame_loss(batch, World()).item() == pytest.approx(oracle(batch), abs=1e-12)


def test_other_counts_of_tokens_and_nothing_to_judge_are_no_fault() -> None:
    batch = make(1)
    wider = dataclasses.replace(batch, frames=torch.cat([batch.frames, batch.frames], dim=1))
    assert frame_loss(wider, World()).item() == pytest.approx(oracle(batch), abs=1e-12)
    narrow = dataclasses.replace(batch, frames=batch.frames[:, :3])
    assert frame_loss(narrow, World()).item() == pytest.approx(oracle(narrow), abs=1e-12)
    batch = make(3)
    silent = dataclasses.replace(batch, states=torch.full_like(batch.states, FAINT))
    assert frame_loss(silent, World()).item() == 0
    none = dataclasses.replace(batch, sounds=batch.sounds[:0], states=batch.states[:, :0])
    assert frame_loss(none, World()).item() == 0


def test_gradients_of_frames_are_those_of_finite_differences() -> None:
    batch = make(4)
    frames = batch.frames[1:]  # at zero a token is not judged, so the loss is not smooth there
    leaves = [leaf.clone().requires_grad_() for leaf in (frames, batch.sounds, batch.scale)]

    def of(frames: Tensor, sounds: Tensor, scale: Tensor) -> Tensor:
        return frame_loss(Localised(frames, sounds, batch.states[1:], scale), World())

    assert torch.autograd.gradcheck(of, leaves)


# Two processes that share a batch learn what one learns from the whole.


SCRIPT = Path(__file__).with_name("two_processes.py")
NAMES = (*LOSSES, "dissimilarity", "frames")
# The first process holds 3 rows of 8; then but one, without extras; then none.
CUTS = (3, 1, 0)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each of two processes found."""
    folder = tmp_path_factory.mktemp("two")
    batch = with_numbers(map_extras(make_batch(11, rows=8), _drop_those_of_the_first))
    # Captions of different processes say the same.
    batch = dataclasses.replace(batch, texts=torch.tensor([0, 1, 2, 3, 0, 5, 1, 7]))
    assert len(batch.denied.owner) >= 2
    torch.save({"batch": batch, "cuts": CUTS}, folder / "batch.pt")
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, SCRIPT, folder],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(2)]


def _drop_those_of_the_first(extras: Ragged) -> Ragged:
    kept = extras.owner > 0
    return Ragged(extras.values[kept], extras.owner[kept])


@pytest.mark.parametrize("name", NAMES)
def test_the_joint_batch_has_one_loss(name: str, results: list[dict[str, Any]]) -> None:
    for result, cut in product(results, CUTS):
        for own, joint in result[f"{name} {cut}"].values():
            torch.testing.assert_close(own, joint, rtol=0, atol=1e-9)
    _, (weight, *_) = results[0][f"{name} 3"]["gradients"]
    assert weight.abs().max() > 1e-3


def test_worlds_gather_and_average(results: list[dict[str, Any]]) -> None:
    for rank, result in enumerate(results):
        seen = result["gathered"]
        assert seen["integers"].tolist() == [0, 1, 10, 11, 12]
        assert seen["pairs"].tolist() == [[0, 0], [1, -1], [10, -10], [11, -11], [12, -12]]
        assert seen["truths"].tolist() == [False, True, True, True, True]
        assert seen["nothing"].shape == (0, 3)
        assert seen["first"] == 2 * rank
    parts = [result["gathered"]["mean"].item() for result in results]
    assert sum(parts) / 2 == pytest.approx((0 + 1 + 10 + 11 + 12) / 5, abs=1e-9)
    assert [result["gathered"]["mean_of_none"].item() for result in results] == [0, 0]


def test_one_process_is_a_world_of_its_own() -> None:
    world = World()
    rows = torch.tensor([1.0, 2.0])
    assert world.gather(rows) is rows
    assert world.first == 0
    assert world.mean(rows) == 1.5
    assert world.mean(rows[:0]) == 0
