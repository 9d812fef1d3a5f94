"""Embeddings of tokens, beside those of the whole."""

from __future__ import annotations

import pytest
import torch

from train.model.heads import MeanPoolHead, Tokens, TransformerHead

DIM = 8


def tokens() -> Tokens:
    values = torch.randn(3, 5, 6, generator=torch.Generator().manual_seed(0))
    mask = torch.arange(5) < torch.tensor([[5], [2], [4]])
    return Tokens(values, mask)


@pytest.mark.parametrize(
    "head",
    [MeanPoolHead(6, DIM, 0.0), TransformerHead(6, DIM, 2, 2, 0.0)],
    ids=["mlp", "transformer"],
)
def test_tokens_are_embedded_beside_the_whole(head: MeanPoolHead | TransformerHead) -> None:
    given = tokens()
    _, each = head.with_frames(given)
    assert each.shape == (3, 5, DIM)
    lengths = each.norm(dim=2)
    torch.testing.assert_close(lengths[given.mask], torch.ones(int(given.mask.sum())))
    assert not each[~given.mask].any()


def test_a_mean_pool_head_embeds_the_whole_as_it_does_without_tokens() -> None:
    head, given = MeanPoolHead(6, DIM, 0.0), tokens()
    assert torch.equal(head.with_frames(given)[0], head(given))


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_last_layer_that_makes_one_token_gives_what_one_that_makes_all_gives(layers: int) -> None:
    head, given = TransformerHead(6, DIM, layers, 2, 0.0), tokens()
    alone, whole = head(given), head.with_frames(given)[0]
    torch.testing.assert_close(alone, whole)
    weights = torch.randn(whole.shape, generator=torch.Generator().manual_seed(1))
    parameters = list(head.parameters())
    found, expected = (
        torch.autograd.grad((weights * one).sum(), parameters) for one in (alone, whole)
    )
    torch.testing.assert_close(found, expected)


def test_a_mean_pool_head_embeds_a_token_as_if_it_were_all() -> None:
    head, given = MeanPoolHead(6, DIM, 0.0), tokens()
    _, each = head.with_frames(given)
    alone = head(Tokens(given.values[:, 1:2], given.mask[:, 1:2]))
    torch.testing.assert_close(each[:, 1], alone)
