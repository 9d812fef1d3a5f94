"""The log-mel in blocks of frames, beside one that takes a frame after the other."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.kit.tiny_models import noise
from train.model.features import heard_bins, mel_power


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
