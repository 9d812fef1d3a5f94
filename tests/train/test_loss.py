"""The loss against naive loops in float64, and the identities that it promises."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import normalize

from train.loss import (
    Plan,
    caption_plan,
    contrastive_rows,
    hard_negative_loss,
    info_nce,
    same_meaning,
    with_own_negatives,
)

EXACT = 1e-9


def unit(generator: torch.Generator, rows: int, dim: int = 6) -> Tensor:
    return normalize(torch.randn(rows, dim, generator=generator, dtype=torch.float64), dim=1)


def case(seed: int, counts: list[int], keys: list[int]) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    batch = len(keys)
    captions = unit(generator, batch)
    # Equal texts have equal embeddings.
    captions = captions[torch.tensor([keys.index(key) for key in keys])]
    owner = [row for row, count in enumerate(counts) for _ in range(count)]
    return {
        "audio": unit(generator, batch),
        "captions": captions,
        "negatives": unit(generator, len(owner)),
        "owner": torch.tensor(owner, dtype=torch.long),
        "scale": torch.tensor(7.0, dtype=torch.float64),
        "same": same_meaning(torch.tensor(keys)),
    }


def naive(
    audio: Tensor, captions: Tensor, negatives: Tensor, owner: Tensor, scale: Tensor, same: Tensor
) -> float:
    factor = scale.item()
    batch = len(audio)

    def e(left: Tensor, right: Tensor) -> float:
        return math.exp(factor * float((left * right).sum()))

    total = 0.0
    for i in range(batch):
        own = e(audio[i], captions[i])
        others = [j for j in range(batch) if j != i and not same[i, j]]
        texts = sum(e(audio[i], captions[j]) for j in others)
        texts += sum(e(audio[i], negatives[k]) for k in range(len(owner)) if owner[k] == i)
        sounds = sum(e(captions[i], audio[j]) for j in others)
        total -= math.log(own / (own + texts)) + math.log(own / (own + sounds))
    return total / (2 * batch)


samples = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=7
)  # (negatives, caption) of each


@settings(max_examples=60, deadline=None)
@given(samples, st.integers(0, 2**32))
def test_ragged_negatives_and_equal_captions_agree_with_a_naive_loop(
    batch: list[tuple[int, int]], seed: int
) -> None:
    counts, keys = map(list, zip(*batch, strict=True))
    values = case(seed, counts, keys)
    assert hard_negative_loss(**values).item() == pytest.approx(naive(**values), abs=EXACT)


def test_without_negatives_it_is_symmetric_info_nce() -> None:
    values = case(1, [0] * 5, list(range(5)))
    hard = hard_negative_loss(**values)
    plain = info_nce(values["audio"], values["captions"], values["scale"], values["same"])
    logits = values["scale"] * values["audio"] @ values["captions"].T
    target = torch.arange(5)
    reference = (
        torch.nn.functional.cross_entropy(logits, target)
        + torch.nn.functional.cross_entropy(logits.T, target)
    ) / 2
    assert hard.item() == pytest.approx(plain.item(), abs=EXACT)
    assert plain.item() == pytest.approx(reference.item(), abs=EXACT)


def test_order_of_samples_and_of_negatives_does_not_matter() -> None:
    values = case(2, [2, 0, 3, 1], [0, 1, 0, 2])
    order = torch.tensor([2, 0, 3, 1])
    shuffle = torch.tensor([5, 2, 0, 4, 1, 3])
    moved = {
        "audio": values["audio"][order],
        "captions": values["captions"][order],
        "negatives": values["negatives"][shuffle],
        "owner": torch.argsort(order)[values["owner"]][shuffle],
        "scale": values["scale"],
        "same": values["same"][order][:, order],
    }
    expected = hard_negative_loss(**values).item()
    assert hard_negative_loss(**moved).item() == pytest.approx(expected, abs=EXACT)


def test_negatives_of_others_are_not_seen() -> None:
    values = case(3, [1, 1, 1], [0, 1, 2])
    values["audio"].requires_grad_()
    texts = torch.cat([values["captions"], values["negatives"]])
    plan = with_own_negatives(caption_plan(values["same"], values["audio"]), values["owner"])
    rows = contrastive_rows(values["scale"] * values["audio"] @ texts.T, plan)
    changed = values["negatives"].clone()
    changed[2] = -changed[2]
    texts = torch.cat([values["captions"], changed])
    again = contrastive_rows(values["scale"] * values["audio"] @ texts.T, plan)
    assert torch.equal(rows[:2], again[:2])
    assert rows[2] != again[2]


def test_a_weight_multiplies_the_exponential_and_zero_leaves_out() -> None:
    logits = torch.tensor([[1.0, 2.0, 300.0]], dtype=torch.float64)
    plan = Plan(
        weight=torch.tensor([[1.0, 0.5, 0.0]], dtype=torch.float64),
        target=torch.tensor([[0.25, 0.75, 0.0]], dtype=torch.float64),
    )
    expected = math.log(math.e + 0.5 * math.e**2) - (0.25 + 1.5)
    assert contrastive_rows(logits, plan).item() == pytest.approx(expected, abs=EXACT)


def test_same_meaning_holds_for_equal_texts_or_equal_claims() -> None:
    texts = torch.tensor([0, 1, 2, 2])
    claims = torch.tensor([0, 0, 1, 2])
    expected = torch.eye(4, dtype=torch.bool)
    expected[0, 1] = expected[1, 0] = expected[2, 3] = expected[3, 2] = True
    assert torch.equal(same_meaning(texts, claims), expected)


def test_gradients_are_those_of_finite_differences() -> None:
    values = case(4, [2, 0, 1], [0, 1, 0])
    inputs = [
        values[name].clone().requires_grad_()
        for name in ("audio", "captions", "negatives", "scale")
    ]

    def loss(audio: Tensor, captions: Tensor, negatives: Tensor, scale: Tensor) -> Tensor:
        return hard_negative_loss(
            audio, captions, negatives, values["owner"], scale, values["same"]
        )

    assert torch.autograd.gradcheck(loss, inputs)


def test_half_precision_logits_are_summed_in_float32() -> None:
    logits = torch.full((1, 4096), 20.0, dtype=torch.bfloat16)
    plan = Plan(torch.ones(1, 4096), torch.eye(1, 4096))
    loss = contrastive_rows(logits, plan)
    assert loss.dtype is torch.float32
    assert loss.item() == pytest.approx(math.log(4096), rel=1e-5)
