"""SpecAugment: what it may change, and how much."""

import pytest
import torch
from torch import Tensor

from train.model.features import SpecAugment

MELS = 12


def chunks(count: int = 200) -> Tensor:
    """In every frame, a band's value is its number from 1."""
    bands = torch.arange(1.0, MELS + 1)
    return bands[None, :, None].expand(count, MELS, 5).clone()


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def test_evaluation_changes_nothing() -> None:
    assert torch.equal(SpecAugment(4, 2).eval()(chunks()), chunks())


def test_nothing_to_mask_and_nowhere_to_shift_changes_nothing() -> None:
    assert torch.equal(SpecAugment(0, 0).train()(chunks()), chunks())


def test_training_changes_chunks_each_in_its_own_way() -> None:
    found = SpecAugment(4, 2).train()(chunks())
    assert found.shape == chunks().shape
    assert len({tuple(chunk[:, 0].tolist()) for chunk in found}) > 20
    torch.manual_seed(0)
    assert torch.equal(found, SpecAugment(4, 2).train()(chunks()))


def test_a_mask_hides_few_neighbouring_bands_in_all_frames() -> None:
    found = SpecAugment(4, 0).train()(chunks())
    hidden = found[:, :, 0] == 0
    assert torch.equal(found, chunks().masked_fill(hidden[:, :, None], 0.0))
    assert set(hidden.sum(dim=1).tolist()) == {0, 1, 2, 3, 4}
    edges = (hidden[:, 1:] != hidden[:, :-1]).sum(dim=1) + hidden[:, 0] + hidden[:, -1]
    assert edges.max() <= 2
    assert hidden.any(dim=0).all()


def test_a_shift_moves_all_bands_alike_and_not_far() -> None:
    found = SpecAugment(0, 2).train()(chunks())
    moved = set()
    for chunk in found:
        by = int(chunk[5, 0]) - 6
        moved.add(by)
        expected = (torch.arange(1.0, MELS + 1) + by).clamp(1, MELS)
        assert torch.equal(chunk, expected[:, None].expand(MELS, 5))
    assert moved == {-2, -1, 0, 1, 2}


def test_without_time_masking_the_draws_are_as_before() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        first = SpecAugment(4, 2).train()(chunks())
        state = torch.get_rng_state()
        torch.manual_seed(0)
        assert torch.equal(first, SpecAugment(4, 2, frames=0).train()(chunks()))
        assert torch.equal(state, torch.get_rng_state())


def test_a_time_mask_hides_few_neighbouring_frames_in_all_bands() -> None:
    found = SpecAugment(0, 0, frames=3).train()(chunks())
    hidden = found[:, 0] == 0
    assert torch.equal(found, chunks().masked_fill(hidden[:, None, :], 0.0))
    assert set(hidden.sum(dim=1).tolist()) == {0, 1, 2, 3}
    edges = (hidden[:, 1:] != hidden[:, :-1]).sum(dim=1) + hidden[:, 0] + hidden[:, -1]
    assert edges.max() <= 2
    assert hidden.any(dim=0).all()


def test_a_time_mask_longer_than_the_chunk_hides_at_most_all_of_it() -> None:
    found = SpecAugment(0, 0, frames=50).train()(chunks())
    assert set((found[:, 0] == 0).sum(dim=1).tolist()) == {0, 1, 2, 3, 4, 5}
