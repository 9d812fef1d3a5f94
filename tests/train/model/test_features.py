"""The log-mel in blocks of frames, and what SpecAugment may change of it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.kit.tiny_models import noise
from train.model.features import SpecAugment, heard_bins, mel_power


def plainly(waveform: Tensor, window: Tensor, hop: int, bank: Tensor) -> Tensor:
    """The same by the definition of the transform, bin by bin in float64."""
    size = len(window)
    time, bins = torch.arange(size).double(), torch.arange(size // 2 + 1).double()
    angle = 2 * torch.pi * bins[:, None] * time / size
    rows = []
    for row in waveform.double():
        frames = [row[at : at + size] * window for at in range(0, len(row) - size + 1, hop)]
        power = [(angle.cos() @ one).square() + (angle.sin() @ one).square() for one in frames]
        rows.append(torch.stack(power) @ bank.double())
    return torch.stack(rows)


@pytest.mark.parametrize(
    ("rows", "samples"),
    [(1, 16), (2, 100), (3, 4 * 128 + 12), (2, 4 * 300), (300, 40)],
    ids=["one frame", "few frames", "a whole block", "several blocks", "many short rows"],
)
def test_blocks_of_frames_give_what_single_frames_give(rows: int, samples: int) -> None:
    window = torch.hann_window(16, dtype=torch.float64)
    bank = torch.zeros(9, 3)
    bank[2:7] = torch.rand(5, 3, generator=torch.Generator().manual_seed(1))
    bins = heard_bins(bank)
    assert (bins.start, bins.stop) == (2, 7)
    waveform = noise(rows, rows, samples)
    found = mel_power(waveform, window, 4, bins, bank[bins])
    assert found.shape == (rows, (samples - 16) // 4 + 1, 3)
    expected = plainly(waveform, window, 4, bank)
    torch.testing.assert_close(found, expected.float(), rtol=1e-5, atol=1e-7)


MELS = 12


def chunks(count: int = 200) -> Tensor:
    """In every frame, a band's value is its number from 1."""
    bands = torch.arange(1.0, MELS + 1)
    return bands[None, :, None].expand(count, MELS, 5).clone()


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def test_in_evaluation_and_with_nothing_to_do_nothing_changes() -> None:
    assert torch.equal(SpecAugment(4, 2, frames=3).eval()(chunks()), chunks())
    assert torch.equal(SpecAugment(0, 0).train()(chunks()), chunks())


def test_training_changes_chunks_each_in_its_own_way() -> None:
    found = SpecAugment(4, 2).train()(chunks())
    assert found.shape == chunks().shape
    assert len({tuple(chunk[:, 0].tolist()) for chunk in found}) > 20
    torch.manual_seed(0)
    assert torch.equal(found, SpecAugment(4, 2).train()(chunks()))


def test_a_shift_moves_all_bands_alike_and_not_far() -> None:
    found = SpecAugment(0, 2).train()(chunks())
    moved = set()
    for chunk in found:
        by = int(chunk[5, 0]) - 6
        moved.add(by)
        expected = (torch.arange(1.0, MELS + 1) + by).clamp(1, MELS)
        assert torch.equal(chunk, expected[:, None].expand(MELS, 5))
    assert moved == {-2, -1, 0, 1, 2}


@pytest.mark.parametrize(
    ("augment", "axis", "most"),
    [(SpecAugment(4, 0), 1, 4), (SpecAugment(0, 0, frames=3), 2, 3)],
    ids=["bands", "frames"],
)
def test_a_mask_hides_few_neighbours_all_along(augment: SpecAugment, axis: int, most: int) -> None:
    found = augment.train()(chunks())
    hidden = (found == 0).all(dim=3 - axis, keepdim=True)
    assert torch.equal(found, chunks().masked_fill(hidden, 0.0))
    hidden = hidden.flatten(start_dim=1)
    assert set(hidden.sum(dim=1).tolist()) == set(range(most + 1))
    edges = (hidden[:, 1:] != hidden[:, :-1]).sum(dim=1) + hidden[:, 0] + hidden[:, -1]
    assert edges.max() <= 2
    assert hidden.any(dim=0).all()
    whole = SpecAugment(0, 0, frames=50).train()(chunks())  # of 5 frames
    assert set((whole[:, 0] == 0).sum(dim=1).tolist()) == set(range(6))
